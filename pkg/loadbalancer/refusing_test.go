package loadbalancer_test

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// refuseOne calls act in new clouds, and refuses another request of it in each, until act has no
// more requests. The last call is without a refusal, and must succeed.
func refuseOne(t *testing.T, prepare func(*environment) func() error, check func(*environment, error)) {
	t.Helper()
	for request := 1; ; request++ {
		env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
		act := prepare(env)
		env.Cloud.RequestLog.Reset()
		remove := env.Cloud.Faults.Add(faults.Rule{Route: "/**", From: request, Count: 1, Status: http.StatusForbidden})
		err := act()
		refused := env.Cloud.Faults.Hits() > 0
		remove()
		if !refused {
			if err != nil || request < 2 {
				t.Errorf("with %d requests: %v", request-1, err)
			}
			return
		}
		for _, answered := range env.Cloud.RequestLog.Requests() {
			if answered.Status == http.StatusForbidden {
				t.Logf("refused %s %s: error %v", answered.Method, answered.Path, err)
			}
		}
		check(env, err)
		if t.Failed() {
			return
		}
	}
}

// An incomplete change is never reported as success, whichever request is refused.
func TestEnsure_SucceedsOnlyWhereNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	svc, nodes := service("web", 2), []*v1.Node(nil)
	refuseOne(t, func(env *environment) func() error {
		svc, nodes = service("web", 2), env.nodes(2)
		return func() error {
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err
		}
	}, func(env *environment, err error) {
		if err != nil {
			env.ensure(svc, nodes)
		}
		env.unchanged(svc, nodes)
		env.uses(env.group().ID, nodes...)
		env.floatingIPs(1)
		env.loadBalancers(1)
	})
}

func TestDelete_SucceedsOnlyWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	svc := service("web", 2)
	refuseOne(t, func(env *environment) func() error {
		svc = service("web", 2)
		env.ensure(svc, env.nodes(2))
		env.restart() // so that everything is read
		return func() error { return env.engine.Delete(env.ctx, svc) }
	}, func(env *environment, err error) {
		if err != nil {
			env.delete(svc)
		}
		env.loadBalancers(0)
		env.floatingIPs(0)
		if left := env.groups(); len(left) > 0 {
			t.Errorf("security groups are left: %v", left)
		}
	})
}

// An object that cannot be read is not taken for a deleted one.
func TestGet_FailsWhereItCannotTell(t *testing.T) {
	t.Parallel()
	svc := service("web", 1)
	for _, exists := range []bool{true, false} {
		refuseOne(t, func(env *environment) func() error {
			svc = service("web", 1)
			env.ensure(svc, env.nodes(2))
			if !exists {
				env.delete(svc)
				svc.Spec.Type = v1.ServiceTypeClusterIP // its address is still published, and it may have objects
			} else {
				svc.Status = v1.ServiceStatus{} // so that its address is read
			}
			env.restart()
			return func() error {
				_, found, err := env.engine.Get(env.ctx, svc)
				if err == nil && found != exists {
					t.Errorf("found: %v, want %v", found, exists)
				}
				return err
			}
		}, func(_ *environment, err error) {
			if err == nil {
				t.Error("that is no error")
			}
		})
	}
}
