package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// withVIPs adds a network of VIPs, so that Services can have the provider router too.
func (r *forwarding) withVIPs() *routed {
	r.T.Helper()
	other := &routed{environment: r.environment, endpoints: r.endpoints}
	other.pool = other.anotherPool(vipCIDR)
	r.Conf.LoadBalancer.RouterVIPNetworkID = other.pool
	r.restart()
	return other
}

// A Service moves between all providers with its floating IP, if an annotation permits that. Nothing of the other
// provider is left.
//
//proves:140
func TestPortForwarding_MovesServiceBetweenProvidersWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		vips := r.withVIPs()
		nodes := r.nodes(1)
		svc := vips.on("amphora")
		address := r.ensure(svc, nodes).Ingress[0].IP
		for _, to := range []string{"port-forwarding", "amphora", "port-forwarding", "router", "port-forwarding"} {
			what := fmt.Sprintf("to %s, restarts %v", to, restarts)
			svc.Annotations[annotation.Provider] = to
			delete(svc.Annotations, annotation.AllowReplace)
			if restarts {
				r.restart()
			}
			if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil || !strings.Contains(err.Error(), "cannot change to") {
				t.Fatalf("%s: error %v", what, err)
			}
			if reached := r.reaches(address, 80); to != "port-forwarding" && reached != "127.100.1.10" {
				t.Errorf("%s: the refused Service reaches %q", what, reached)
			}
			svc.Annotations[annotation.AllowReplace] = "true"
			if restarts {
				r.restart()
			}
			if now := r.ensure(svc, nodes).Ingress[0].IP; now != address {
				t.Errorf("%s: the address changes from %s to %s", what, address, now)
			}
			r.floatingIPs(1)
			if to == "amphora" {
				r.loadBalancers(1)
			} else {
				r.loadBalancers(0)
				r.wantReach(address, 80, "127.100.1.10")
			}
			if to != "port-forwarding" {
				r.wantForwarded()
			}
			if left := vips.vips(); to != "router" && len(left) > 0 {
				t.Errorf("%s: VIPs %v are left", what, left)
			}
			r.unchanged(svc, nodes)
		}
		r.remove(svc)
		r.loadBalancers(0)
		r.floatingIPs(0)
	}
}

// A refused Service keeps its port forwardings, and follows the nodes.
//
//proves:140
func TestPortForwarding_RefusedServiceFollowsNodes(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		newForwarding(t, "0", 1, environmentOptions{}).followsWhileRefused(restarts)
	}
}

// followsWhileRefused fails unless the Service, which is refused and perhaps seen by another process then, follows its
// endpoint to another node.
func (r *forwarding) followsWhileRefused(restarts bool) {
	r.T.Helper()
	nodes := r.nodes(2)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.svc.Annotations[annotation.Share] = "one"
	r.endpoints.on(r.svc, "1")
	if restarts {
		r.restart()
	}
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil {
		r.T.Fatal("the Service is not refused")
	}
	r.wantReach(address, 80, "127.100.1.11")
}

// After a restart, the floating IPs and their forwardings are read once for all Services, and nothing is written.
//
//proves:140
func TestPortForwarding_SharesListsAfterRestart(t *testing.T) {
	t.Parallel()
	restart := func(services int) []requestlog.Request {
		r := newForwarding(t, "0", 1, environmentOptions{})
		r.Conf.LoadBalancer.ManageSecurityGroups = false
		r.restart()
		nodes := r.nodes(1)
		var all []*v1.Service
		for i := range services {
			svc := r.forwardedService(fmt.Sprint("web-", i), 1)
			svc.Spec.Ports[0].NodePort = int32(30100 + i)
			r.ensure(svc, nodes)
			all = append(all, svc)
		}
		r.restart()
		r.Cloud.RequestLog.Reset()
		for _, svc := range all {
			before := svc.Status.LoadBalancer.Ingress[0].IP
			if now := r.ensure(svc, nodes).Ingress[0].IP; now != before {
				t.Errorf("address %s, before the restart %s", now, before)
			}
		}
		r.writes(0)
		return r.Cloud.RequestLog.Requests()
	}
	one, five := restart(1), restart(5)
	if len(five) != len(one) || len(one) > 2 {
		t.Errorf("5 Services cost\n%s\none costs\n%s", printed(five), printed(one))
	}
}

// Changes of other clients are reverted, those of the time without a controller too.
//
//proves:140
func TestPortForwarding_RevertsChangesOfOthers(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		for _, deletes := range []string{"forwarding", "floating IP"} {
			r := newForwarding(t, "0", 2, environmentOptions{})
			nodes := r.nodes(1)
			r.ensure(r.svc, nodes)
			var address string
			r.emitted()
			fip := r.Cloud.Neutron.FloatingIPs()[0]
			var err error
			if deletes == "forwarding" {
				err = r.Cloud.Neutron.RemoveForwarding(fip.ID, r.Cloud.Neutron.Forwardings(fip.ID)[0].ID)
			} else {
				err = r.Cloud.Neutron.ReleaseFloatingIP(fip.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if restarts {
				r.restart()
				address = r.ensure(r.svc, nodes).Ingress[0].IP
			} else {
				r.repair(r.svc, nodes)
				address = r.ensure(r.svc, nodes).Ingress[0].IP
				if events := r.emitted(); !strings.Contains(events, "port forwardings") {
					t.Errorf("%s: events:\n%s", deletes, events)
				}
			}
			r.floatingIPs(1)
			r.wantReach(address, 80, "127.100.1.10")
			r.wantReach(address, 81, "127.100.1.10")
		}
	}
}

// With drift-policy=report, a change of another client is reported and stays.
//
//proves:140
func TestPortForwarding_ReportsChangesOfOthers(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{})
	r.Conf.LoadBalancer.DriftPolicy = "report"
	r.restart()
	nodes := r.nodes(1)
	r.ensure(r.svc, nodes)
	r.emitted()
	fip := r.Cloud.Neutron.FloatingIPs()[0]
	if err := r.Cloud.Neutron.RemoveForwarding(fip.ID, r.Cloud.Neutron.Forwardings(fip.ID)[0].ID); err != nil {
		t.Fatal(err)
	}
	r.Cloud.RequestLog.Reset()
	r.repair(r.svc, nodes)
	r.ensure(r.svc, nodes)
	r.writes(0)
	if events := r.emitted(); !strings.Contains(events, "no port forwardings any more. It is left as it is") {
		t.Errorf("events:\n%s", events)
	}
}

// In a cloud without Octavia, a Service gets port forwardings, and a deletion leaves nothing, also after the floating IP
// is gone.
//
//proves:140
func TestPortForwarding_ServesCloudWithoutOctavia(t *testing.T) {
	t.Parallel()
	for _, vanishes := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		(&routed{environment: r.environment}).withoutOctavia()
		r.Conf.LoadBalancer.LBProvider = "port-forwarding"
		r.engine = r.coldController()
		delete(r.svc.Annotations, annotation.Provider)
		nodes := r.nodes(1)
		address := r.ensure(r.svc, nodes).Ingress[0].IP
		r.wantReach(address, 80, "127.100.1.10")
		r.engine = r.coldController()
		r.ensure(r.svc, nodes)
		if vanishes {
			if err := r.Cloud.Neutron.ReleaseFloatingIP(r.Cloud.Neutron.FloatingIPs()[0].ID); err != nil {
				t.Fatal(err)
			}
			r.engine = r.coldController()
		}
		r.remove(r.svc)
		r.floatingIPs(0)
	}
}

// Without the service plug-in of Neutron, the Service is refused before the first write.
//
//proves:140
func TestPortForwarding_NeedsServicePlugin(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{simulator: simulator.Options{Neutron: func(o *neutron.Options) {
		o.Extensions = slices.DeleteFunc(neutron.DefaultExtensions(), func(alias string) bool { return strings.Contains(alias, "port-forwarding") })
	}}})
	nodes := r.nodes(1)
	r.Cloud.RequestLog.Reset()
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "needs the service plug-in port_forwarding") {
		t.Errorf("error %v", err)
	}
	if writes := r.sentWrites(); len(writes) > 0 {
		t.Errorf("writes %q", writes)
	}
}

// The floating IP of a Service that vanished is removed as garbage, with its forwardings. Deleted rules of security
// groups are restored.
//
//proves:140
func TestPortForwarding_VanishedServiceIsGarbage(t *testing.T) {
	t.Parallel()
	h := &hours{}
	r := newForwarding(t, "0", 1, environmentOptions{clock: h})
	r.Conf.LoadBalancer.GarbagePolicy, r.Conf.LoadBalancer.GarbageInterval.Duration = "delete", time.Hour
	r.Conf.LoadBalancer.DriftPolicy = "off"
	r.restart()
	c := &collection{environment: r.environment, clock: h, counts: map[string]int{}, nodes: r.nodes(1)}
	second := r.forwardedService("gone", 1)
	second.Spec.Ports[0].NodePort = 30099
	stays, gone := c.with(r.forwardedService("stays", 1)), c.with(second)
	c.vanish(gone)
	c.looks(3)
	r.floatingIPs(1)
	if left := r.Cloud.Neutron.FloatingIPs(); len(left) == 1 && left[0].Address != stays.Status.LoadBalancer.Ingress[0].IP {
		t.Errorf("left is %s", left[0].Address)
	}
}

// Clients outside of the source ranges do not reach the node.
//
//proves:140
func TestPortForwarding_EnforcesSourceRanges(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{})
	r.svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.wantReach(address, 80, "lost at 127.100.1.10")
	r.svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	r.ensure(r.svc, nodes)
	r.wantReach(address, 80, "127.100.1.10")
}

// A node on which source ranges would not be enforced gets no port forwardings, and the Service follows its other nodes.
func TestPortForwarding_FollowsNodesBesideOneThatEnforcesNoSourceRanges(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{})
	nodes := r.nodes(3)
	r.unfiltered(nodes[2])
	r.svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
	address := r.ensure(r.svc, nodes[:2]).Ingress[0].IP
	r.endpoints.on(r.svc, "1 2")
	r.refused(r.svc, nodes[1:], "follows its nodes or pods")
	r.wantReach(address, 80, "127.100.1.11")
}

// A preview has the steps and the number of writes of each change.
//
//proves:140
func TestPortForwarding_IsForetold(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 2, environmentOptions{})
	nodes := r.nodes(2)
	for _, change := range []func(){
		func() {},
		func() { r.endpoints.on(r.svc, "1") },
		func() { r.svc.Spec.Ports[0].NodePort = 30999 },
		func() {
			r.svc.Spec.Ports = r.svc.Spec.Ports[:1]
			r.endpoints.on(r.svc, "0")
		},
		func() {
			r.svc.Annotations[annotation.Provider], r.svc.Annotations[annotation.AllowReplace] = "amphora", "true"
		},
	} {
		change()
		if p := r.foretold(r.svc, nodes); len(p.Steps) == 0 {
			t.Error("no step is foretold")
		}
	}
}

// A Service that publishes a host name does not show its floating IP. Its forwardings are found after a restart
// nevertheless: on its own floating IP, and on a requested one, from which a deletion removes them.
//
//proves:140
func TestPortForwarding_FindsForwardingsOfHostName(t *testing.T) {
	t.Parallel()
	for _, requests := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		nodes := r.nodes(1)
		r.svc.Annotations[annotation.Hostname] = "web.example.org"
		if requests {
			fip, err := r.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: r.Cloud.Account.ProjectID, NetworkID: r.Cloud.ExternalNetwork.ID})
			if err != nil {
				t.Fatal(err)
			}
			r.svc.Annotations[annotation.FloatingIPID] = fip.ID
		}
		r.ensure(r.svc, nodes)
		r.wantForwarded("80 to 127.100.1.10")
		r.restart()
		r.Cloud.RequestLog.Reset()
		r.ensure(r.svc, nodes)
		r.writes(0)
		r.noOctavia()
		r.restart()
		r.remove(r.svc)
		r.wantForwarded()
		if requests {
			r.floatingIPs(1)
		} else {
			r.floatingIPs(0)
		}
	}
}
