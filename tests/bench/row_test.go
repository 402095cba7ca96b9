package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const lbaas = "/load-balancer/v2.0/lbaas/"

func request(method, path, lb string) requestlog.Request {
	return requestlog.Request{Method: method, Route: requestlog.Route(path), Path: path, Status: 200, LoadBalancerID: lb, RequestBytes: 1, Bytes: 2}
}

func TestRow_CountsReadsOfStateAfterChangeAsPolls(t *testing.T) {
	t.Parallel()
	state := lbaas + "loadbalancers/a?fields=provisioning_status&fields=updated_at"
	for name, c := range map[string]struct {
		requests             []requestlog.Request
		reads, polls, writes int
	}{
		"a look before anything":      {[]requestlog.Request{request("GET", state, "a")}, 1, 0, 0},
		"the watcher before a change": {[]requestlog.Request{request("GET", lbaas+"loadbalancers?fields=id&fields=provisioning_status&fields=operating_status&fields=updated_at", "")}, 0, 1, 0},
		"a wait":                      {[]requestlog.Request{request("POST", lbaas+"loadbalancers", "a"), request("GET", state, "a")}, 0, 1, 1},
		"the status tree":             {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers/a/status", "a")}, 0, 1, 1},
		"another one's state":         {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", state, "b")}, 1, 0, 1},
		"a list for all waits":        {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers?provisioning_status=PENDING_UPDATE", "")}, 0, 1, 1},
		"a list for a search":         {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers?name=x", "")}, 1, 0, 1},
		"all of it":                   {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers/a", "a")}, 1, 0, 1},
		"what is no load balancer's":  {[]requestlog.Request{request("POST", "/network/v2.0/floatingips", ""), request("GET", "/network/v2.0/networks", "")}, 1, 0, 1},
		"all floating IPs":            {[]requestlog.Request{request("POST", "/network/v2.0/floatingips", ""), request("GET", "/network/v2.0/floatingips?project_id=p", "")}, 0, 1, 1},
		"the floating IP of a VIP":    {[]requestlog.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", "/network/v2.0/floatingips?project_id=p&port_id=q", "")}, 1, 0, 1},
		"signing in is neither":       {[]requestlog.Request{request("POST", "/identity/v3/auth/tokens", "")}, 0, 0, 0},
	} {
		var r Row
		r.count(c.requests, 7)
		if r.Reads != c.reads || r.WatchReads != c.polls || r.Writes != c.writes {
			t.Errorf("%s: %d reads, %d polls, %d writes", name, r.Reads, r.WatchReads, r.Writes)
		}
		if r.Cycles != 7 || r.Bytes != 3*len(c.requests) {
			t.Errorf("%s: %d cycles, %d bytes", name, r.Cycles, r.Bytes)
		}
	}
}

func TestRow_GroupsLikeRequests(t *testing.T) {
	t.Parallel()
	var r Row
	failed := request("GET", lbaas+"loadbalancers?fields=id&provisioning_status=ERROR&limit=1000&tags=kube_svc_uid_1-2", "")
	failed.Status = 503
	r.count([]requestlog.Request{
		request("GET", "/network/v2.0/floatingips?port_id=0b7e5f1c-0001", ""),
		request("GET", "/network/v2.0/floatingips?port_id=0b7e5f1c-0002", ""),
		failed,
	}, 0)
	want := map[string]int{
		"GET /network/v2.0/floatingips?port_id=…":                                                     2,
		"GET " + lbaas + "loadbalancers?fields=id&provisioning_status=ERROR&limit=1000&tags=… -> 503": 1,
	}
	if diff := cmp.Diff(want, r.Requests); diff != "" {
		t.Error(diff)
	}
}
