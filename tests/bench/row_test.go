package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
)

const lbaas = "/load-balancer/v2.0/lbaas/"

func request(method, path, lb string) books.Request {
	return books.Request{Method: method, Route: books.Route(path), Path: path, Status: 200, LoadBalancerID: lb, RequestBytes: 1, Bytes: 2}
}

func TestPollsAreReadsOfTheStateAfterAChange(t *testing.T) {
	t.Parallel()
	state := lbaas + "loadbalancers/a?fields=provisioning_status&fields=updated_at"
	for name, c := range map[string]struct {
		requests             []books.Request
		reads, polls, writes int
	}{
		"a look before anything":      {[]books.Request{request("GET", state, "a")}, 1, 0, 0},
		"the watcher before a change": {[]books.Request{request("GET", lbaas+"loadbalancers?fields=id&fields=provisioning_status&fields=operating_status&fields=updated_at", "")}, 0, 1, 0},
		"a wait":                      {[]books.Request{request("POST", lbaas+"loadbalancers", "a"), request("GET", state, "a")}, 0, 1, 1},
		"the status tree":             {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers/a/status", "a")}, 0, 1, 1},
		"another one's state":         {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", state, "b")}, 1, 0, 1},
		"a list for all waits":        {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers?provisioning_status=PENDING_UPDATE", "")}, 0, 1, 1},
		"a list for a search":         {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers?name=x", "")}, 1, 0, 1},
		"all of it":                   {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", lbaas+"loadbalancers/a", "a")}, 1, 0, 1},
		"what is no load balancer's":  {[]books.Request{request("POST", "/network/v2.0/floatingips", ""), request("GET", "/network/v2.0/networks", "")}, 1, 0, 1},
		"all floating IPs":            {[]books.Request{request("POST", "/network/v2.0/floatingips", ""), request("GET", "/network/v2.0/floatingips?project_id=p", "")}, 0, 1, 1},
		"the floating IP of a VIP":    {[]books.Request{request("PUT", lbaas+"pools/p", "a"), request("GET", "/network/v2.0/floatingips?project_id=p&port_id=q", "")}, 1, 0, 1},
		"signing in is neither":       {[]books.Request{request("POST", "/identity/v3/auth/tokens", "")}, 0, 0, 0},
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

func TestTheLogPutsLikeRequestsTogether(t *testing.T) {
	t.Parallel()
	var r Row
	failed := request("GET", lbaas+"loadbalancers?fields=id&provisioning_status=ERROR&limit=1000&tags=kube_svc_uid_1-2", "")
	failed.Status = 503
	r.count([]books.Request{
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
