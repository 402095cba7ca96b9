package state_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// A port has one set of clients, whether this process has opened it or only knows the Service that has it.
func TestClaim_RefusesPortWithOtherRanges(t *testing.T) {
	t.Parallel()
	store := state.New(testingclock.NewFakePassiveClock(time.Now()), nil)
	office, all := state.Access{Ports: []string{"TCP/80"}, Ranges: []string{"198.51.100.0/24"}}, state.Access{Ports: []string{"TCP/80", "TCP/81"}}
	unseen := map[types.UID]state.Access{"a": office}
	for _, step := range []struct {
		what   string
		uid    types.UID
		access state.Access
		unseen map[types.UID]state.Access
		want   string
	}{
		{"of a Service that was not seen", "b", all, unseen, "TCP/80"},
		{"its own", "a", all, unseen, ""},
		{"of one that was seen with others since", "b", all, unseen, ""},
		{"of one that was seen", "c", office, nil, "TCP/80"},
		{"another port", "c", state.Access{Ports: []string{"TCP/82"}, Ranges: office.Ranges}, nil, ""},
	} {
		if got := store.Claim(step.uid, step.access, step.unseen); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
	store.Update("a", (*state.Entry).StartDeletion)
	store.Forget("b", true)
	if got := store.Claim("c", office, nil); got != "TCP/80" {
		t.Errorf("%q: a Service has its ports until its deletion has ended", got)
	}
	store.Forget("a", true)
	if got := store.Claim("c", office, nil); got != "" {
		t.Errorf("%q is taken by deleted Services", got)
	}
}

// A change of another client counts only for the state that it has changed.
func TestMarkRoutedDrifted_ComparesState(t *testing.T) {
	t.Parallel()
	store := state.New(testingclock.NewFakePassiveClock(time.Now()), nil)
	before := &state.Routed{LoadBalancer: &model.LoadBalancer{ID: "port"}}
	now := *before
	store.Update("a", func(e *state.Entry) { e.SetRouted(&now) })
	mark := func(routed *state.Routed) (marked bool) {
		store.Update("a", func(e *state.Entry) { marked = e.MarkRoutedDrifted(routed, "gone") })
		return marked
	}
	if mark(before) || store.AllRouted()["a"] != &now {
		t.Error("an earlier state was marked")
	}
	if !mark(&now) || len(store.AllRouted()) > 0 {
		t.Error("the state was not marked")
	}
	if drift := store.Get("a").Drift; drift.Routed != &now || drift.Reason != "gone" || store.Get("a").LoadBalancerID() != "port" || store.Get("a").Unseen() {
		t.Errorf("drift %+v", drift)
	}
}
