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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// slowWorld returns a cloud that completes nothing before pass is called, and a controller with
// calls that occupy their workers only for a moment.
func slowWorld(t *testing.T) (env *environment, pass func()) {
	t.Helper()
	return slowWorldOf(t, environmentOptions{})
}

func slowWorldOf(t *testing.T, options environmentOptions) (env *environment, pass func()) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	minute := octavia.Delays{Create: time.Minute, Update: time.Minute, Delete: time.Minute}
	options.simulator = simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": minute}}
	options.hold = time.Millisecond
	env = newEnvironment(t, options)
	return env, func() { clock.Step(time.Minute) }
}

// until polls until a condition holds.
func (env *environment) until(what string, done func() bool) {
	env.T.Helper()
	for !done() {
		if env.ctx.Err() != nil {
			env.T.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// handedBack fails unless the error of a call requests a later call.
func (env *environment) handedBack(err error, text string) *api.RetryError {
	env.T.Helper()
	var later *api.RetryError
	if !errors.As(err, &later) || !strings.Contains(later.Error(), text) {
		env.T.Fatalf("got %v, want an error with %q that asks for another call", err, text)
	}
	return later
}

// writesReach waits for the writes of calls that have returned.
func (env *environment) writesReach(n int) {
	env.T.Helper()
	env.until(itoa(n)+" writes", func() bool { return len(env.Cloud.RequestLog.Requests(requestlog.Writes())) >= n })
}

//proves:73
func TestEnsure_LetsOneWorkerStartAllServicesDuringCreations(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes := env.nodes(3)
	const many = 20
	var services []*v1.Service
	env.Cloud.RequestLog.Reset()
	for i := range many {
		services = append(services, service("web"+itoa(i), 2))
		_, err := env.engine.Ensure(env.ctx, services[i], nodes)
		later := env.handedBack(err, "the load balancer is being created, which goes on by itself: looking again in ")
		if later.RetryAfter() < 3*time.Second || later.RetryAfter() > time.Minute {
			t.Errorf("looking again in %s", later.RetryAfter())
		}
	}
	env.writesReach(2 * many)
	pass()
	for _, svc := range services {
		env.until("ready", func() bool {
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		if len(svc.Status.LoadBalancer.Ingress) != 1 {
			t.Errorf("%s has the addresses %v", svc.Name, svc.Status.LoadBalancer.Ingress)
		}
	}
	env.writes(2 * many)
	env.loadBalancers(many)
	env.floatingIPs(many)
}

func TestEnsure_CostsNoRequestWhenRepeatedDuringCreation(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 2)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	env.writesReach(2)
	beside := func() int {
		return len(env.Cloud.RequestLog.Requests(func(r requestlog.Request) bool { return !strings.Contains(r.Path, "provisioning_status") }))
	}
	before := beside()
	for range 50 {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		_ = env.handedBack(err, "created")
	}
	if after := beside(); after != before {
		t.Errorf("%d requests beside those of the watcher", after-before)
	}
	pass()
	env.until("ready", func() bool { _, err := env.engine.Ensure(env.ctx, svc, nodes); return err == nil })
	env.writes(2)
	if n := beside() - before; n > 1 { // the status tree
		t.Errorf("%d requests beside those of the watcher, want one", n)
	}
}

func TestEnsure_ContinuesChangeAfterWorkerReturns(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 2)
	ensure := func(want int) {
		t.Helper()
		env.until("ready", func() bool {
			pass()
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		env.writes(want)
	}
	ensure(2)
	env.Cloud.RequestLog.Reset()
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "being brought up to date")
	ensure(2)
	for _, listener := range env.loadBalancer().Listeners {
		if len(listener.AllowedCIDRs) != 1 {
			t.Errorf("the listener has %v", listener.AllowedCIDRs)
		}
	}
}

func TestDelete_ContinuesAfterWorkerReturns(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 2)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	leaving := svc.DeepCopy()
	now := nowTime()
	leaving.DeletionTimestamp = &now
	env.until("gone", func() bool {
		_, exists, err := env.engine.Get(env.ctx, leaving)
		if err != nil {
			t.Fatal(err)
		}
		if !exists {
			return true
		}
		err = env.engine.Delete(env.ctx, leaving)
		if err != nil {
			_ = env.handedBack(err, "the load balancer is")
		}
		pass()
		return err == nil
	})
	env.loadBalancers(0)
	env.floatingIPs(0)
	if _, exists, err := env.engine.Get(env.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodPost, lbRoute); n != 1 {
		t.Errorf("%d load balancers were made, want 1", n)
	}
}

func TestEnsure_ReturnsLaterFailureToNextCall(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 1)
	env.Cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	env.writesReach(2)
	pass()
	var later *api.RetryError
	env.until("emitted", func() bool {
		_, err = env.engine.Ensure(env.ctx, svc, nodes)
		return !errors.As(err, &later)
	})
	if err == nil || !strings.Contains(err.Error(), "is ERROR") {
		t.Errorf("got %v, want that it is in ERROR", err)
	}
	env.until("replaced", func() bool {
		pass()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		return err == nil
	})
	env.loadBalancers(1)
	env.floatingIPs(1)
}

func TestEnsure_DropsErrorOfFormerSpec(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 1)
	env.Cloud.Octavia.FailNext(octavia.OperationCreate, 1)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	env.writesReach(2)
	svc.Spec.Ports[0].NodePort++
	env.until("ready", func() bool {
		pass()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		if err != nil {
			_ = env.handedBack(err, "created")
		}
		return err == nil
	})
}

func TestClose_EndsBackgroundWork(t *testing.T) {
	t.Parallel()
	env, _ := slowWorld(t)
	nodes, svc := env.nodes(3), service("web", 1)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	env.writesReach(2)
	env.engine.Close()
	if _, err := env.engine.Ensure(env.ctx, service("other", 1), nodes); err == nil || strings.Contains(err.Error(), "goes on by itself") {
		t.Errorf("after the end a call gives %v", err)
	}
	env.writes(2)
}

// A creation that went on without its worker, and began late, is not overtaken by the deletion.
// Otherwise the load balancer would be created after the deletion, and stay.
func TestDelete_NeverOvertakesCreation(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(1), service("web", 1)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	_ = env.handedBack(env.engine.Delete(env.ctx, svc), "deleted")
	env.until("deleted", func() bool {
		pass()
		return env.engine.Delete(env.ctx, svc) == nil
	})
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// Upstream removes the finalizer once Get returns false, and never calls again. The next Get
// returns the result of a deletion that has just ended, without a read.
func TestGet_TrustsDeletionThatHasJustEnded(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(1), service("web", 1)
	env.until("made", func() bool {
		pass()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		return err == nil
	})
	svc = leaving(svc)
	_ = env.handedBack(env.engine.Delete(env.ctx, svc), "deleted")
	env.until("the deletion has ended", func() bool {
		pass()
		working, _ := env.engine.Actors()
		return working == 0
	})
	env.Cloud.RequestLog.Reset()
	if env.exists(svc) {
		t.Error("Get says that something is left")
	}
	if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
		t.Errorf("requests:\n%swant none", printed(all))
	}
}

// The service controller calls Get before each deletion. If a deletion has failed nevertheless, the
// next call returns its error, after which the service controller delays its retry.
func TestDelete_ReturnsLaterFailureToNextCall(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes, svc := env.nodes(1), service("web", 1)
	env.until("made", func() bool {
		pass()
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		return err == nil
	})
	svc = leaving(svc)
	env.Cloud.Octavia.FailNext(octavia.OperationDelete, 1)
	_ = env.handedBack(env.engine.Delete(env.ctx, svc), "deleted")
	env.until("the deletion has ended", func() bool {
		pass()
		working, _ := env.engine.Actors()
		return working == 0
	})
	env.Cloud.RequestLog.Reset()
	if !env.exists(svc) {
		t.Fatal("Get says that nothing is left")
	}
	var later *api.RetryError
	if err := env.engine.Delete(env.ctx, svc); err == nil || errors.As(err, &later) {
		t.Errorf("got %v, want the error of the deletion", err)
	}
	env.writes(0)
}

func TestDelete_LeavesNoActorOrResultOfService(t *testing.T) {
	t.Parallel()
	env, pass := slowWorld(t)
	nodes := env.nodes(1)
	for i := range 5 {
		svc := service("web-"+itoa(i), 1)
		env.until("made", func() bool {
			pass()
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err == nil
		})
		now := nowTime()
		svc.DeletionTimestamp = &now
		env.until("gone", func() bool {
			_, exists, err := env.engine.Get(env.ctx, svc)
			if err == nil && exists {
				_ = env.engine.Delete(env.ctx, svc)
			}
			pass()
			return err == nil && !exists
		})
	}
	if working, left := env.engine.Actors(); working+left > 0 {
		t.Errorf("of Services that are gone %d are worked on and %d results are kept", working, left)
	}
}

// While a creation waits for the cloud, Get and deletions of other Services return.
func TestGet_AnswersWithoutRequestDuringCreation(t *testing.T) {
	t.Parallel()
	env, _ := slowWorld(t)
	nodes, svc := env.nodes(1), service("web", 1)
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	_ = env.handedBack(err, "created")
	env.writesReach(2)
	env.Cloud.RequestLog.Reset()
	if _, exists, err := env.engine.Get(env.ctx, svc); !exists || err != nil {
		t.Errorf("exists %v, error %v", exists, err)
	}
	if asked := env.Cloud.RequestLog.Requests(func(r requestlog.Request) bool { return !strings.Contains(r.Path, "provisioning_status") }); len(asked) > 0 {
		t.Errorf("it asked the cloud:\n%s", printed(asked))
	}
}

// With the default number of workers, a load balancer that stays PENDING releases its worker after
// ten seconds, and not before.
func TestEnsure_ReleasesWorkerOfStuckLoadBalancerAfterTenSeconds(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	env := newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": {Create: time.Hour}}},
		clock:     clock, workers: 300,
	})
	nodes, svc := env.nodes(1), service("web", 1)
	ended := make(chan error, 1)
	go func() {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		ended <- err
	}()
	env.writesReach(2)
	env.until("it waits for the creation", func() bool { return env.engine.Waits() > 0 })
	for range 9 {
		clock.Step(time.Second)
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Fatalf("the worker came back after less than ten seconds: %v", err)
	default:
	}
	var err error
	env.until("the worker is back", func() bool {
		clock.Step(5 * time.Second)
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	_ = env.handedBack(err, "the load balancer is being created")
}

// A caller that reads a Service and waits for its turn while the Service changes has an old
// version.
func TestRepair_IgnoresServiceOlderThanLastServed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.ResourceVersion = "9"
	env.ensure(svc, nodes)
	old := svc.DeepCopy()
	svc.ResourceVersion = "10"
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	env.ensure(svc, nodes)
	if _, err := env.engine.Repair(env.ctx, old, nodes, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if got := env.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
		t.Errorf("allowed CIDRs are %v: the load balancer is open to all again", got)
	}
}

func TestReconcile_ReadsServiceAndNodesWhenTurnComes(t *testing.T) {
	t.Parallel()
	now := service("web", 1)
	var nodes []*v1.Node
	env := newEnvironment(t, environmentOptions{newest: func(*v1.Service) (*v1.Service, []*v1.Node) { return now, nodes }})
	nodes = env.nodes(2)
	env.ensure(now, nodes[:1])
	if n := len(env.loadBalancer().Pools[0].Members); n != 2 {
		t.Errorf("%d members, want the 2 that there are by now", n)
	}
	now = now.DeepCopy()
	now.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	old := service("web", 1)
	old.Status = now.Status
	if _, err := env.engine.Repair(env.ctx, old, nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if got := env.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
		t.Errorf("allowed CIDRs are %v, want those that the Service asks for by now", got)
	}
	now = nil // it is deleted
	env.Cloud.RequestLog.Reset()
	if _, err := env.engine.Repair(env.ctx, old, nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	env.writes(0)
}

// Without a load balancer, no event reports a change of one.
func TestUpdate_AnnouncesNothingWhereThereIsNoLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
	nodes, svc := env.nodes(2), service("web", 1)
	env.Cloud.RequestLog.Reset()
	if err := env.engine.Update(env.ctx, svc, nodes); !errors.Is(err, loadbalancer.ErrNoLoadBalancer) {
		t.Errorf("got %v", err)
	}
	if _, err := env.engine.Repair(env.ctx, svc, nodes, func(context.Context) (bool, error) { return false, nil }); !errors.Is(err, loadbalancer.ErrNoLoadBalancer) {
		t.Errorf("got %v", err)
	}
	env.writes(0)
	if emitted := env.emitted(); emitted != "" {
		t.Errorf("events:\n%s", emitted)
	}
}
