package loadbalancer_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// interruption is a way in which a request ends the work of a controller. It reports whether the
// request, or the moment of lastRequest, with that number existed.
type interruption func(env *environment, request int, call func(context.Context) error) bool

func interruptions() map[string]interruption {
	return map[string]interruption{
		"killed before": func(env *environment, n int, call func(context.Context) error) bool {
			return env.lastRequest(n, false, call)
		},
		"killed after": func(env *environment, n int, call func(context.Context) error) bool {
			return env.lastRequest(n, true, call)
		},
		"refused": (*environment).refusedRequest,
	}
}

// hastyOVN is ovnOfZed with changes and polls that take almost no time.
func hastyOVN(t *testing.T) *environment {
	t.Helper()
	soon := simoctavia.Delays{Create: time.Millisecond, Update: time.Millisecond, Delete: time.Millisecond, Children: time.Millisecond}
	env := newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Release: "zed", Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: soon}},
		keys:      map[string]string{"lb-provider": "ovn", "create-monitor": "true"},
	})
	look := driver.PollInterval{First: 2 * time.Millisecond, Step: 4 * time.Millisecond, Cap: 10 * time.Millisecond}
	env.timing.Create, env.timing.Update, env.timing.Delete, env.timing.ChildInterval = look, look, look, 5*time.Millisecond
	env.timing.ChildTimeout = 50 * time.Millisecond // if a slow machine takes a part for stuck, it is created once more
	env.restart()
	return env
}

// refusedRequest refuses only the n-th request of a call.
func (env *environment) refusedRequest(n int, call func(context.Context) error) bool {
	env.T.Helper()
	remove := env.Cloud.Faults.Add(faults.Rule{Route: "/**", From: n, Count: 1, Status: http.StatusForbidden})
	err := call(env.ctx)
	refused := env.Cloud.Faults.Hits() > 0
	remove()
	if !refused && err != nil {
		env.T.Fatalf("with %d requests: %v", n-1, err)
	}
	env.restart()
	return refused
}

// A controller is killed at every moment of a creation, and of each change that ovn of Zed handles
// wrongly, in turn, or each request is refused. Another controller completes it.
func TestOVN_OfZedRecoversFromCrashAtAnyRequest(t *testing.T) {
	t.Parallel()
	monitored := func(svc *v1.Service, on bool) { svc.Annotations[annotation.Monitor] = strconv.FormatBool(on) }
	for what, test := range map[string]struct {
		// prepare is called before each of the interrupted changes.
		prepare func(*environment, *v1.Service, []*v1.Node)
		changes []func(*v1.Service)
	}{
		"creation": {(*environment).gone, []func(*v1.Service){func(*v1.Service) {}}},
		"monitors": {(*environment).there, []func(*v1.Service){
			func(svc *v1.Service) { monitored(svc, false) }, func(svc *v1.Service) { monitored(svc, true) },
		}},
		"port": {(*environment).there, []func(*v1.Service){
			func(svc *v1.Service) { svc.Spec.Ports[0] = port(v1.ProtocolTCP, 8000+int(svc.Spec.Ports[0].Port+1)%2) },
		}},
	} {
		for how, interrupted := range interruptions() {
			t.Run(what+" "+how, func(t *testing.T) {
				t.Parallel()
				env := hastyOVN(t)
				nodes, svc := env.nodes(2), service("web", 2)
				request := 1
				for more := true; more; request++ {
					more = false
					env.patience(time.Minute) // for each request, however many there are
					for _, change := range test.changes {
						test.prepare(env, svc, nodes)
						change(svc)
						more = interrupted(env, request, env.ensuring(svc, nodes)) || more
						env.ensure(svc, nodes)
						env.whole(svc)
						env.unchanged(svc, nodes)
					}
					if t.Failed() || request > 100 {
						t.Fatalf("after request %d", request)
					}
				}
				if least := map[string]int{"killed before": 9, "killed after": 4, "refused": 10}[how]; request-2 < least {
					t.Errorf("only %d requests or moments, want at least %d", request-2, least)
				}
			})
		}
	}
}

// patience limits the time of later calls.
func (env *environment) patience(limit time.Duration) {
	ctx, cancel := context.WithTimeout(env.T.Context(), limit)
	env.T.Cleanup(cancel)
	env.ctx = ctx
}

// gone deletes a Service.
func (env *environment) gone(svc *v1.Service, _ []*v1.Node) {
	env.T.Helper()
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
	svc.Status = v1.ServiceStatus{}
}

// there ensures a Service.
func (env *environment) there(svc *v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	env.ensure(svc, nodes)
}

// whole fails unless the Service has its desired state, without duplicates.
func (env *environment) whole(svc *v1.Service) {
	env.T.Helper()
	monitors := len(svc.Spec.Ports)
	if svc.Annotations[annotation.Monitor] == "false" {
		monitors = 0
	}
	env.sound(monitors)
	if lb := env.loadBalancer(); len(lb.Listeners) != len(svc.Spec.Ports) || len(lb.Pools) != len(svc.Spec.Ports) {
		env.T.Errorf("%d listeners and %d pools", len(lb.Listeners), len(lb.Pools))
	}
	env.floatingIPs(1)
}
