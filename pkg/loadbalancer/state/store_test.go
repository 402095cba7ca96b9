package state_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// began is the time at which each Store in these tests is created.
var began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newStore() (*state.Store, *testingclock.FakePassiveClock) {
	clock := testingclock.NewFakePassiveClock(began)
	return state.New(clock, nil), clock
}

func service(name, version string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: version}}
}

// fill records all kinds of knowledge of a Service.
func fill(store *state.Store, svc *v1.Service) {
	store.Advance(svc.UID, svc.ResourceVersion)
	store.RecordMemberChange(svc.UID, time.Second)
	store.Accept(svc)
	store.SetApplied(svc.UID, applied("lb"))
	store.MarkDrifted(svc.UID, store.Get(svc.UID).Applied, "changed")
	store.SetApplied(svc.UID, applied("lb"))
	store.Refuse(svc.UID, "quota", true)
	store.Warn(svc.UID, "nodes", "no address")
	store.MarkTouched(svc.UID)
	store.SetLoadBalancerID(svc.UID, "lb")
	store.SetUnattachedFloatingIP(svc.UID, true)
	store.MarkCreateEmpty(svc.UID)
	store.UpdateSecurityGroups(svc.UID, func(e *securitygroup.Entry) { e.Met = true })
}

func TestStore_KnowsNothingOfAServiceThatIsForgotten(t *testing.T) {
	t.Parallel()
	refused := map[string]int{}
	store := state.New(testingclock.NewFakePassiveClock(began), func(reason string, n int) { refused[reason] = n })
	svc := service("web", "1")
	fill(store, svc)
	if known := store.Get(svc.UID); known.Applied == nil || known.Accepted == nil || known.Drift.Before == nil || store.Len() != 1 {
		t.Fatalf("%d entries, and of the Service is known %+v", store.Len(), known)
	}
	store.Forget(svc.UID, true)
	if n := store.Len(); n != 0 {
		t.Errorf("%d entries are left: %+v", n, store.Get(svc.UID))
	}
	if refused["quota"] != 0 {
		t.Errorf("%d Services are refused, want none", refused["quota"])
	}
	if err := store.Count(ownerOf(service("other", "1")), 1); err != nil {
		t.Errorf("the Service is still counted: %v", err)
	}
}

// Undoing any of it leaves no entry behind.
func TestStore_HoldsNoEntryWithoutContent(t *testing.T) {
	t.Parallel()
	svc := service("web", "1")
	uid := svc.UID
	one := applied("lb")
	for name, undo := range map[string]func(*state.Store){
		"nothing is known": func(s *state.Store) { s.DropApplied(uid); s.DropDrift(uid); s.Uncount(uid); s.CreationSent(uid) },
		"applied":          func(s *state.Store) { s.SetApplied(uid, one); s.Uncount(uid); s.DropApplied(uid) },
		"applied, dropped by its token": func(s *state.Store) {
			s.SetApplied(uid, one)
			s.Uncount(uid)
			s.DropAppliedIf(uid, one)
		},
		"drifted": func(s *state.Store) {
			s.SetApplied(uid, one)
			s.MarkDrifted(uid, one, "changed")
			s.Uncount(uid)
			s.DropDrift(uid)
		},
		"nothing was applied": func(s *state.Store) { s.MarkDrifted(uid, one, "changed"); s.ReplaceApplied(uid, one, one) },
		"refused":             func(s *state.Store) { s.Refuse(uid, "quota", true); s.StartDeletion(uid) },
		"a limit": func(s *state.Store) {
			_ = s.Count(ownerOf(service("first", "")), 1)
			_ = s.Count(ownerOf(svc), 1)
			s.Uncount("uid-of-first")
		},
		"a warning":                 func(s *state.Store) { s.Warn(uid, "nodes", "text"); s.Warn(uid, "nodes", "") },
		"a warning that was never":  func(s *state.Store) { s.Warn(uid, "nodes", "") },
		"an unattached floating IP": func(s *state.Store) { s.SetUnattachedFloatingIP(uid, true); s.SetUnattachedFloatingIP(uid, false) },
		"removed": func(s *state.Store) {
			s.MarkTouched(uid)
			s.SetLoadBalancerID(uid, "lb")
			s.SetUnattachedFloatingIP(uid, true)
			s.Announce(uid, "plan", "load balancer lb: delete")
			s.MarkRemoved(uid, false)
		},
		"security groups": func(s *state.Store) {
			s.UpdateSecurityGroups(uid, func(e *securitygroup.Entry) { e.State = &securitygroup.State{} })
			s.UpdateSecurityGroups(uid, func(e *securitygroup.Entry) { e.State = nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore()
			undo(store)
			if n := store.Len(); n != 0 {
				t.Errorf("%d entries: %+v", n, store.Get(uid))
			}
		})
	}
}

// A Service that no longer wants a load balancer may still have floating IPs that an earlier read
// of this process does not show.
func TestStore_ForgetKeepsThatAServiceWasTouchedUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	fill(store, svc)
	store.MarkRemoved(svc.UID, true)
	store.Forget(svc.UID, false)
	if diff := cmp.Diff(state.Made{Touched: true}, store.Get(svc.UID).Made); diff != "" {
		t.Error(diff)
	}
	store.Forget(svc.UID, true)
	if n := store.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestStore_StartDeletionKeepsWhatWasMade(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	fill(store, svc)
	store.StartDeletion(svc.UID)
	known := store.Get(svc.UID)
	want := state.Made{Touched: true, LoadBalancerID: "lb", UnattachedFloatingIP: true, CreateEmpty: true}
	if diff := cmp.Diff(want, known.Made); diff != "" {
		t.Error(diff)
	}
	if known.Namespace != "default" || !known.SecurityGroups.Met {
		t.Errorf("the Service is counted in %q, and its security groups are known: %v", known.Namespace, known.SecurityGroups.Met)
	}
	if known.Applied != nil || known.Drift != (state.Drift{}) || known.Accepted != nil || known.Served != "" || known.Refusal != (state.Refusal{}) {
		t.Errorf("still known: %+v", known)
	}
	if !store.Warn(svc.UID, "nodes", "no address") {
		t.Error("a warning counts as sent that was sent before the deletion")
	}
}

func TestStore_AdvancesToWhatIsNotOlder(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	for _, c := range []struct {
		version, served string
		want            bool
	}{{"9", "9", true}, {"10", "10", true}, {"9", "10", false}, {"10", "10", true}, {"", "", true}, {"3", "3", true}} {
		if got := store.Advance("uid-of-web", c.version); got != c.want {
			t.Errorf("version %q: %v, want %v", c.version, got, c.want)
		}
		if got := store.Get("uid-of-web").Served; got != c.served {
			t.Errorf("after version %q, %q is served, want %q", c.version, got, c.served)
		}
	}
}

func TestStore_AcceptKeepsWhatTheServiceAsksForAndEndsRefusalAndDrift(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	svc.Annotations, svc.Finalizers = map[string]string{"a": "b"}, []string{"f"}
	svc.Spec.Ports = []v1.ServicePort{{Port: 80}}
	svc.CreationTimestamp = metav1.NewTime(began)
	want := svc.DeepCopy()
	svc.Labels = map[string]string{"l": "v"}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	fill(store, svc)
	store.Accept(svc)
	known := store.Get(svc.UID)
	if diff := cmp.Diff(want, known.Accepted); diff != "" {
		t.Error(diff)
	}
	if known.Refusal != (state.Refusal{}) || known.Drift != (state.Drift{}) {
		t.Errorf("refusal %+v, drift %+v", known.Refusal, known.Drift)
	}
	if known.Applied == nil {
		t.Error("what was applied is not known any more")
	}
}

func TestStore_ReportsHowManyServicesAreRefusedForAReason(t *testing.T) {
	t.Parallel()
	var calls []string
	store := state.New(testingclock.NewFakePassiveClock(began), func(reason string, n int) { calls = append(calls, fmt.Sprint(reason, " ", n)) })
	store.Refuse("a", "quota", false)
	store.Refuse("b", "quota", false)
	store.Refuse("b", "quota", true)
	store.Refuse("a", "invalid", false)
	store.Accept(&v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "b"}})
	store.StartDeletion("a")
	store.StartDeletion("a")
	want := []string{"quota 1", "quota 2", "quota 1", "invalid 1", "quota 0", "invalid 0"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
	if n := store.Counts(); n > 0 {
		t.Errorf("%d counts of nothing are kept", n)
	}
}

// The service controller retries after a reported refusal, even if the reason has changed.
func TestStore_KnowsWhetherARefusalWasReportedUntilTheServiceIsAccepted(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	for _, c := range []struct{ reported, want bool }{{false, false}, {true, true}, {false, true}} {
		if got := store.Refuse(svc.UID, "quota", c.reported); got != c.want {
			t.Errorf("reported %v: %v, want %v", c.reported, got, c.want)
		}
	}
	store.Accept(svc)
	if store.Refuse(svc.UID, "quota", false) {
		t.Error("a refusal from before the Service was accepted counts as reported")
	}
}

func TestStore_SendsAWarningOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	for i, c := range []struct {
		subject, text string
		want          bool
	}{
		{"nodes", "one", true}, {"nodes", "one", false}, {"nodes", "two", true}, {"nodes", "one", true},
		{"settings", "one", true}, {"nodes", "one", false}, {"nodes", "", false}, {"nodes", "one", true}, {"settings", "one", false},
	} {
		if got := store.Warn("uid", c.subject, c.text); got != c.want {
			t.Errorf("%d: %q about %s is sent: %v, want %v", i, c.text, c.subject, got, c.want)
		}
	}
	if !store.Warn("other", "nodes", "one") {
		t.Error("a warning that another Service was sent is not sent")
	}
}

func TestStore_AnnouncesAChangeOnceUntilItIsMade(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	const add, remove = "member +node-1", "member -node-1"
	for i, step := range []struct {
		subject, change string
		want            bool
	}{
		{"plan", add, true}, {"groups", remove, true}, // an attempt, and two more
		{"plan", add, false}, {"groups", remove, false},
		{"plan", add, false}, {"groups", remove, false},
		{"plan", remove, true}, {"plan", add, true},
	} {
		if got := store.Announce(svc.UID, step.subject, step.change); got != step.want {
			t.Errorf("%d, %s %s: announced is %t, want %t", i, step.subject, step.change, got, step.want)
		}
	}
	store.Accept(svc)
	if !store.Announce(svc.UID, "plan", add) {
		t.Error("a change is not announced when it is needed again after it was made")
	}
}

func TestStore_RecallsTheWarningsThatItHasNotSentItself(t *testing.T) {
	t.Parallel()
	last, _ := newStore()
	last.Warn("uid", "nodes", "one")
	last.Warn("uid", "settings", "one")
	store, _ := newStore()
	store.Warn("uid", "nodes", "two")
	store.RecallWarnings("uid", "broken:none,"+last.Warnings("uid"))
	for _, c := range []struct {
		subject, text string
		want          bool
	}{{"nodes", "two", false}, {"settings", "one", false}, {"broken", "none", true}} {
		if got := store.Warn("uid", c.subject, c.text); got != c.want {
			t.Errorf("%q about %s is sent: %v, want %v", c.text, c.subject, got, c.want)
		}
	}
}

func TestStore_ReturnsTheSecurityGroupsOfThoseThatHaveAny(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	store.MarkTouched("without")
	s := &securitygroup.State{GroupID: "sg"}
	store.UpdateSecurityGroups("with", func(e *securitygroup.Entry) { e.State, e.Settled = s, true })
	want := map[types.UID]securitygroup.Entry{"with": {State: s, Settled: true}}
	if got := store.AllSecurityGroups(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Many goroutines end with counts that agree with the entries.
func TestStore_CountsRightUnderConcurrency(t *testing.T) {
	t.Parallel()
	refused := 0
	store := state.New(testingclock.NewFakePassiveClock(began), func(_ string, n int) { refused = n })
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			svc := service(fmt.Sprint("web-", n), "1")
			fill(store, svc)
			store.RetainFloatingIP(types.NamespacedName{Name: svc.Name}, "fip")
			store.AllApplied()
			if n%2 == 0 {
				store.Forget(svc.UID, true)
			}
		})
	}
	all.Wait()
	if store.Len() != 25 || refused != 25 {
		t.Errorf("%d entries, %d Services refused, want 25 of each", store.Len(), refused)
	}
	if err := store.Count(ownerOf(service("one-more", "1")), 26); err != nil {
		t.Errorf("with 25 Services in the namespace: %v", err)
	}
	if err := store.Count(ownerOf(service("too-many", "1")), 26); err == nil {
		t.Error("a 27th Service is counted, of 26")
	}
}

// A preview has the knowledge of the controller, and the controller gets none from the preview.
func TestFork_LearnsNothingBackButByAdopt(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc, other := service("web", "1"), service("other", "1")
	store.SetLoadBalancerID(svc.UID, "lb-1")
	if err := store.Count(ownerOf(other), 1); err != nil {
		t.Fatal(err)
	}
	store.CreationLost(svc.UID)
	fork := store.Fork(svc.UID)
	if got := fork.Get(svc.UID).Made.LoadBalancerID; got != "lb-1" {
		t.Errorf("the fork knows the load balancer %q", got)
	}
	if !fork.CreationUntil(svc.UID, time.Time{}).IsZero() {
		t.Error("the fork waits for a creation")
	}
	if err := fork.Count(ownerOf(svc), 1); err == nil {
		t.Error("the fork does not count the other Service")
	}
	fork.SetServedOn(svc.UID, "lb-2")
	if got := store.Get(svc.UID).Made.ServedOn; got != "" {
		t.Errorf("the fork's %q came back", got)
	}
	store.Adopt(fork, svc.UID)
	if got := store.Get(svc.UID).Made; got.ServedOn != "lb-2" || got.LoadBalancerID != "lb-1" || got.Creation.Until.IsZero() {
		t.Errorf("adopted %+v", got)
	}
}

// A change of nodes of thousands of Services does not create another copy of each.
func TestStore_KeepsTheServiceThatItHasAccepted(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	store.Accept(svc)
	first := store.Get(svc.UID).Accepted
	store.Accept(svc)
	if store.Get(svc.UID).Accepted != first {
		t.Error("the same Service was copied again")
	}
	changed := service("web", "2")
	changed.Annotations = map[string]string{"a": "b"}
	store.Accept(changed)
	if got := store.Get(svc.UID).Accepted; got.ResourceVersion != "2" || got.Annotations["a"] != "b" {
		t.Errorf("accepted is %+v", got)
	}
	changed = service("web", "") // of an unknown version
	store.Accept(changed)
	changed = service("web", "")
	changed.Annotations = map[string]string{"c": "d"}
	store.Accept(changed)
	if got := store.Get(svc.UID).Accepted; got.Annotations["c"] != "d" {
		t.Errorf("accepted is %+v", got)
	}
}

// A Service that has another type, and keeps its floating IP, causes no more calls: once it is
// deleted, its entry is dropped.
func TestStore_DropsWhatIsLeftOfServicesThatAreGone(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	for _, uid := range []types.UID{"there", "gone", "lost"} {
		store.MarkTouched(uid)
		store.Forget(uid, false)
	}
	store.CreationLost("lost")
	store.SetApplied("applied", applied("lb"))
	store.DropAllBut(map[types.UID]bool{"there": true})
	for uid, want := range map[types.UID]bool{"there": true, "gone": false, "lost": true} {
		if got := store.Get(uid).Made.Touched; got != want {
			t.Errorf("%s is known: %v, want %v", uid, got, want)
		}
	}
	if store.Get("applied").Applied == nil {
		t.Error("what was applied is dropped")
	}
}
