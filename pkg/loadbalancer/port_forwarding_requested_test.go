package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// ofPerson returns a floating IP that a person has created.
func (r *forwarding) ofPerson() neutron.FloatingIP {
	r.T.Helper()
	fip, err := r.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: r.Cloud.Account.ProjectID, NetworkID: r.Cloud.ExternalNetwork.ID})
	if err != nil {
		r.T.Fatal(err)
	}
	return fip
}

// portsOn returns the forwarded ports of a floating IP, such as "80 to 127.100.1.10:30080".
func (r *forwarding) portsOn(floatingIPID string) string {
	var all []string
	for _, f := range r.Cloud.Neutron.Forwardings(floatingIPID) {
		all = append(all, fmt.Sprintf("%d to %s:%d", f.ExternalPort, f.Address, f.InternalPort))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// A Service that requests another floating IP leaves the first one without port forwardings.
//
//proves:140
func TestPortForwarding_LeavesRequestedFloatingIPForAnother(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 2, environmentOptions{})
		nodes := r.nodes(1)
		first, second := r.ofPerson(), r.ofPerson()
		r.svc.Annotations[annotation.FloatingIPID] = first.ID
		r.ensure(r.svc, nodes)
		r.svc.Annotations[annotation.FloatingIPID] = second.ID
		if restarts {
			r.restart()
		}
		if now := r.ensure(r.svc, nodes).Ingress[0].IP; now != second.Address {
			t.Errorf("the Service has %s, not %s", now, second.Address)
		}
		if left := r.portsOn(first.ID); left != "" {
			t.Errorf("left are %s", left)
		}
		r.wantForwarded("80 to 127.100.1.10", "81 to 127.100.1.10")
	}
}

// A floating IP that the Service requests no longer stays with it, and is never deleted.
//
//proves:140
func TestPortForwarding_KeepsFloatingIPThatWasRequested(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		nodes := r.nodes(1)
		fip := r.ofPerson()
		r.svc.Annotations[annotation.FloatingIPID] = fip.ID
		r.ensure(r.svc, nodes)
		delete(r.svc.Annotations, annotation.FloatingIPID)
		if restarts {
			r.restart()
		}
		if now := r.ensure(r.svc, nodes).Ingress[0].IP; now != fip.Address {
			t.Errorf("the Service has %s, not %s", now, fip.Address)
		}
		r.remove(r.svc)
		r.floatingIPs(1)
		r.wantForwarded()
	}
}

// A deletion also removes the port forwardings of an incomplete creation from a requested floating IP.
//
//proves:140
func TestPortForwarding_DeletionDuringCreationLeavesRequestedFloatingIP(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			r := newForwarding(t, "0", 2, environmentOptions{})
			nodes := r.nodes(1)
			fip := r.ofPerson()
			r.svc.Annotations[annotation.FloatingIPID] = fip.ID
			r.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/network/v2.0/floatingips/{id}/port_forwardings", From: 2, Status: http.StatusConflict, AfterWork: lost})
			if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || r.portsOn(fip.ID) == "" {
				t.Fatalf("error %v, forwarded %q", err, r.portsOn(fip.ID))
			}
			r.Cloud.Faults.Clear()
			if restarts {
				r.restart()
			}
			r.remove(r.svc)
			if left := r.portsOn(fip.ID); left != "" {
				t.Errorf("restarts %v, lost %v: left are %s", restarts, lost, left)
			}
		}
	}
}

// Ports of the Service exchange their NodePorts, or pass them on, although Neutron has one forwarding to each.
//
//proves:140
func TestPortForwarding_ExchangesNodePorts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, second int32
		want          string
	}{
		{30081, 30080, "80 to 127.100.1.10:30081, 81 to 127.100.1.10:30080"},
		{30081, 30090, "80 to 127.100.1.10:30081, 81 to 127.100.1.10:30090"},
	} {
		r := newForwarding(t, "0", 2, environmentOptions{})
		nodes := r.nodes(1)
		r.ensure(r.svc, nodes)
		r.svc.Spec.Ports[0].NodePort, r.svc.Spec.Ports[1].NodePort = test.first, test.second
		r.endpoints.on(r.svc, "0")
		r.ensure(r.svc, nodes)
		if now := r.portsOn(r.Cloud.Neutron.FloatingIPs()[0].ID); now != test.want {
			t.Errorf("forwarded are %s, want %s", now, test.want)
		}
		r.unchanged(r.svc, nodes)
	}
}

// A refused Service keeps its port forwardings on a requested floating IP, and follows the nodes.
//
//proves:140
func TestPortForwarding_RefusedServiceFollowsNodesOnRequestedFloatingIP(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		r.svc.Annotations[annotation.FloatingIPID] = r.ofPerson().ID
		r.followsWhileRefused(restarts)
	}
}

// After a restart, Services with requested floating IPs need no request of their own.
//
//proves:140
func TestPortForwarding_SharesListsOfRequestedFloatingIPsAfterRestart(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{})
	r.Conf.LoadBalancer.ManageSecurityGroups = false
	r.restart()
	nodes := r.nodes(1)
	var all []*v1.Service
	for i := range 5 {
		svc := r.forwardedService(fmt.Sprint("web-", i), 1)
		svc.Spec.Ports[0].NodePort = int32(30100 + i)
		svc.Annotations[annotation.FloatingIPID] = r.ofPerson().ID
		r.ensure(svc, nodes)
		all = append(all, svc)
	}
	r.restart()
	r.Cloud.RequestLog.Reset()
	for _, svc := range all {
		r.ensure(svc, nodes)
	}
	if sent := r.Cloud.RequestLog.Requests(); len(sent) > 2 {
		t.Errorf("5 Services cost\n%s", printed(sent))
	}
}

// Without the service plug-in of Neutron, a Service with a requested floating IP is refused before the first write.
//
//proves:140
func TestPortForwarding_NeedsServicePluginForRequestedFloatingIP(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 1, environmentOptions{simulator: simulator.Options{Neutron: func(o *neutron.Options) {
		o.Extensions = slices.DeleteFunc(neutron.DefaultExtensions(), func(alias string) bool { return strings.Contains(alias, "port-forwarding") })
	}}})
	nodes := r.nodes(1)
	r.svc.Annotations[annotation.FloatingIPID] = r.ofPerson().ID
	r.Cloud.RequestLog.Reset()
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "needs the service plug-in port_forwarding") {
		t.Errorf("error %v", err)
	}
	r.writes(0)
}

// A kept floating IP that another owner forwards by now is neither taken by the next Service of the name, nor removed as
// garbage.
//
//proves:140
func TestPortForwarding_LeavesKeptFloatingIPToOthers(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "port-forwarding"} {
		for _, by := range []string{"person", "Service"} {
			h := &hours{}
			r := newForwarding(t, "0", 1, environmentOptions{clock: h})
			r.Conf.LoadBalancer.GarbagePolicy, r.Conf.LoadBalancer.GarbageInterval.Duration = "delete", time.Hour
			r.Conf.LoadBalancer.DriftPolicy = "off"
			r.restart()
			c := &collection{environment: r.environment, clock: h, counts: map[string]int{}, nodes: r.nodes(2)}
			r.svc.Annotations[annotation.KeepFloatingIP], r.svc.Annotations[annotation.Provider] = "true", provider
			c.with(r.svc)
			kept := r.Cloud.Neutron.FloatingIPs()[0].ID
			r.remove(r.svc)
			c.vanish(r.svc)
			if by == "person" {
				r.forward(kept, 22, "127.100.1.10")
			} else {
				other := r.forwardedService("other", 1)
				other.Annotations[annotation.FloatingIPID] = kept
				other.Spec.Ports[0].Port, other.Spec.Ports[0].NodePort = 8080, 30444
				r.endpoints.on(other, "0")
				c.with(other)
			}
			before := r.portsOn(kept)
			again := r.forwardedService("web", 1)
			again.Annotations[annotation.Provider], again.UID = provider, "uid-again"
			r.endpoints.on(again, "1")
			c.with(again)
			c.looks(3)
			r.floatingIPs(2)
			r.remove(again)
			c.vanish(again)
			r.floatingIPs(1)
			if now := r.portsOn(kept); now != before {
				t.Errorf("%s, %s: forwarded are %q, want %q", provider, by, now, before)
			}
		}
	}
}
