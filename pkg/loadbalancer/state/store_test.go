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

func warn(s *state.Store, uid types.UID, subject, text string) (send bool) {
	s.Update(uid, func(e *state.Entry) { send = e.Warn(subject, text) })
	return send
}

func announce(s *state.Store, uid types.UID, subject, change string) (say bool) {
	s.Update(uid, func(e *state.Entry) { say = e.Announce(subject, change) })
	return say
}

func refuse(s *state.Store, uid types.UID, reason string, reported bool) (wasReported bool) {
	s.Update(uid, func(e *state.Entry) { wasReported = e.Refusal.Refuse(reason, reported) })
	return wasReported
}

func markDrifted(s *state.Store, uid types.UID, applied *state.Applied, reason string) (marked bool) {
	s.Update(uid, func(e *state.Entry) { marked = e.MarkDrifted(applied, reason) })
	return marked
}

func service(name, version string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: version}}
}

// fill records all kinds of knowledge of a Service.
func fill(store *state.Store, svc *v1.Service) {
	store.Advance(svc.UID, svc.ResourceVersion)
	store.Update(svc.UID, func(e *state.Entry) { e.MemberChanges.Add(time.Second) })
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
	store.Update(svc.UID, func(e *state.Entry) { e.SetApplied(applied("lb")) })
	markDrifted(store, svc.UID, store.Get(svc.UID).Applied, "changed")
	store.Update(svc.UID, func(e *state.Entry) { e.SetApplied(applied("lb")) })
	refuse(store, svc.UID, "quota", true)
	warn(store, svc.UID, "nodes", "no address")
	store.Update(svc.UID, func(e *state.Entry) { e.Made.Touched = true })
	store.Update(svc.UID, func(e *state.Entry) { e.Made.LoadBalancerID = "lb" })
	store.Update(svc.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
	store.Update(svc.UID, func(e *state.Entry) { e.Made.CreateEmpty = true })
	state.SecurityGroups{Store: store}.Update(svc.UID, func(e *securitygroup.Entry) { e.Met = true })
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
		"nothing is known": func(s *state.Store) {
			s.Update(uid, (*state.Entry).DropApplied)
			s.Update(uid, func(e *state.Entry) { e.Drift = state.Drift{} })
			s.Update(uid, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
			s.Creations.Sent(uid)
		},
		"applied": func(s *state.Store) {
			s.Update(uid, func(e *state.Entry) { e.SetApplied(one) })
			s.Update(uid, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
			s.Update(uid, (*state.Entry).DropApplied)
		},
		"applied, dropped by its token": func(s *state.Store) {
			s.Update(uid, func(e *state.Entry) { e.SetApplied(one) })
			s.Update(uid, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
			s.Update(uid, func(e *state.Entry) { e.DropAppliedIf(one) })
		},
		"drifted": func(s *state.Store) {
			s.Update(uid, func(e *state.Entry) { e.SetApplied(one) })
			markDrifted(s, uid, one, "changed")
			s.Update(uid, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
			s.Update(uid, func(e *state.Entry) { e.Drift = state.Drift{} })
		},
		"nothing was applied": func(s *state.Store) {
			markDrifted(s, uid, one, "changed")
			s.Update(uid, func(e *state.Entry) { e.ReplaceApplied(one, one) })
		},
		"refused": func(s *state.Store) { refuse(s, uid, "quota", true); s.Update(uid, (*state.Entry).StartDeletion) },
		"a limit": func(s *state.Store) {
			_ = s.Count(ownerOf(service("first", "")), 1)
			_ = s.Count(ownerOf(svc), 1)
			s.Update("uid-of-first", func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
		},
		"a warning":                func(s *state.Store) { warn(s, uid, "nodes", "text"); warn(s, uid, "nodes", "") },
		"a warning that was never": func(s *state.Store) { warn(s, uid, "nodes", "") },
		"an unattached floating IP": func(s *state.Store) {
			s.Update(uid, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
			s.Update(uid, func(e *state.Entry) { e.Made.UnattachedFloatingIP = false })
		},
		"removed": func(s *state.Store) {
			s.Update(uid, func(e *state.Entry) { e.Made.Touched = true })
			s.Update(uid, func(e *state.Entry) { e.Made.LoadBalancerID = "lb" })
			s.Update(uid, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
			announce(s, uid, "plan", "load balancer lb: delete")
			s.Update(uid, func(e *state.Entry) { e.MarkRemoved(false) })
		},
		"security groups": func(s *state.Store) {
			state.SecurityGroups{Store: s}.Update(uid, func(e *securitygroup.Entry) { e.State = &securitygroup.State{} })
			state.SecurityGroups{Store: s}.Update(uid, func(e *securitygroup.Entry) { e.State = nil })
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
	store.Update(svc.UID, func(e *state.Entry) { e.MarkRemoved(true) })
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
	store.Update(svc.UID, (*state.Entry).StartDeletion)
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
	if !warn(store, svc.UID, "nodes", "no address") {
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
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
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
	refuse(store, "a", "quota", false)
	refuse(store, "b", "quota", false)
	refuse(store, "b", "quota", true)
	refuse(store, "a", "invalid", false)
	store.Update("b", func(e *state.Entry) { e.Accept(&v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "b"}}) })
	store.Update("a", (*state.Entry).StartDeletion)
	store.Update("a", (*state.Entry).StartDeletion)
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
		if got := refuse(store, svc.UID, "quota", c.reported); got != c.want {
			t.Errorf("reported %v: %v, want %v", c.reported, got, c.want)
		}
	}
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
	if refuse(store, svc.UID, "quota", false) {
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
		if got := warn(store, "uid", c.subject, c.text); got != c.want {
			t.Errorf("%d: %q about %s is sent: %v, want %v", i, c.text, c.subject, got, c.want)
		}
	}
	if !warn(store, "other", "nodes", "one") {
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
		if got := announce(store, svc.UID, step.subject, step.change); got != step.want {
			t.Errorf("%d, %s %s: announced is %t, want %t", i, step.subject, step.change, got, step.want)
		}
	}
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
	if !announce(store, svc.UID, "plan", add) {
		t.Error("a change is not announced when it is needed again after it was made")
	}
}

func TestStore_RecallsTheWarningsThatItHasNotSentItself(t *testing.T) {
	t.Parallel()
	last, _ := newStore()
	warn(last, "uid", "nodes", "one")
	warn(last, "uid", "settings", "one")
	store, _ := newStore()
	warn(store, "uid", "nodes", "two")
	store.Update("uid", func(e *state.Entry) { e.Warnings.Recall("broken:none," + last.Get("uid").Warnings.String()) })
	for _, c := range []struct {
		subject, text string
		want          bool
	}{{"nodes", "two", false}, {"settings", "one", false}, {"broken", "none", true}} {
		if got := warn(store, "uid", c.subject, c.text); got != c.want {
			t.Errorf("%q about %s is sent: %v, want %v", c.text, c.subject, got, c.want)
		}
	}
}

func TestStore_ReturnsTheSecurityGroupsOfThoseThatHaveAny(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	store.Update("without", func(e *state.Entry) { e.Made.Touched = true })
	s := &securitygroup.State{GroupID: "sg"}
	groups := state.SecurityGroups{Store: store}
	groups.Update("with", func(e *securitygroup.Entry) { e.State, e.Settled = s, true })
	want := map[types.UID]securitygroup.Entry{"with": {State: s, Settled: true}}
	if got := groups.All(); !maps.Equal(got, want) {
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
			store.Retained.Add(types.NamespacedName{Name: svc.Name}, "fip")
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
	store.Update(svc.UID, func(e *state.Entry) { e.Made.LoadBalancerID = "lb-1" })
	if err := store.Count(ownerOf(other), 1); err != nil {
		t.Fatal(err)
	}
	store.Creations.Lost(svc.UID)
	fork := store.Fork(svc.UID)
	if got := fork.Get(svc.UID).Made.LoadBalancerID; got != "lb-1" {
		t.Errorf("the fork knows the load balancer %q", got)
	}
	if !fork.Creations.Until(svc.UID, time.Time{}).IsZero() {
		t.Error("the fork waits for a creation")
	}
	if err := fork.Count(ownerOf(svc), 1); err == nil {
		t.Error("the fork does not count the other Service")
	}
	fork.Update(svc.UID, func(e *state.Entry) { e.Made.ServedOn = "lb-2" })
	if got := store.Get(svc.UID).Made.ServedOn; got != "" {
		t.Errorf("the fork's %q came back", got)
	}
	store.Adopt(fork, svc.UID)
	if got := store.Get(svc.UID).Made; got.ServedOn != "lb-2" || got.LoadBalancerID != "lb-1" || store.Creations.Until(svc.UID, time.Time{}).IsZero() {
		t.Errorf("adopted %+v", got)
	}
}

// A change of nodes of thousands of Services does not create another copy of each.
func TestStore_KeepsTheServiceThatItHasAccepted(t *testing.T) {
	t.Parallel()
	store, _ := newStore()
	svc := service("web", "1")
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
	first := store.Get(svc.UID).Accepted
	store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
	if store.Get(svc.UID).Accepted != first {
		t.Error("the same Service was copied again")
	}
	changed := service("web", "2")
	changed.Annotations = map[string]string{"a": "b"}
	store.Update(changed.UID, func(e *state.Entry) { e.Accept(changed) })
	if got := store.Get(svc.UID).Accepted; got.ResourceVersion != "2" || got.Annotations["a"] != "b" {
		t.Errorf("accepted is %+v", got)
	}
	changed = service("web", "") // of an unknown version
	store.Update(changed.UID, func(e *state.Entry) { e.Accept(changed) })
	changed = service("web", "")
	changed.Annotations = map[string]string{"c": "d"}
	store.Update(changed.UID, func(e *state.Entry) { e.Accept(changed) })
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
		store.Update(uid, func(e *state.Entry) { e.Made.Touched = true })
		store.Forget(uid, false)
	}
	store.Creations.Lost("lost")
	store.Update("applied", func(e *state.Entry) { e.SetApplied(applied("lb")) })
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
