package loadbalancer_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// withoutOctavia removes Octavia from the catalog, and starts another controller.
func (r *routed) withoutOctavia() {
	r.Cloud.Keystone.SetServices(slices.DeleteFunc(keystone.DefaultServices(), func(s keystone.Service) bool { return s.Type == "load-balancer" }))
	r.Conf.LoadBalancer.LBProvider = "router"
	r.engine = r.coldController()
}

// In a cloud without Octavia, a Service gets a VIP, changes of other clients are reverted, and a deletion leaves
// nothing.
//
//proves:140
func TestRouter_ServesCloudWithoutOctavia(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	r.withoutOctavia()
	delete(r.svc.Annotations, annotation.Provider)
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	if err := r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, nil); err != nil {
		t.Fatal(err)
	}
	r.repair(r.svc, nodes)
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
	r.engine = r.coldController()
	r.ensure(r.svc, nodes)
	r.remove(r.svc)
	if len(r.vips()) != 0 || len(r.routes()) != 0 {
		t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
	}
	r.floatingIPs(0)
}

// remove deletes a Service as the service controller does.
func (r *routed) remove(svc *v1.Service) {
	r.T.Helper()
	now := nowTime()
	svc.DeletionTimestamp = &now
	if _, _, err := r.engine.Get(r.ctx, svc); err != nil {
		r.T.Errorf("Get: %v", err)
	}
	r.delete(svc)
	if _, exists, err := r.engine.Get(r.ctx, svc); err != nil || exists {
		r.T.Errorf("after the deletion: exists %v, %v", exists, err)
	}
}

// In a cloud without Octavia, a Service of another provider is not served, and can be deleted. So can one that has
// changed its provider after it got a VIP.
//
//proves:140
func TestRouter_DeletesServicesOfOtherProvidersWithoutOctavia(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	r.withoutOctavia()
	nodes := r.nodes(1)
	r.ensure(r.svc, nodes)
	other := service("other", 1)
	for _, svc := range []*v1.Service{other, r.svc} {
		svc.Annotations[annotation.Provider] = "amphora"
		if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil {
			t.Errorf("%s is served without Octavia", svc.Name)
		}
		r.remove(svc)
	}
	if len(r.vips()) != 0 || len(r.routes()) != 0 {
		t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
	}
	r.floatingIPs(0)
	served := service("served", 1)
	served.Annotations[annotation.Provider] = "amphora"
	served.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.0.77"}}
	if err := r.engine.Delete(r.ctx, served); err == nil {
		t.Error("the load balancer of a Service is forgotten while Octavia is missing")
	}
}

// Deleted rules of the nodes' security groups are restored.
//
//proves:140
func TestRouter_RevertsChangesOfSecurityGroups(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	if err := somebody(t, r.environment).DeleteSecurityGroupRule(r.ctx, r.group().Rules[0].ID); err != nil {
		t.Fatal(err)
	}
	r.wantReach(address, "203.0.113.9", 80, "lost at 127.100.1.10")
	r.repair(r.svc, nodes)
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
}

// The VIP of a Service that vanished is removed as garbage, also without Octavia.
//
//proves:140
func TestRouter_VIPOfVanishedServiceIsGarbage(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		h := &hours{}
		r := newRouted(t, "0", environmentOptions{clock: h})
		r.Conf.LoadBalancer.GarbagePolicy, r.Conf.LoadBalancer.GarbageInterval.Duration = "delete", time.Hour
		r.Conf.LoadBalancer.DriftPolicy = "off"
		if r.restart(); without {
			r.withoutOctavia()
		}
		c := &collection{environment: r.environment, clock: h, counts: map[string]int{}, nodes: r.nodes(1)}
		stays, gone := c.with(r.routedService("stays")), c.with(r.routedService("gone"))
		c.vanish(gone)
		c.looks(3)
		if all := r.vips(); len(all) != 1 || all[0] != stays.Status.LoadBalancer.Ingress[1].IP || len(r.routes()) != 1 {
			t.Errorf("left are VIPs %v and routes %v", all, r.routes())
		}
		r.floatingIPs(1)
	}
}
