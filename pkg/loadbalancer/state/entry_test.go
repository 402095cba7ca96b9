package state_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func TestEntry_IsUnseenUntilTheProcessKnowsOrChangesAnything(t *testing.T) {
	t.Parallel()
	if !(state.Entry{}).Unseen() {
		t.Error("an empty entry is seen")
	}
	if !(state.Entry{Served: "7", Namespace: "default", Made: state.Made{LoadBalancerID: "lb"}}).Unseen() {
		t.Error("a Service is seen before anything of it was read")
	}
	for name, e := range map[string]state.Entry{
		"applied": {Applied: applied("lb")}, "routed": {Routed: &state.Routed{}}, "accepted": {Accepted: &v1.Service{}},
		"drifted": {Drift: state.Drift{Reason: "changed"}}, "refused": {Refusal: state.Refusal{Reason: "quota"}}, "touched": {Made: state.Made{Touched: true}},
	} {
		if e.Unseen() {
			t.Errorf("%s, and unseen", name)
		}
	}
}

func TestEntry_KnowsItsLoadBalancerFromTheNewestKnowledge(t *testing.T) {
	t.Parallel()
	e := state.Entry{
		Applied: applied("applied"), Routed: &state.Routed{LoadBalancer: &model.LoadBalancer{ID: "routed"}},
		Drift: state.Drift{Before: applied("before"), Routed: &state.Routed{LoadBalancer: &model.LoadBalancer{ID: "routed before"}}},
		Made:  state.Made{LoadBalancerID: "made"},
	}
	for _, step := range []struct {
		want   string
		forget func()
	}{
		{"applied", func() { e.Applied = nil }},
		{"routed", func() { e.Routed = nil }},
		{"before", func() { e.Drift.Before = nil }},
		{"routed before", func() { e.Drift.Routed = nil }},
		{"made", func() { e.Made.LoadBalancerID = "" }},
		{"", func() {}},
	} {
		if got := e.LoadBalancerID(); got != step.want {
			t.Errorf("load balancer %q, want %q", got, step.want)
		}
		step.forget()
	}
}

// A deletion may take many rounds, of which each begins with StartDeletion.
func TestStartDeletion_KeepsTheTimeOfADeletionThatWasMarked(t *testing.T) {
	t.Parallel()
	access := &state.Access{Ports: []string{"TCP/80"}}
	for deleting, want := range map[bool]state.Unsettled{true: {Since: began, Deleting: true}, false: {}} {
		e := state.Entry{Access: access, Unsettled: state.Unsettled{Since: began, Deleting: deleting}, Stay: model.Stay{For: 1}}
		e.StartDeletion()
		if diff := cmp.Diff(state.Entry{Access: access, Unsettled: want}, e, cmp.AllowUnexported(state.Entry{}, state.Warnings{})); diff != "" {
			t.Errorf("marked before %v: %s", deleting, diff)
		}
	}
}

func TestEntry_HasOneKindOfProvider(t *testing.T) {
	t.Parallel()
	routed := &state.Routed{Service: types.NamespacedName{Namespace: "shop", Name: "web"}, LoadBalancer: &model.LoadBalancer{ID: "port"}}
	e := state.Entry{Made: state.Made{LoadBalancerID: "lb"}, Access: &state.Access{}}
	e.SetRouted(routed)
	if e.Routed != routed || e.Namespace != "shop" || e.Access == nil || e.Made.LoadBalancerID != "lb" {
		t.Errorf("of provider router: %+v", e)
	}
	octavia := applied("lb")
	e.SetApplied(octavia)
	if e.Applied != octavia || e.Routed != nil || e.Access != nil || e.Namespace != "default" {
		t.Errorf("with a load balancer: %+v", e)
	}
	e.SetRouted(routed)
	if e.Applied != nil || e.Routed != routed {
		t.Errorf("of provider router again: %+v", e)
	}
	newer := *routed
	e.ReplaceRouted(&newer, &state.Routed{})
	if e.Routed != routed {
		t.Error("a newer state was replaced")
	}
	e.ReplaceRouted(routed, &newer)
	if e.Routed != &newer {
		t.Error("the state was not replaced")
	}
	if e.DropApplied(); e.Routed != nil {
		t.Error("the next round does not read the cloud")
	}
}

func TestAllRouted_OmitsServicesOfOtherProviders(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	routed := &state.Routed{LoadBalancer: &model.LoadBalancer{ID: "port"}}
	store.Update("a", func(e *state.Entry) { e.SetRouted(routed) })
	store.Update("b", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	if got, want := store.AllRouted(), map[types.UID]*state.Routed{"a": routed}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMarkRemoved_KeepsOnlyWhatOutlivesTheObjects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ touched, retains, want bool }{{true, true, true}, {true, false, false}, {false, true, false}} {
		e := state.Entry{Made: state.Made{
			Touched: test.touched, Forwards: true, LoadBalancerID: "lb", ServedOn: "other", Entered: []string{"lb"}, VIP: true, UnattachedFloatingIP: true, CreateEmpty: true,
		}}
		e.Announce("plan", "delete")
		e.MarkRemoved(test.retains)
		if diff := cmp.Diff(state.Made{Touched: test.want, ServedOn: "other", CreateEmpty: true}, e.Made); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
		if !e.Announce("plan", "delete") {
			t.Error("a second deletion is not announced")
		}
	}
}

func TestEnter_RecordsEachLoadBalancerOnce(t *testing.T) {
	t.Parallel()
	var m state.Made
	for _, id := range []string{"", "a", "b", "a", ""} {
		m.Enter(id)
	}
	if !slices.Equal(m.Entered, []string{"", "a", "b"}) {
		t.Errorf("entered %q", m.Entered)
	}
	m.Entered = slices.Grow(m.Entered, 10)
	one, two := m, m // as two readers of a Store have them
	one.Enter("one")
	two.Enter("two")
	if one.Entered[3] != "one" || two.Entered[3] != "two" {
		t.Errorf("%q and %q share memory", one.Entered, two.Entered)
	}
}

func TestEnteredBy_OmitsLoadBalancersThatServeTheService(t *testing.T) {
	t.Parallel()
	services := entriesOf(
		state.Entry{Made: state.Made{Entered: []string{"old", "new"}}, Applied: applied("new")},
		state.Entry{Made: state.Made{Entered: []string{"shared"}}},
		state.Entry{Applied: applied("settled")},
	)
	if got, want := state.EnteredBy(services), map[string]bool{"old": true, "shared": true}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStore_ServesOtherCallsAfterALoopOverAll(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	for _, uid := range []types.UID{"a", "b"} {
		store.Update(uid, func(e *state.Entry) { e.Made.Touched = true })
	}
	seen := map[types.UID]bool{}
	for uid, e := range store.All() {
		seen[uid] = e.Made.Touched
	}
	if want := map[types.UID]bool{"a": true, "b": true}; !maps.Equal(seen, want) {
		t.Errorf("saw %v", seen)
	}
	n := 0
	for range store.All() {
		n++
		break
	}
	if n != 1 || store.Len() != 2 {
		t.Errorf("%d of %d Services before the end of a loop", n, store.Len())
	}
}

func TestStore_KnowsWhichLoadBalancersServe(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	serves := func(want map[string]bool) {
		t.Helper()
		for id, is := range want {
			if store.Serves(id) != is {
				t.Errorf("%s serves: %v", id, !is)
			}
		}
	}
	store.Update("a", func(e *state.Entry) { e.SetApplied(applied("one")) })
	store.Update("b", func(e *state.Entry) { e.SetApplied(applied("one")) })
	serves(map[string]bool{"one": true, "two": false, "": false})
	store.Update("a", func(e *state.Entry) { e.SetApplied(applied("two")) })
	serves(map[string]bool{"one": true, "two": true})
	if fork := store.Fork("a"); !fork.Serves("two") || fork.Serves("one") {
		t.Error("a preview does not know the load balancer of its Service, or knows others")
	}
	store.Update("b", (*state.Entry).DropApplied)
	serves(map[string]bool{"one": false, "two": true})
}

func TestFork_KnowsNothingThatIsOnlyOfOtherServices(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	store.Retained.Add(web, "fip")
	store.Update("other", func(e *state.Entry) { e.Made.Touched = true })
	fork := store.Fork("uid")
	if fork.Len() != 0 || fork.Creations.Precedes(began.Add(-time.Hour)) || !slices.Equal(fork.Retained.IDs(web), []string{"fip"}) {
		t.Errorf("%d Services, retained %v", fork.Len(), fork.Retained.IDs(web))
	}
	fork.Retained.Add(web, "previewed")
	fork.Sweep(project.Of(began.Add(time.Hour), nil, nil))
	if got := store.Retained.IDs(web); !slices.Equal(got, []string{"fip"}) {
		t.Errorf("a preview has changed the retained floating IPs: %v", got)
	}
}

func TestAdopt_KeepsWarningsAndAnnouncementsOfTheController(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	warn(store, "uid", "nodes", "one")
	announce(store, "uid", "plan", "create")
	fork := store.Fork("uid")
	warn(fork, "uid", "nodes", "two")
	announce(fork, "uid", "plan", "delete")
	fork.Update("uid", func(e *state.Entry) { e.SetApplied(applied("lb")) })
	store.Adopt(fork, "uid")
	if store.Get("uid").LoadBalancerID() != "lb" || !store.Serves("lb") {
		t.Errorf("adopted %+v", store.Get("uid"))
	}
	if warn(store, "uid", "nodes", "one") || announce(store, "uid", "plan", "create") {
		t.Error("a warning or a change is reported again after a preview")
	}
}

func TestCreations_PrecedeTheStartOrConcernNobody(t *testing.T) {
	t.Parallel()
	store, clock := newStore()
	for created, want := range map[time.Time]bool{{}: false, began.Add(-1): true, began: false, began.Add(1): false} {
		if got := store.Creations.Precedes(created); got != want {
			t.Errorf("created at %s: %v", created, got)
		}
	}
	store.Creations.Sent("sent")
	store.Creations.Found("found", time.Time{})
	if store.Creations.Known("sent") || store.Creations.Known("found") {
		t.Error("a creation that has an answer is kept")
	}
	store.Creations.Lost("first")
	clock.SetTime(began.Add(3 * time.Minute))
	store.Creations.Lost("second")
	if !store.Creations.Known("first") {
		t.Error("a creation is dropped while it can succeed")
	}
	clock.SetTime(began.Add(3*time.Minute + 1))
	store.Creations.Lost("third")
	if store.Creations.Known("first") || !store.Creations.Known("second") {
		t.Error("the creations that can succeed are not those that are kept")
	}
}

func TestStore_DropsCreatorsOfSharesThatAreGone(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	one, two := state.Share{Namespace: "shop", Name: "one"}, state.Share{Namespace: "shop", Name: "two"}
	both := []types.UID{"gone", "there"}
	store.Creators.Of(one, both)
	store.Creators.Of(two, []types.UID{"there"})
	store.DropAllBut(map[types.UID]bool{"there": true})
	slices.Reverse(both)
	if got := store.Creators.Of(one, both); got != "there" {
		t.Errorf("%s creates the load balancer of the first share", got)
	}
	if got := store.Creators.Of(two, []types.UID{"first", "there"}); got != "there" {
		t.Errorf("%s creates that of the second one", got)
	}
}

func TestStore_CallsRefusalsOnlyIfSet(t *testing.T) {
	t.Parallel()
	store := state.New(clocktesting.NewFakePassiveClock(began), nil)
	if refuse(store, "uid", "quota", false); store.Get("uid").Refusal.Reason != "quota" {
		t.Error("the refusal is not recorded")
	}
}

func TestDriftIn_TrustsASnapshotThatBeganWithTheLastRead(t *testing.T) {
	t.Parallel()
	a := applied("lb")
	for began, want := range map[time.Time]string{began: "the load balancer is gone", began.Add(-1): ""} {
		if got := a.DriftIn(project.Of(began, nil, nil)); got != want {
			t.Errorf("at %s: %q", began, got)
		}
	}
}

func TestApplied_HasAllAddresses(t *testing.T) {
	t.Parallel()
	a := state.Applied{Address: "203.0.113.7", MoreAddresses: []string{"2001:db8::7"}}
	if got := a.Addresses(); !slices.Equal(got, []string{"203.0.113.7", "2001:db8::7"}) {
		t.Errorf("addresses %q", got)
	}
}
