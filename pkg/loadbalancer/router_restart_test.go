package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// After a restart, the lists of VIPs, routes and floating IPs are read once for all Services.
//
//proves:140
func TestRouter_SharesListsAfterRestart(t *testing.T) {
	t.Parallel()
	restart := func(services int) []requestlog.Request {
		r := newRouted(t, "0", environmentOptions{})
		r.Conf.LoadBalancer.ManageSecurityGroups = false
		r.restart()
		nodes := r.nodes(1)
		var all []*v1.Service
		for i := range services {
			svc := r.routedService(fmt.Sprint("web-", i))
			r.ensure(svc, nodes)
			all = append(all, svc)
		}
		r.restart()
		r.Cloud.RequestLog.Reset()
		for _, svc := range all {
			before := slices.Clone(svc.Status.LoadBalancer.Ingress)
			r.ensure(svc, nodes)
			if now := svc.Status.LoadBalancer.Ingress; len(now) != 2 || now[0].IP != before[0].IP || now[1].IP != before[1].IP {
				t.Errorf("status %+v, before the restart %+v", now, before)
			}
		}
		return r.Cloud.RequestLog.Requests()
	}
	one, five := restart(1), restart(5)
	if len(five) != len(one) {
		t.Errorf("5 Services cost\n%s\none costs\n%s", printed(five), printed(one))
	}
	for _, list := range []string{"tags=kube_cluster_id_", "/floatingips?", "/routers/"} {
		n := 0
		for _, sent := range five {
			if strings.Contains(sent.Path, list) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d requests for %s:\n%s", n, list, printed(five))
		}
	}
}

// A change that another client has made while no controller ran is reverted after a read of the Service itself.
//
//proves:140
func TestRouter_RevertsChangesSinceLastProcess(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	if err := r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, nil); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.ensure(r.svc, nodes)
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
	r.floatingIPs(1)
}

// With drift-policy=report, a change of another client is reported and stays, until the Service changes.
//
//proves:140
func TestRouter_ReportsChangesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	r.Conf.LoadBalancer.DriftPolicy = "report"
	r.restart()
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.emitted()
	if err := r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, nil); err != nil {
		t.Fatal(err)
	}
	r.Cloud.RequestLog.Reset()
	r.repair(r.svc, nodes)
	r.ensure(r.svc, nodes)
	r.writes(0)
	if events := r.emitted(); !strings.Contains(events, "the routes to the VIP were changed. It is left as it is") {
		t.Errorf("events:\n%s", events)
	}
	if said := r.states(r.svc, ready, unrefused, sound, "Drifted=true LoadBalancerDrifted"); !strings.Contains(said, "next hops [] → [127.100.1.10]") {
		t.Errorf("conditions: %s", said)
	}
	r.svc.Annotations[annotation.Internal] = "true"
	r.ensure(r.svc, nodes)
	r.states(r.svc, ready, unrefused, sound, undrifted)
	r.floatingIPs(0)
	if len(r.routes()) != 1 {
		t.Errorf("routes %v after a change of the Service, which had the address %s", r.routes(), address)
	}
}

// Routes of other clients take part of the room of a router.
//
//proves:140
func TestRouter_CountsRoutesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	if err := r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, []neutron.Route{{Destination: "10.99.0.0/24", NextHop: "127.100.1.200"}}); err != nil {
		t.Fatal(err)
	}
	r.Conf.LoadBalancer.RouterMaxRoutes = 1
	r.Cloud.RequestLog.Reset()
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "has 1 routes, and router-max-routes") {
		t.Errorf("error %v", err)
	}
	r.writes(0)
}
