package state_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// A Service's changes are compared only with the Services on its load balancer.
func TestStore_KnowsWhoIsOnLoadBalancer(t *testing.T) {
	t.Parallel()
	store := state.New(clock.RealClock{}, nil)
	began := time.Now()
	on := func(lb string) *state.Applied {
		return &state.Applied{LoadBalancer: state.LoadBalancer{ID: lb}, Knowledge: model.Knowledge{Depth: model.Listed}, Seen: state.Seen{UpdatedAt: began}}
	}
	uid := func(i int) types.UID { return types.UID(fmt.Sprint(i)) }
	for i := range 1000 {
		store.Update(uid(i), func(e *state.Entry) { e.SetApplied(on(fmt.Sprintf("lb-%d", i))) })
	}
	for i := range 3 {
		store.Update(uid(i), func(e *state.Entry) { e.SetApplied(on("shared")) })
	}
	if on, all := store.On("shared"), store.Indexed(); on != 3 || all != 998 {
		t.Errorf("%d Services on the shared one, %d load balancers, want 3 and 998", on, all)
	}
	later := began.Add(time.Minute)
	at := func(t time.Time) *model.LoadBalancer { return &model.LoadBalancer{ID: "shared", UpdatedAt: t} }
	store.RebaseOthers(uid(0), state.VersionOf(at(began)), at(later), later)
	for i, want := range map[int]time.Time{0: began, 1: later, 2: later, 3: began} {
		if got := store.Get(uid(i)).Applied.Seen.UpdatedAt; !got.Equal(want) {
			t.Errorf("Service %d: updated_at %s, want %s", i, got, want)
		}
	}
	for i := range 1000 {
		switch i % 3 {
		case 0:
			store.Update(uid(i), (*state.Entry).DropApplied)
		case 1:
			store.Update(uid(i), (*state.Entry).StartDeletion)
		default:
			store.Forget(uid(i), false)
		}
	}
	if all := store.Indexed(); all != 0 || store.Len() != 0 {
		t.Errorf("%d load balancers and %d Services are left", all, store.Len())
	}
}
