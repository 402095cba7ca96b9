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
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// shiftedClock is the real clock plus an offset.
type shiftedClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *shiftedClock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *shiftedClock) step(d time.Duration) { c.ahead.Add(int64(d)) }

// slowCreations delays the port of a VIP, and so Octavia's answer to a creation.
func slowCreations() environmentOptions {
	return environmentOptions{simulator: simulator.Options{VIPPortDelay: 2 * time.Second}, clock: &shiftedClock{}}
}

// killedWhileCreating kills the process while Octavia works on the creation of a Service's load
// balancer, and starts the next one.
func (env *environment) killedWhileCreating(svc *v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, AnswerDelay: time.Nanosecond}) // counts
	ctx, kill := context.WithCancel(env.ctx)
	defer kill()
	done := make(chan error, 1)
	go func() { _, err := env.engine.Ensure(ctx, svc, nodes); done <- err }()
	for env.Cloud.Faults.Hits() == 0 {
		time.Sleep(time.Millisecond)
	}
	kill()
	env.T.Log("the call that was killed: ", <-done)
	env.restart()
}

func leaving(svc *v1.Service) *v1.Service {
	svc = svc.DeepCopy()
	now := metav1.Now()
	svc.DeletionTimestamp = &now
	return svc
}

// exists returns the result of Get.
func (env *environment) exists(svc *v1.Service) bool {
	env.T.Helper()
	_, exists, err := env.engine.Get(env.ctx, svc)
	if err != nil {
		env.T.Fatal(err)
	}
	return exists
}

// The process ends, or gets no answer, during its creation, and the Service is deleted before the
// load balancer exists. Get must return true, or upstream would remove the finalizer, and Delete
// waits for the load balancer.
func TestDelete_WaitsForCreationWithoutAnswer(t *testing.T) {
	t.Parallel()
	t.Run("the process was killed", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, slowCreations())
		svc := service("web", 1)
		svc.CreationTimestamp = metav1.Now()
		env.killedWhileCreating(svc, env.nodes(2))
		env.mustGo(svc)
	})
	t.Run("there was no answer", func(t *testing.T) {
		t.Parallel()
		env := newEnvironment(t, slowCreations())
		svc := service("web", 1)
		env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, DuringWork: true, Drop: true})
		if _, err := env.engine.Ensure(env.ctx, svc, env.nodes(2)); err == nil {
			t.Fatal("Ensure has made it, without an answer")
		}
		env.mustGo(svc)
	})
}

// mustGo deletes a Service with a load balancer that does not exist yet.
func (env *environment) mustGo(svc *v1.Service) {
	env.T.Helper()
	svc = leaving(svc)
	if !env.exists(svc) {
		env.T.Error("Get says that nothing is left: upstream does not call Delete")
	}
	env.delete(svc)
	if n := env.Cloud.RequestLog.Count(http.MethodDelete, lbRoute+"/{id}"); n != 1 {
		env.T.Errorf("%d load balancers were deleted, want the one that appeared", n)
	}
	env.loadBalancers(0)
	if env.exists(svc) {
		env.T.Error("Get says that something is left")
	}
}

// A creation that has not succeeded within three minutes never does.
func TestDelete_WaitsNoLongerThanCreationCanComeTrue(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(*environment, *v1.Service){
		"no answer": func(env *environment, svc *v1.Service) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Drop: true})
			env.refused(svc, env.nodes(1), "")
		},
		"young when the process began": func(env *environment, svc *v1.Service) {
			svc.CreationTimestamp = metav1.NewTime(env.clock.Now().Add(-2 * time.Minute))
		},
		"old when the process began": func(env *environment, svc *v1.Service) { // and its turn, or a free quota, came only then
			svc.CreationTimestamp = metav1.NewTime(env.clock.Now().Add(-24 * time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{clock: &shiftedClock{}})
			svc := service("web", 1)
			lost(env, svc)
			svc = leaving(svc)
			env.clock.(*shiftedClock).step(2 * time.Minute)
			if !env.exists(svc) {
				t.Error("after two minutes Get says that nothing is left")
			}
			done := make(chan error, 1)
			go func() { done <- env.engine.Delete(env.ctx, svc) }()
			before := env.Cloud.RequestLog.Count(http.MethodGet, lbRoute)
			for env.Cloud.RequestLog.Count(http.MethodGet, lbRoute) < before+3 {
				select {
				case err := <-done:
					t.Fatalf("Delete has ended after two minutes: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			env.clock.(*shiftedClock).step(time.Minute + time.Second)
			if err := <-done; err != nil {
				t.Errorf("Delete: %v", err)
			}
			if env.exists(svc) {
				t.Error("after three minutes Get says that something is left")
			}
		})
	}
}

// Known facts cost neither time nor requests: a Service was refused, has an address, or is newer
// than the process.
func TestGet_FindsNothingLeftWhenNoCreationCanBeUnderWay(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*environment, *v1.Service){
		"refused": func(env *environment, svc *v1.Service) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Status: http.StatusForbidden, Worded: true})
			env.refused(svc, env.nodes(1), "")
		},
		"published": func(env *environment, svc *v1.Service) {
			svc.CreationTimestamp = metav1.NewTime(env.clock.Now().Add(-time.Minute))
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.0.99"}}
		},
		"newer than the process": func(env *environment, svc *v1.Service) {
			env.clock.(*shiftedClock).step(10 * time.Second)
			svc.CreationTimestamp = metav1.NewTime(env.clock.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{clock: &shiftedClock{}})
			svc := service("web", 1)
			set(env, svc)
			if env.exists(leaving(svc)) {
				t.Error("Get says that something is left")
			}
		})
	}
}

// A load balancer that is found is the one of the creation without an answer: its deletion
// completes the wait.
func TestDelete_EndsWithLoadBalancerThatAppeared(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{clock: &shiftedClock{}})
	svc := service("web", 1)
	svc.CreationTimestamp = metav1.Now()
	env.ensure(svc, env.nodes(1))
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{} // the process ended before it published the address
	env.clock.(*shiftedClock).step(2 * time.Second)
	env.restart()
	svc = leaving(svc)
	env.delete(svc)
	env.loadBalancers(0)
	if env.exists(svc) {
		t.Error("Get says that something is left")
	}
}

// Two creations without an answer may both succeed: one load balancer does not prove that the other
// cannot appear.
func TestDelete_WaitsForBothOfTwoCreations(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{clock: &shiftedClock{}})
	svc := service("web", 1)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, Drop: true})
	nodes := env.nodes(1)
	env.refused(svc, nodes, "")
	env.ensure(svc, nodes)
	svc = leaving(svc)
	done := make(chan error, 1)
	go func() { done <- env.engine.Delete(env.ctx, svc) }()
	for env.Cloud.RequestLog.Count(http.MethodDelete, lbRoute+"/{id}") == 0 {
		time.Sleep(time.Millisecond)
	}
	env.loadBalancers(0)
	select {
	case err := <-done:
		t.Fatalf("Delete has ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	env.clock.(*shiftedClock).step(3 * time.Minute)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Octavia creates the VIP's port before it checks the quotas of the parts, and leaves it behind. A
// second try of the full creation would lose another port.
func TestQuota_OfPartsLosesAtMostOnePortAndIsRetriedSlowly(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Quota: map[string]int{"listener": 1}}})
	nodes, svc := env.nodes(1), service("web", 2)
	for range 5 {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		var later *api.RetryError
		if !errors.As(err, &later) || later.RetryAfter() < 5*time.Minute {
			t.Errorf("error %v, want one that asks for five minutes", err)
		}
	}
	if leaked := len(env.Cloud.LeakedPorts()); leaked > 1 {
		t.Errorf("%d ports are lost after five tries, want one at most", leaked)
	}
	env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "listener", 2)
	env.ensure(svc, nodes)
	if n := len(env.loadBalancer().Listeners); n != 2 {
		t.Errorf("%d listeners when there is room, want 2", n)
	}
	env.unchanged(svc, nodes)
}

// Octavia 12.0.0, 13.0.0 and 14.0.0 answer 500 to full creations with source ranges. One Service
// loses a port; all are served at the first try.
func TestEnsure_ServesSourceRangesWhenOctaviaFailsToCreateThem(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "2024.1", Quirks: octavia.Quirks{AllowedCIDRsFail: true}}})
	nodes := env.nodes(1)
	for _, name := range []string{"first", "second"} {
		svc := service(name, 1)
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		env.ensure(svc, nodes)
	}
	for _, lb := range env.loadBalancers(2) {
		if got := lb.Listeners[0].AllowedCIDRs; len(got) != 1 || got[0] != "10.0.0.0/8" {
			t.Errorf("allowed CIDRs %v", got)
		}
	}
	if leaked := len(env.Cloud.LeakedPorts()); leaked > 1 {
		t.Errorf("%d ports are lost, want one at most", leaked)
	}
	others := service("open", 1)
	env.Cloud.RequestLog.Reset()
	env.ensure(others, nodes)
	if n := len(env.Cloud.RequestLog.Requests(requestlog.Writes())); n != 2 {
		t.Errorf("%d writes for a Service without source ranges, want a creation and a floating IP", n)
	}
}

// The cloud answers as to a change of a load balancer that another client has locked.
func TestEnsure_ReportsLockOfLoadBalancerThatIsYetToBeMade(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	fault := faultOn(http.MethodPost, lbRoute, http.StatusConflict)
	fault.Worded, fault.Count = true, 1
	env.Cloud.Faults.Add(fault)
	env.refused(svc, nodes, "immutable")
	env.writes(1)
	env.ensure(svc, nodes)
	env.loadBalancer()
	env.floatingIPs(1)
}
