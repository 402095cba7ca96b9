package loadbalancer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

const (
	poolsRoute  = "/load-balancer/v2.0/lbaas/pools"
	batchRoute  = poolsRoute + "/{id}/members"
	memberRoute = batchRoute + "/{id}"
)

// gatewayAnswers are what an API gateway, a web application firewall or a policy says to what it does
// not let through.
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

// Whatever is in front of Octavia and lets neither batches of members nor load balancers with everything
// in them through: both are tried once, for all Services, and done in single requests from then on.
// CPO#759, CPO#1052, CPO#1290.
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

// Where single requests for members are refused too, it was for something else. Their answer is told,
// with the setting that has only these sent, and the batch is tried again next time.
func TestGateway_RefusalOfSingleRequestsIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batch, single faults.Rule
		told          string
		again         int // batches that are sent when it is tried again
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
				if err == nil || !strings.Contains(err.Error(), "answered "+c.told) || !strings.Contains(err.Error(), "provider-requires-serial-api-calls") {
					t.Errorf("error %v, want one with %s and the setting", err, c.told)
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

// A quota, and what Octavia refuses in its own words of a load balancer with everything in it, is no
// matter of the kind of the request: nothing is made in parts, and the answer is told.
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
