package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// forwarding is a cloud with a Service of provider port-forwarding.
type forwarding struct {
	*environment
	endpoints *fakeEndpoints
	svc       *v1.Service
}

// newForwarding returns a cloud with a controller. The Service has a number of ports, and endpoints on some nodes.
func newForwarding(t *testing.T, endpoints string, ports int, options environmentOptions) *forwarding {
	t.Helper()
	f := &fakeEndpoints{}
	options.endpoints, options.services = f, &fakeServices{}
	options.keys = map[string]string{"manage-security-groups": "true", "deny-annotations": ""}
	env := newEnvironment(t, options)
	r := &forwarding{environment: env, endpoints: f, svc: env.forwardedService("web", ports)}
	f.on(r.svc, endpoints)
	env.Cloud.RequestLog.Reset()
	return r
}

func (env *environment) forwardedService(name string, ports int) *v1.Service {
	svc := service(name, ports)
	svc.Annotations[annotation.Provider] = "port-forwarding"
	return svc
}

// forwarded returns the forwardings of all floating IPs, as "80 to 127.100.1.10".
func (r *forwarding) forwarded() []string {
	var all []string
	for _, fip := range r.Cloud.Neutron.FloatingIPs() {
		for _, f := range r.Cloud.Neutron.Forwardings(fip.ID) {
			all = append(all, fmt.Sprintf("%d to %s", f.ExternalPort, f.Address))
		}
	}
	slices.Sort(all)
	return all
}

func (r *forwarding) wantForwarded(want ...string) {
	r.T.Helper()
	if got := r.forwarded(); !slices.Equal(got, want) {
		r.T.Errorf("forwarded are %q, want %q", got, want)
	}
}

// reaches is that of routed.
func (r *forwarding) reaches(address string, number int) string {
	r.T.Helper()
	return (&routed{environment: r.environment}).reaches(address, "203.0.113.9", number)
}

func (r *forwarding) wantReach(address string, number int, want string) {
	r.T.Helper()
	if got := r.reaches(address, number); got != want {
		r.T.Errorf("port %d of %s reaches %q, want %q", number, address, got, want)
	}
}

func (r *forwarding) noOctavia() { (&routed{environment: r.environment}).noOctavia() }

// sentWrites returns the writes besides those of security groups.
func (r *forwarding) sentWrites() []string {
	var writes []string
	for _, sent := range r.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if !strings.Contains(sent.Path, "security-group") && sent.Route != "/network/v2.0/ports/{id}" {
			writes = append(writes, sent.Method+" "+strings.TrimPrefix(sent.Route, "/network/v2.0/"))
		}
	}
	return writes
}

func (r *forwarding) wantWrites(want ...string) {
	r.T.Helper()
	if got := r.sentWrites(); !slices.Equal(got, want) {
		r.T.Errorf("writes %q, want %q", got, want)
	}
}

const (
	postForwarding   = "POST floatingips/{id}/port_forwardings"
	putForwarding    = "PUT floatingips/{id}/port_forwardings/{id}"
	deleteForwarding = "DELETE floatingips/{id}/port_forwardings/{id}"
)

// A Service gets a floating IP with a forwarding for each port to a node with an endpoint, without Octavia. An unchanged
// one costs nothing.
//
//proves:140
func TestPortForwarding_LeadsPortsToNodeWithEndpoint(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "1", 2, environmentOptions{})
	nodes := r.nodes(3)
	status := r.ensure(r.svc, nodes)
	if len(status.Ingress) != 1 || status.Ingress[0].IPMode != nil && *status.Ingress[0].IPMode != v1.LoadBalancerIPModeVIP {
		t.Fatalf("the status is %+v", status)
	}
	address := status.Ingress[0].IP
	r.wantReach(address, 80, "127.100.1.11")
	r.wantReach(address, 81, "127.100.1.11")
	r.wantReach(address, 82, "")
	r.wantWrites("POST floatingips", postForwarding, postForwarding)
	r.noOctavia()
	if events := r.emitted(); !strings.Contains(events, "forwarded ports [] → [TCP/80 to 127.100.1.11:30080, TCP/81 to 127.100.1.11:30081]") {
		t.Errorf("events:\n%s", events)
	}
	r.Cloud.RequestLog.Reset()
	r.ensure(r.svc, nodes)
	if sent := r.Cloud.RequestLog.Requests(); len(sent) > 0 {
		t.Errorf("an unchanged Service costs\n%s", printed(sent))
	}
	r.unchanged(r.svc, nodes)
	r.wantReach(address, 80, "127.100.1.11")
	r.noOctavia()
}

// The node stays while it has an endpoint. A change takes one write for each port.
//
//proves:140
func TestPortForwarding_MovesOnlyWhenNodeHasNoEndpoint(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "1", 2, environmentOptions{})
	nodes := r.nodes(3)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	for _, step := range []struct {
		endpoints, want string
		writes          []string
	}{
		{"0 1 2", "127.100.1.11", nil}, {"2", "127.100.1.12", []string{putForwarding, putForwarding}}, {"0 1 2", "127.100.1.12", nil},
		{"", "127.100.1.12", nil}, {"0", "127.100.1.10", []string{putForwarding, putForwarding}},
	} {
		r.endpoints.on(r.svc, step.endpoints)
		r.Cloud.RequestLog.Reset()
		r.ensure(r.svc, nodes)
		r.wantReach(address, 80, step.want)
		r.wantReach(address, 81, step.want)
		r.wantWrites(step.writes...)
	}
}

// Neutron removes the forwardings to a node with its port. They are created to another node.
//
//proves:140
func TestPortForwarding_LeavesNodeThatIsGone(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "1", 2, environmentOptions{})
	nodes := r.nodes(2)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	for _, port := range r.Cloud.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == "127.100.1.11" {
			if err := r.Cloud.Neutron.DeletePort(port.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.endpoints.on(r.svc, "0")
	r.ensure(r.svc, nodes[:1])
	r.wantReach(address, 80, "127.100.1.10")
	r.wantReach(address, 81, "127.100.1.10")
}

// A node that is rebuilt with its name and address gets its forwardings in the round of the new Node, to its new port.
//
//proves:140
func TestPortForwarding_FollowsRebuiltNodeToItsNewPort(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 2, environmentOptions{})
	address := r.ensure(r.svc, r.nodes(1)).Ingress[0].IP
	for _, port := range r.Cloud.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == "127.100.1.10" {
			if err := r.Cloud.Neutron.DeletePort(port.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.members = nil
	rebuilt := r.nodes(1)
	r.Cloud.RequestLog.Reset()
	r.ensure(r.svc, rebuilt)
	r.wantReach(address, 80, "127.100.1.10")
	r.wantReach(address, 81, "127.100.1.10")
	r.wantWrites(postForwarding, postForwarding)
	r.Cloud.RequestLog.Reset()
	r.ensure(r.svc, rebuilt)
	if sent := r.Cloud.RequestLog.Requests(); len(sent) > 0 {
		t.Errorf("an unchanged Service costs\n%s", printed(sent))
	}
}

// The server of a node is gone, and a server that is no node has got its address: the Service is not exposed on it.
//
//proves:140
func TestPortForwarding_SkipsNodeWhoseAddressAnotherServerHas(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0 1", 1, environmentOptions{})
	nodes := r.nodes(2)
	r.Cloud.Nova.DeleteServer(cluster.ServerID(nodes[0].Spec.ProviderID))
	if _, err := r.Cloud.AddServer("database", "127.100.1.10"); err != nil {
		t.Fatal(err)
	}
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.wantReach(address, 80, "127.100.1.11")
	r.endpoints.on(r.svc, "0")
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "its server needs a port") {
		t.Errorf("error %v", err)
	}
	r.wantReach(address, 80, "127.100.1.11")
}

// Nodes with a floating IP of their own are no targets: Neutron refuses them.
//
//proves:140
func TestPortForwarding_SkipsNodesWithFloatingIPs(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0 1", 1, environmentOptions{})
	nodes := r.nodes(2)
	for _, port := range r.Cloud.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == "127.100.1.10" {
			if _, err := r.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: r.Cloud.Account.ProjectID, NetworkID: r.Cloud.ExternalNetwork.ID, PortID: port.ID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.wantReach(address, 80, "127.100.1.11")
	other := r.forwardedService("other", 1)
	r.endpoints.on(other, "0")
	if _, err := r.engine.Ensure(r.ctx, other, nodes); err == nil || !strings.Contains(err.Error(), "without a floating IP of its own") {
		t.Errorf("error %v", err)
	}
}

// Ports of the Service are added, changed and removed one by one.
//
//proves:140
func TestPortForwarding_FollowsPorts(t *testing.T) {
	t.Parallel()
	r := newForwarding(t, "0", 2, environmentOptions{})
	nodes := r.nodes(1)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.Cloud.RequestLog.Reset()
	r.svc.Spec.Ports = append(r.svc.Spec.Ports[1:], v1.ServicePort{Name: "dns", Protocol: v1.ProtocolUDP, Port: 81, NodePort: 30153})
	r.svc.Spec.Ports[0].NodePort = 30999
	r.endpoints.on(r.svc, "0")
	r.ensure(r.svc, nodes)
	r.wantForwarded("81 to 127.100.1.10", "81 to 127.100.1.10")
	r.wantWrites(deleteForwarding, putForwarding, postForwarding)
	r.wantReach(address, 80, "")
	r.wantReach(address, 81, "127.100.1.10")
	r.unchanged(r.svc, nodes)
}

// A deletion leaves nothing, and needs no Octavia.
//
//proves:140
func TestPortForwarding_DeletesEverything(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 2, environmentOptions{})
		nodes := r.nodes(2)
		r.ensure(r.svc, nodes)
		if restarts {
			r.restart()
		}
		r.Cloud.RequestLog.Reset()
		now := nowTime()
		r.svc.DeletionTimestamp = &now
		if _, exists, err := r.engine.Get(r.ctx, r.svc); err != nil || !exists {
			t.Errorf("exists %v, %v", exists, err)
		}
		r.delete(r.svc)
		r.floatingIPs(0)
		r.noOctavia()
		r.wantWrites(deleteForwarding, deleteForwarding, "DELETE floatingips/{id}")
		if _, exists, err := r.engine.Get(r.ctx, r.svc); err != nil || exists {
			t.Errorf("after the deletion: exists %v, %v", exists, err)
		}
	}
}

func (r *forwarding) remove(svc *v1.Service) {
	r.T.Helper()
	(&routed{environment: r.environment}).remove(svc)
}

// A floating IP that the Service keeps stays without forwardings, and the next Service of its name gets it.
//
//proves:140
func TestPortForwarding_KeepsFloatingIP(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		nodes := r.nodes(1)
		r.svc.Annotations[annotation.KeepFloatingIP] = "true"
		address := r.ensure(r.svc, nodes).Ingress[0].IP
		if restarts {
			r.restart()
		}
		r.remove(r.svc)
		r.floatingIPs(1)
		r.wantForwarded()
		again := r.forwardedService("web", 1)
		again.UID = "uid-again"
		r.endpoints.on(again, "0")
		if now := r.ensure(again, nodes).Ingress[0].IP; now != address {
			t.Errorf("the next Service has %s, not %s", now, address)
		}
		r.remove(again)
		r.floatingIPs(0)
	}
}

// On a floating IP that the Service requests, the forwardings of others stay.
//
//proves:140
func TestPortForwarding_SharesRequestedFloatingIPWithOthers(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		nodes := r.nodes(2)
		fip, err := r.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: r.Cloud.Account.ProjectID, NetworkID: r.Cloud.ExternalNetwork.ID})
		if err != nil {
			t.Fatal(err)
		}
		r.forward(fip.ID, 22, "127.100.1.11")
		r.svc.Annotations[annotation.FloatingIPID] = fip.ID
		r.ensure(r.svc, nodes)
		r.wantForwarded("22 to 127.100.1.11", "80 to 127.100.1.10")
		if restarts {
			r.restart()
		}
		r.unchanged(r.svc, nodes)
		r.remove(r.svc)
		r.wantForwarded("22 to 127.100.1.11")
		r.floatingIPs(1)

		taken := r.forwardedService("taken", 1)
		taken.Spec.Ports[0].Port = 22
		taken.Annotations[annotation.FloatingIPID] = fip.ID
		r.Cloud.RequestLog.Reset()
		if _, err := r.engine.Ensure(r.ctx, taken, nodes); err == nil || !strings.Contains(err.Error(), "another client has forwarded it") {
			t.Errorf("error %v", err)
		}
		r.writes(0)
	}
}

// forward adds another client's forwarding to a floating IP.
func (r *forwarding) forward(floatingIPID string, number int, address string) {
	r.T.Helper()
	for _, port := range r.Cloud.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == address {
			if _, err := r.Cloud.Neutron.AddForwarding(floatingIPID, neutron.Forwarding{
				Protocol: "tcp", ExternalPort: number, InternalPort: number, PortID: port.ID, Address: address,
			}); err != nil {
				r.T.Fatal(err)
			}
		}
	}
}

// Whichever write fails or loses its answer, the next attempts complete the Service with one floating IP; a deletion
// then leaves nothing.
//
//proves:140
func TestPortForwarding_RecoversFromEachFailedWrite(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for _, restarts := range []bool{false, true} {
			for write := 1; write <= 6; write++ {
				t.Run(fmt.Sprintf("write %d, lost %v, restarts %v", write, lost, restarts), func(t *testing.T) {
					t.Parallel()
					r := newForwarding(t, "0", 2, environmentOptions{})
					nodes := r.nodes(1)
					r.Cloud.Faults.Add(faults.Rule{Route: "/network/**", FromWrite: write, Status: http.StatusServiceUnavailable, AfterWork: lost, Count: 1})
					var err error
					for range 5 {
						if _, err = r.engine.Ensure(r.ctx, r.svc, nodes); err == nil {
							break
						}
						if restarts {
							r.restart()
						}
					}
					if err != nil {
						t.Fatal(err)
					}
					r.floatingIPs(1)
					r.wantForwarded("80 to 127.100.1.10", "81 to 127.100.1.10")
					r.wantReach(r.Cloud.Neutron.FloatingIPs()[0].Address, 80, "127.100.1.10")
					_ = r.engine.Delete(r.ctx, r.svc) // it may wait for an object of an earlier request
					await.Condition(t, "everything is deleted", func() bool { return len(r.Cloud.Neutron.FloatingIPs()) == 0 })
				})
			}
		}
	}
}

// Settings that the provider cannot serve are refused before the first write.
//
//proves:140
func TestPortForwarding_RefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what string
		with func(*v1.Service)
		want string
	}{
		{"internal", func(svc *v1.Service) { svc.Annotations[annotation.Internal] = "true" }, "needs a floating IP"},
		{"IPv6", func(svc *v1.Service) { svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }, ""},
		{"both families", func(svc *v1.Service) { dual(svc, v1.IPFamilyPolicyRequireDualStack, v1.IPv4Protocol, v1.IPv6Protocol) }, "RequireDualStack"},
		{"SCTP", func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP }, "SCTP"},
		{"no NodePort", func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 0 }, "allocateLoadBalancerNodePorts"},
		{"pods", func(svc *v1.Service) { svc.Annotations[annotation.Members] = "pods" }, "pods"},
		{"PROXY", func(svc *v1.Service) { svc.Annotations[annotation.ProxyProtocol] = "true" }, "PROXY"},
		{"sharing", func(svc *v1.Service) { svc.Annotations[annotation.Share] = "one" }, "no load balancers to share"},
		{"TLS", func(svc *v1.Service) { svc.Annotations[annotation.TLSContainer] = "https://barbican/v1/containers/a" }, "TLS"},
		{"floating IP by tag", func(svc *v1.Service) { svc.Annotations[annotation.FloatingIPTag] = "mine" }, "by its ID or address"},
	} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		if test.what == "floating IP by tag" {
			fip, err := r.Cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{ProjectID: r.Cloud.Account.ProjectID, NetworkID: r.Cloud.ExternalNetwork.ID})
			if err == nil {
				err = r.Cloud.Neutron.TagFloatingIP(fip.ID, []string{"mine"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		nodes := r.nodes(1)
		test.with(r.svc)
		r.Cloud.RequestLog.Reset()
		if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.what, err)
		}
		if writes := r.Cloud.RequestLog.Requests(requestlog.Writes()); len(writes) > 0 {
			t.Errorf("%s: writes\n%s", test.what, printed(writes))
		}
	}
}
