package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestIndex_FindsWhatAMapWouldInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, seed))
		var members []model.Member
		for i := range 30 {
			members = append(members, model.Member{Name: fmt.Sprint(i), Address: fmt.Sprintf("10.0.0.%02d", r.IntN(40)), Port: 80 + r.IntN(2)})
		}
		if seed%2 == 0 { // as in a load balancer, where no two are alike
			pool := model.LoadBalancer{Listeners: []model.Listener{{Pool: model.Pool{Members: unique(members)}}}}
			pool.Sort()
			members = pool.Listeners[0].Pool.Members
		}
		want := map[model.MemberKey]model.Member{}
		for _, m := range members {
			want[m.Key()] = m
		}
		index := membersByKey(members)
		for range 200 {
			key := model.MemberKey{Address: fmt.Sprintf("10.0.0.%02d", r.IntN(40)), Port: 80 + r.IntN(2)}
			member, there := want[key]
			if got, ok := index.get(key); ok != there || got != member {
				t.Fatalf("seed %d: at %v %+v, %v, want %+v", seed, key, got, ok, member)
			}
		}
	}
}

func unique(members []model.Member) []model.Member {
	var all []model.Member
	seen := map[model.MemberKey]bool{}
	for _, m := range members {
		if !seen[m.Key()] {
			seen[m.Key()] = true
			all = append(all, m)
		}
	}
	return all
}

// A thousand members are compared with a thousand others, nearly all of which are the same.
func TestDiff_OfMembersInTheSameOrderMakesNoMaps(t *testing.T) {
	lb := func(n int) *model.LoadBalancer {
		pool := model.Pool{ID: "pool", Name: "pool"}
		for i := range n {
			pool.Members = append(pool.Members, model.Member{Address: fmt.Sprintf("10.0.%03d.%03d", i/250, i%250), Port: 80})
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
