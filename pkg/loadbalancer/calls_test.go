package loadbalancer_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// slowWorld is a cloud in which nothing gets done before pass, under a controller
// whose calls may hold their workers for a moment only.
func slowWorld(t *testing.T) (w *world, pass func()) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	minute := octavia.Delays{Create: time.Minute, Update: time.Minute, Delete: time.Minute}
	w = newWorld(t, worldOptions{
		simulator: simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": minute}},
		hold:      time.Millisecond,
	})
	return w, func() { clock.Step(time.Minute) }
}

// until asks again and again.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for !done() {
		if w.ctx.Err() != nil {
			w.t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// handedBack fails unless a call asks to be repeated later.
func (w *world) handedBack(err error, text string) *api.RetryError {
	w.t.Helper()
	var later *api.RetryError
	if !errors.As(err, &later) || !strings.Contains(later.Error(), text) {
		w.t.Fatalf("got %v, want an error with %q that asks for another call", err, text)
	}
	return later
}

// writesReach waits for the writes of calls that have ended.
func (w *world) writesReach(n int) {
	w.t.Helper()
	w.until(itoa(n)+" writes", func() bool { return len(w.cloud.Books.Requests(books.Writes())) >= n })
}

//proves:73
func TestOneWorkerBeginsWithAllServicesWhileTheirLoadBalancersAreBuilt(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes := w.nodes(3)
	const many = 20
	var services []*v1.Service
	w.cloud.Books.Reset()
	for i := range many {
		services = append(services, service("web"+itoa(i), 2))
		_, err := w.engine.Ensure(w.ctx, services[i], nodes)
		later := w.handedBack(err, "the load balancer is being created, which goes on by itself: looking again in ")
		if later.RetryAfter() < 3*time.Second || later.RetryAfter() > time.Minute {
			t.Errorf("looking again in %s", later.RetryAfter())
		}
	}
	w.writesReach(2 * many)
	pass()
	for _, svc := range services {
		w.until("ready", func() bool {
			status, err := w.engine.Ensure(w.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		if len(svc.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("%s has the addresses %v", svc.Name, svc.Status.LoadBalancer.Ingress)
		}
	}
	w.writes(2 * many)
	w.loadBalancers(many)
	w.floatingIPs(many)
}

func TestToComeBackCostsNothing(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 2)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	w.writesReach(2)
	beside := func() int {
		return len(w.cloud.Books.Requests(func(r books.Request) bool { return !strings.Contains(r.Path, "provisioning_status") }))
	}
	before := beside()
	for range 50 {
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		_ = w.handedBack(err, "created")
	}
	if after := beside(); after != before {
		t.Errorf("%d requests beside those of the watcher", after-before)
	}
	pass()
	w.until("ready", func() bool { _, err := w.engine.Ensure(w.ctx, svc, nodes); return err == nil })
	w.writes(2)
	if n := beside() - before; n > 1 { // the status tree
		t.Errorf("%d requests beside those of the watcher, want one", n)
	}
}

func TestChangesGoOnWithoutTheirWorker(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 2)
	ensure := func(want int) {
		t.Helper()
		w.until("ready", func() bool {
			pass()
			status, err := w.engine.Ensure(w.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		w.writes(want)
	}
	ensure(2)
	w.cloud.Books.Reset()
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "being brought up to date")
	ensure(2)
	for _, listener := range w.loadBalancer().Listeners {
		if len(listener.AllowedCIDRs) != 1 {
			t.Errorf("the listener has %v", listener.AllowedCIDRs)
		}
	}
}

func TestDeletionGoesOnWithoutItsWorker(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 2)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	w.until("gone", func() bool {
		_, exists, err := w.engine.Get(w.ctx, leaving)
		if err != nil {
			t.Fatal(err)
		}
		if !exists {
			return true
		}
		err = w.engine.Delete(w.ctx, leaving)
		if err != nil {
			_ = w.handedBack(err, "the load balancer is")
		}
		pass()
		return err == nil
	})
	w.loadBalancers(0)
	w.floatingIPs(0)
	if _, exists, err := w.engine.Get(w.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
	if n := w.cloud.Books.Count(http.MethodPost, lbRoute); n != 1 {
		t.Errorf("%d load balancers were made, want 1", n)
	}
}

func TestWhatFailsLaterIsToldToTheNextCall(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 1)
	w.cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	w.writesReach(2)
	pass()
	var later *api.RetryError
	w.until("told", func() bool {
		_, err = w.engine.Ensure(w.ctx, svc, nodes)
		return !errors.As(err, &later)
	})
	if err == nil || !strings.Contains(err.Error(), "is ERROR") {
		t.Errorf("got %v, want that it is in ERROR", err)
	}
	w.until("replaced", func() bool {
		pass()
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		return err == nil
	})
	w.loadBalancers(1)
	w.floatingIPs(1)
}

func TestAnErrorOfWhatTheServiceAskedBeforeIsNotTold(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 1)
	w.cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	w.writesReach(2)
	svc.Spec.Ports[0].NodePort++
	w.until("ready", func() bool {
		pass()
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		if err != nil {
			_ = w.handedBack(err, "created")
		}
		return err == nil
	})
}

func TestTheEndOfTheControllerEndsWhatGoesOnByItself(t *testing.T) {
	t.Parallel()
	w, _ := slowWorld(t)
	nodes, svc := w.nodes(3), service("web", 1)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	w.writesReach(2)
	w.engine.Close()
	if _, err := w.engine.Ensure(w.ctx, service("other", 1), nodes); err == nil || strings.Contains(err.Error(), "goes on by itself") {
		t.Errorf("after the end a call gives %v", err)
	}
	w.writes(2)
}

// A creation that went on without its worker, and began late, is not overtaken by the
// deletion: the load balancer would be made after it, and stay.
func TestADeletionNeverOvertakesACreation(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(1), service("web", 1)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	_ = w.handedBack(w.engine.Delete(w.ctx, svc), "deleted")
	w.until("deleted", func() bool {
		pass()
		return w.engine.Delete(w.ctx, svc) == nil
	})
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// Upstream takes the finalizer off once Get says no, and never asks again.
// A deletion that has ended well is the answer of the next Get: nothing is read for it.
func TestGetTrustsADeletionThatHasJustEnded(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes, svc := w.nodes(1), service("web", 1)
	w.until("made", func() bool {
		pass()
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		return err == nil
	})
	svc = leaving(svc)
	_ = w.handedBack(w.engine.Delete(w.ctx, svc), "deleted")
	w.until("the deletion has ended", func() bool {
		pass()
		working, _ := w.engine.Actors()
		return working == 0
	})
	w.cloud.Books.Reset()
	if w.exists(svc) {
		t.Error("Get says that something is left")
	}
	if all := w.cloud.Books.Requests(); len(all) > 0 {
		t.Errorf("requests:\n%swant none", printed(all))
	}
}

func TestNothingIsKeptOfServicesThatAreGone(t *testing.T) {
	t.Parallel()
	w, pass := slowWorld(t)
	nodes := w.nodes(1)
	for i := range 5 {
		svc := service("web-"+itoa(i), 1)
		w.until("made", func() bool {
			pass()
			status, err := w.engine.Ensure(w.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		now := nowTime()
		svc.DeletionTimestamp = &now
		w.until("gone", func() bool {
			_, exists, err := w.engine.Get(w.ctx, svc)
			if err == nil && exists {
				_ = w.engine.Delete(w.ctx, svc)
			}
			pass()
			return err == nil && !exists
		})
	}
	if working, left := w.engine.Actors(); working+left > 0 {
		t.Errorf("of Services that are gone %d are worked on and %d results are kept", working, left)
	}
}

// While a creation waits for the cloud, Get and deletions of others are answered.
func TestGetAnswersAtOnceWhileSomethingIsBeingDone(t *testing.T) {
	t.Parallel()
	w, _ := slowWorld(t)
	nodes, svc := w.nodes(1), service("web", 1)
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	_ = w.handedBack(err, "created")
	w.writesReach(2)
	w.cloud.Books.Reset()
	if _, exists, err := w.engine.Get(w.ctx, svc); !exists || err != nil {
		t.Errorf("exists %v, error %v", exists, err)
	}
	if asked := w.cloud.Books.Requests(func(r books.Request) bool { return !strings.Contains(r.Path, "provisioning_status") }); len(asked) > 0 {
		t.Errorf("it asked the cloud:\n%s", printed(asked))
	}
}

// With the number of workers that there are by default, a load balancer that stays
// PENDING gives its worker back after two minutes, and not before.
func TestAStuckLoadBalancerHoldsItsWorkerForTwoMinutes(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := newWorld(t, worldOptions{
		simulator: simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": {Create: time.Hour}}},
		clock:     clock, workers: 300,
	})
	nodes, svc := w.nodes(1), service("web", 1)
	ended := make(chan error, 1)
	go func() {
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		ended <- err
	}()
	w.writesReach(2)
	for range 23 {
		clock.Step(5 * time.Second)
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Fatalf("the worker came back after less than two minutes: %v", err)
	default:
	}
	var err error
	w.until("the worker is back", func() bool {
		clock.Step(5 * time.Second)
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	_ = w.handedBack(err, "the load balancer is still being created")
}

// Whoever reads a Service, and waits for its turn while it changes, has an old one.
func TestAnOlderServiceIsNeverServedAfterANewerOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.ResourceVersion = "9"
	w.ensure(svc, nodes)
	old := svc.DeepCopy()
	svc.ResourceVersion = "10"
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	w.ensure(svc, nodes)
	if _, err := w.engine.Repair(w.ctx, old, nodes, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if got := w.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
		t.Errorf("allowed CIDRs are %v: the load balancer is open to all again", got)
	}
}

func TestServiceAndNodesAreReadWhenTheirTurnComes(t *testing.T) {
	t.Parallel()
	now := service("web", 1)
	var nodes []*v1.Node
	w := newWorld(t, worldOptions{newest: func(*v1.Service) (*v1.Service, []*v1.Node) { return now, nodes }})
	nodes = w.nodes(2)
	w.ensure(now, nodes[:1])
	if n := len(w.loadBalancer().Pools[0].Members); n != 2 {
		t.Errorf("%d members, want the 2 that there are by now", n)
	}
	now = now.DeepCopy()
	now.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	old := service("web", 1)
	old.Status = now.Status
	if _, err := w.engine.Repair(w.ctx, old, nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if got := w.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
		t.Errorf("allowed CIDRs are %v, want those that the Service asks for by now", got)
	}
	now = nil // it is deleted
	w.cloud.Books.Reset()
	if _, err := w.engine.Repair(w.ctx, old, nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	w.writes(0)
}
