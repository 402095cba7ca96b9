package loadbalancer_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/octavia"
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

func TestAHundredWorkersWaitForTheEnd(t *testing.T) {
	t.Parallel()
	for workers, want := range map[int]time.Duration{
		1: 500 * time.Millisecond, 10: 5 * time.Second, 99: 49500 * time.Millisecond, 100: 0, 300: 0,
	} {
		if got := loadbalancer.HoldFor(workers); got != want {
			t.Errorf("%d workers: %s, want %s", workers, got, want)
		}
	}
}
