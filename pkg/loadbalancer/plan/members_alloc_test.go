package plan

import (
	"fmt"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A thousand members are compared with a thousand others, nearly all of which are the same.
func TestDiff_OfMembersInTheSameOrderMakesNoMaps(t *testing.T) {
	lb := func(n int) *model.LoadBalancer {
		pool := model.Pool{ID: "pool", Name: "pool"}
		for i := range n {
			pool.Members = pool.Members.With(model.MembersOf(model.Member{Address: fmt.Sprintf("10.0.%03d.%03d", i/250, i%250), Port: 80}))
		}
		return &model.LoadBalancer{ID: "lb", Listeners: []model.Listener{{ID: "listener", Port: 80, Pool: pool}}}
	}
	allocs := func(n int) float64 {
		desired, observed := lb(n), model.Observed{LoadBalancer: lb(n)}
		return testing.AllocsPerRun(10, func() { Diff(desired, observed, Options{}) })
	}
	if few, many := allocs(10), allocs(2000); many > few+25 { // lists that grow
		t.Errorf("%v allocations for 10 members, %v for 2000", few, many)
	}
}
