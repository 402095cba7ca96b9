package loadbalancer_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// shiftedClock is the real one, set forward.
type shiftedClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *shiftedClock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *shiftedClock) step(d time.Duration) { c.ahead.Add(int64(d)) }

// slowCreations make Octavia take a while for the port of a VIP, before it answers.
func slowCreations() worldOptions {
	return worldOptions{simulator: simulator.Options{VIPPortDelay: 2 * time.Second}, clock: &shiftedClock{}}
}

// killedWhileCreating lets the process end while Octavia works on the creation of a Service's load
// balancer, and another take its place.
func (w *world) killedWhileCreating(svc *v1.Service, nodes []*v1.Node) {
	w.t.Helper()
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, AnswerDelay: time.Nanosecond}) // counts
	ctx, kill := context.WithCancel(w.ctx)
	defer kill()
	done := make(chan error, 1)
	go func() { _, err := w.engine.Ensure(ctx, svc, nodes); done <- err }()
	for w.cloud.Faults.Hits() == 0 {
		time.Sleep(time.Millisecond)
	}
	kill()
	w.t.Log("the call that was killed: ", <-done)
	w.restart()
}

func leaving(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	now := metav1.Now()
	svc.DeletionTimestamp = &now
	return svc
}

// exists asks Get.
func (w *world) exists(svc *v1.Service) bool {
	w.t.Helper()
	_, exists, err := w.engine.Get(w.ctx, svc)
	if err != nil {
		w.t.Fatal(err)
	}
	return exists
}

// The process ends, or gets no answer, while its creation is carried out, and the
// Service is deleted before the load balancer is there: Get says that there is one, or
// upstream would take the finalizer off, and Delete waits for it.
func TestDeletionWaitsForACreationWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	t.Run("the process was killed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slowCreations())
		svc := service("web", 1)
		svc.CreationTimestamp = metav1.Now()
		w.killedWhileCreating(svc, w.nodes(2))
		w.mustGo(svc)
	})
	t.Run("there was no answer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, slowCreations())
		svc := service("web", 1)
		w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, DuringWork: true, Drop: true})
		if _, err := w.engine.Ensure(w.ctx, svc, w.nodes(2)); err == nil {
			t.Fatal("Ensure has made it, without an answer")
		}
		w.mustGo(svc)
	})
}

// mustGo deletes a Service whose load balancer is not there yet.
func (w *world) mustGo(svc *v1.Service) {
	w.t.Helper()
	svc = leaving(svc)
	if !w.exists(svc) {
		w.t.Error("Get says that nothing is left: upstream does not call Delete")
	}
	w.delete(svc)
	if n := w.cloud.Books.Count(http.MethodDelete, lbRoute+"/{id}"); n != 1 {
		w.t.Errorf("%d load balancers were deleted, want the one that appeared", n)
	}
	w.loadBalancers(0)
	if w.exists(svc) {
		w.t.Error("Get says that something is left")
	}
}

// A creation that does not come true within three minutes never does.
func TestDeletionWaitsNoLongerThanACreationCanComeTrue(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(*world, *v1.Service){
		"no answer": func(w *world, svc *v1.Service) {
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Drop: true})
			w.refused(svc, w.nodes(1), "")
		},
		"young when the process began": func(w *world, svc *v1.Service) {
			svc.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-2 * time.Minute))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{clock: &shiftedClock{}})
			svc := service("web", 1)
			lost(w, svc)
			svc = leaving(svc)
			w.clock.(*shiftedClock).step(2 * time.Minute)
			if !w.exists(svc) {
				t.Error("after two minutes Get says that nothing is left")
			}
			done := make(chan error, 1)
			go func() { done <- w.engine.Delete(w.ctx, svc) }()
			before := w.cloud.Books.Count(http.MethodGet, lbRoute)
			for w.cloud.Books.Count(http.MethodGet, lbRoute) < before+3 {
				select {
				case err := <-done:
					t.Fatalf("Delete has ended after two minutes: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			w.clock.(*shiftedClock).step(time.Minute + time.Second)
			if err := <-done; err != nil {
				t.Errorf("Delete: %v", err)
			}
			if w.exists(svc) {
				t.Error("after three minutes Get says that something is left")
			}
		})
	}
}

// What is known costs no time and no request: a Service that was refused, one that has
// an address, one that is old, and one that is newer than the process.
func TestDeletionOfWhatIsKnownWaitsForNothing(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*world, *v1.Service){
		"refused": func(w *world, svc *v1.Service) {
			w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Status: http.StatusForbidden})
			w.refused(svc, w.nodes(1), "")
		},
		"published": func(w *world, svc *v1.Service) {
			svc.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Minute))
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.0.99"}}
		},
		"old": func(w *world, svc *v1.Service) {
			svc.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-4 * time.Minute))
		},
		"newer than the process": func(w *world, svc *v1.Service) {
			w.clock.(*shiftedClock).step(10 * time.Second)
			svc.CreationTimestamp = metav1.NewTime(w.clock.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{clock: &shiftedClock{}})
			svc := service("web", 1)
			set(w, svc)
			if w.exists(leaving(svc)) {
				t.Error("Get says that something is left")
			}
		})
	}
}

// A load balancer that is found is the one that the creation without an answer has made:
// its deletion is the end.
func TestDeletionEndsWithTheLoadBalancerThatAppeared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{clock: &shiftedClock{}})
	svc := service("web", 1)
	svc.CreationTimestamp = metav1.Now()
	w.ensure(svc, w.nodes(1))
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{} // the process ended before it was published
	w.clock.(*shiftedClock).step(2 * time.Second)
	w.restart()
	svc = leaving(svc)
	w.delete(svc)
	w.loadBalancers(0)
	if w.exists(svc) {
		t.Error("Get says that something is left")
	}
}

// Two creations without an answer may both come true: one that is found does not prove
// that the other will not.
func TestDeletionWaitsForBothOfTwoCreations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{clock: &shiftedClock{}})
	svc := service("web", 1)
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Drop: true})
	nodes := w.nodes(1)
	w.refused(svc, nodes, "")
	w.ensure(svc, nodes)
	svc = leaving(svc)
	done := make(chan error, 1)
	go func() { done <- w.engine.Delete(w.ctx, svc) }()
	for w.cloud.Books.Count(http.MethodDelete, lbRoute+"/{id}") == 0 {
		time.Sleep(time.Millisecond)
	}
	w.loadBalancers(0)
	select {
	case err := <-done:
		t.Fatalf("Delete has ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	w.clock.(*shiftedClock).step(3 * time.Minute)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Octavia makes the VIP's port before it looks at the quotas of what is in the load
// balancer, and leaves it behind: a second try with everything in it would lose another.
func TestAQuotaOfPartsLosesOnePortAndIsTriedSlowly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Quota: map[string]int{"listener": 1}}})
	nodes, svc := w.nodes(1), service("web", 2)
	for range 5 {
		_, err := w.engine.Ensure(w.ctx, svc, nodes)
		var later *api.RetryError
		if !errors.As(err, &later) || later.RetryAfter() < 5*time.Minute {
			t.Errorf("error %v, want one that asks for five minutes", err)
		}
	}
	if leaked := len(w.cloud.LeakedPorts()); leaked > 1 {
		t.Errorf("%d ports are lost after five tries, want one at most", leaked)
	}
	w.cloud.Octavia.SetQuota(w.cloud.Account.ProjectID, "listener", 2)
	w.ensure(svc, nodes)
	if n := len(w.loadBalancer().Listeners); n != 2 {
		t.Errorf("%d listeners when there is room, want 2", n)
	}
	w.unchanged(svc, nodes)
}

// Octavia 12.0.0, 13.0.0 and 14.0.0 answer 500 to load balancers that are made together
// with source ranges. One loses a port; all are served, at the first try.
func TestSourceRangesAreServedByAnOctaviaThatFailsToCreateThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Release: "2024.1", Quirks: octavia.Quirks{AllowedCIDRsFail: true}}})
	nodes := w.nodes(1)
	for _, name := range []string{"first", "second"} {
		svc := service(name, 1)
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		w.ensure(svc, nodes)
	}
	for _, lb := range w.loadBalancers(2) {
		if got := lb.Listeners[0].AllowedCIDRs; len(got) != 1 || got[0] != "10.0.0.0/8" {
			t.Errorf("allowed CIDRs %v", got)
		}
	}
	if leaked := len(w.cloud.LeakedPorts()); leaked > 1 {
		t.Errorf("%d ports are lost, want one at most", leaked)
	}
	others := service("open", 1)
	w.cloud.Books.Reset()
	w.ensure(others, nodes)
	if n := len(w.cloud.Books.Requests(books.Writes())); n != 2 {
		t.Errorf("%d writes for a Service without source ranges, want a creation and a floating IP", n)
	}
}
