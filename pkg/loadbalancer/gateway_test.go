package loadbalancer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

const (
	poolsRoute  = "/load-balancer/v2.0/lbaas/pools"
	batchRoute  = poolsRoute + "/{id}/members"
	memberRoute = batchRoute + "/{id}"
)

// gatewayAnswers returns the answers of an API gateway, a web application firewall or a policy to a
// request that it blocks.
func gatewayAnswers() map[string]faults.Rule {
	return map[string]faults.Rule{
		"405":             {Status: http.StatusMethodNotAllowed},
		"405 of Octavia":  {Status: http.StatusMethodNotAllowed, Body: `{"faultcode":"Client","faultstring":"Method Not Allowed","debuginfo":null}`},
		"404":             {Status: http.StatusNotFound, Body: `{"error_code":"APIGW.0101","error_msg":"The API does not exist or has not been published"}`},
		"404 of a router": {Status: http.StatusNotFound, Body: `{"message":"no Route matched with those values"}`},
		"400":             {Status: http.StatusBadRequest, Body: "<html><head><title>400 Bad Request</title></head></html>"},
		"403":             {Status: http.StatusForbidden, Body: "Request blocked"},
		"413 of a proxy":  {Status: http.StatusRequestEntityTooLarge, Body: "413"},
		"422":             {Status: http.StatusUnprocessableEntity, Body: `{"error":"unexpected property: listeners"}`},
	}
}

// A gateway in front of Octavia blocks batches of members and full creations. Each is tried once,
// for all Services, and replaced by single requests from then on. CPO#759, CPO#1052, CPO#1290.
//
//proves:69,115
func TestGateway_ThatTakesOnlySingleRequestsIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range gatewayAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
			nodes := env.nodes(6)
			full, batch := answer, answer
			full.Method, full.Route, full.Count = http.MethodPost, lbRoute, 1
			batch.Method, batch.Route = http.MethodPut, batchRoute
			env.Cloud.Faults.Add(full)
			env.Cloud.Faults.Add(batch)
			refused := func() (n int) {
				for _, r := range env.Cloud.RequestLog.Requests() {
					if r.Status == answer.Status && r.Method != http.MethodGet {
						n++
					}
				}
				return n
			}
			env.Cloud.RequestLog.Reset()
			first := service("first", 2)
			env.ensure(first, nodes[:3])
			if n := refused(); n != 2 {
				t.Errorf("%d requests are refused, want 2: the whole load balancer, and the batch", n)
			}
			env.Cloud.RequestLog.Reset()
			second := service("second", 1)
			env.ensure(second, nodes[:4])
			env.ensure(first, nodes[1:])
			env.ensure(second, nodes[2:])
			if n := refused(); n != 0 {
				t.Errorf("%d requests are refused after it is known", n)
			}
			for _, lb := range env.loadBalancers(2) {
				for _, pool := range lb.Pools {
					if want := map[int]int{2: 5, 1: 4}[len(lb.Pools)]; len(pool.Members) != want {
						t.Errorf("%s has %d members, want %d", pool.Name, len(pool.Members), want)
					}
				}
			}
			for _, svc := range []string{"first", "second"} {
				env.delete(service(svc, 1))
			}
			env.loadBalancers(0)
		})
	}
}

// If single requests for members are refused as well, the reason is another one. The error has
// their answer and the setting that enforces single requests, and the next try sends the batch
// again.
func TestGateway_RefusalOfSingleRequestsIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batch, single faults.Rule
		problem       string
		again         int // the batches of a retry
	}{
		"a policy": {
			faults.Rule{Status: http.StatusForbidden, Worded: true}, faults.Rule{Status: http.StatusForbidden, Worded: true}, "403", 1,
		},
		"a value": {
			faults.Rule{Status: http.StatusBadRequest, Worded: true}, faults.Rule{Status: http.StatusBadRequest, Worded: true}, "400", 1,
		},
		"a filter": {faults.Rule{Status: http.StatusForbidden}, faults.Rule{Status: http.StatusMethodNotAllowed}, "405", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(4), service("web", 1)
			env.ensure(svc, nodes[:2])
			batch, single := c.batch, c.single
			batch.Method, batch.Route = http.MethodPut, batchRoute
			single.Method, single.Route = http.MethodPost, batchRoute
			env.Cloud.Faults.Add(batch)
			env.Cloud.Faults.Add(single)
			for range 2 {
				env.Cloud.RequestLog.Reset()
				_, err := env.engine.Ensure(env.ctx, svc, nodes)
				if err == nil || !strings.Contains(err.Error(), "answered "+c.problem) || !strings.Contains(err.Error(), "provider-requires-serial-api-calls") {
					t.Errorf("error %v, want one with %s and the setting", err, c.problem)
				}
				if n := env.Cloud.RequestLog.Count(http.MethodPut, batchRoute); n < c.again {
					t.Errorf("%d batches were sent, want one to be tried again", n)
				}
			}
			env.Cloud.Faults.Clear()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(1) // the batch
			env.unchanged(svc, nodes)
		})
	}
}

// An error of Octavia itself about a batch may concern its contents, or be temporary. If single
// requests succeed, the next change is a batch again, until the process ends.
//
//proves:69,115
func TestGateway_RefusalOfOneBatchIsNotRemembered(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]faults.Rule{
		"a value":           {Status: http.StatusBadRequest, Worded: true},
		"a policy":          {Status: http.StatusForbidden, Body: `{"faultcode":"Client","faultstring":"Policy does not allow this request to be performed.","debuginfo":null}`},
		"members once only": {Status: http.StatusBadRequest, Body: `{"faultcode":"Client","faultstring":"Validation failure: Member must be updated only once in the same request.","debuginfo":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc, other := env.nodes(8), service("web", 2), service("other", 1)
			env.ensure(svc, nodes[:2])
			env.ensure(other, nodes[:2])
			answer.Method, answer.Route, answer.Count = http.MethodPut, batchRoute, 1
			env.Cloud.Faults.Add(answer)
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:4])
			batches, singles := env.Cloud.RequestLog.Count(http.MethodPut, batchRoute), env.Cloud.RequestLog.Count(http.MethodPost, batchRoute)
			if batches != 1 || singles != 4 {
				t.Errorf("%d batches and %d single members, want 1 that is refused and 4, of both pools", batches, singles)
			}
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:6])
			env.ensure(other, nodes[:5])
			if got, want := childWrites(env), "PUT members, PUT members, PUT members"; got != want {
				t.Errorf("the next changes are %s, want %s", got, want)
			}
			env.unchanged(svc, nodes[:6])
		})
	}
}

// If a gateway or a provider refuses concurrent batches of several Services, all continue with
// single requests.
func TestGateway_RefusesBatchesOfServicesAtTheSameTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		status   int
	}{"a gateway": {"amphora", http.StatusMethodNotAllowed}, "a policy": {"amphora", http.StatusForbidden}, "a provider": {"acme", http.StatusNotImplemented}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delays := fastDelays()
			delays["acme"] = delays["amphora"]
			env := newEnvironment(t, environmentOptions{
				keys: map[string]string{"lb-provider": c.provider}, simulator: simulator.Options{Providers: []string{"amphora", "acme"}, Delays: delays},
			})
			nodes, services := env.nodes(4), []*v1.Service{service("a", 1), service("b", 1), service("c", 1)}
			for _, svc := range services {
				env.ensure(svc, nodes[:2])
			}
			var arrived, done sync.WaitGroup
			arrived.Add(len(services))
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: batchRoute, Status: c.status, Worded: true, Then: func() {
				arrived.Done()
				arrived.Wait()
			}})
			for _, svc := range services {
				done.Go(func() {
					if _, err := env.engine.Ensure(env.ctx, svc, nodes); err != nil {
						t.Errorf("%s: %v", svc.Name, err)
					}
				})
			}
			done.Wait()
			for _, lb := range env.loadBalancers(len(services)) {
				if n := len(lb.Pools[0].Members); n != len(nodes) {
					t.Errorf("%s has %d members", lb.Name, n)
				}
			}
		})
	}
}

// A quota, or an error of Octavia itself about a full creation, does not concern the kind of the
// request: no parts are created singly, and the error has the answer.
func TestGateway_IsNotBlamedForQuotaOrValue(t *testing.T) {
	t.Parallel()
	for _, answer := range []struct {
		status int
		text   string
	}{
		{http.StatusForbidden, "Quota has been met for resources: Load Balancer"},
		{http.StatusForbidden, "Policy does not allow this request to be performed."},
		{http.StatusBadRequest, "Validation failure: the flavor is not for this"},
		{http.StatusNotFound, "Flavor 1 not found."},
	} {
		t.Run(answer.text, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.Cloud.Faults.Add(faults.Rule{
				Method: http.MethodPost, Route: lbRoute, Status: answer.status, Body: fmt.Sprintf(`{"faultcode":"Client","faultstring":%q,"debuginfo":null}`, answer.text),
			})
			env.refused(svc, nodes, answer.text)
			env.loadBalancers(0)
			if n := env.Cloud.RequestLog.Count(http.MethodPost, lbRoute); n != 1 {
				t.Errorf("%d load balancers were asked for, want one", n)
			}
		})
	}
}
