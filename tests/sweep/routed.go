package sweep

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// routed returns scenarios of Services with provider router.
func routed() []Scenario {
	onRouter := func(ports ...int32) *v1.Service {
		return OnRouter(service("web", ports...))
	}
	change := func(to string) func(context.Context, *testenv.Env) error {
		return edit(func(svc *v1.Service) { svc.Annotations[annotation.Provider] = to })
	}
	var all []Scenario
	for _, a := range []act{
		{name: "create on the router", before: []*v1.Service{}, do: create(onRouter(80, 81))},
		{name: "delete from the router", do: remove("web")},
		{name: "port on the router", do: edit(func(svc *v1.Service) { svc.Spec.Ports[1] = servicePort(82) })},
		{name: "internal on the router", do: edit(func(svc *v1.Service) { svc.Annotations[annotation.Internal] = "true" })},
		{name: "next hop without endpoints", do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.SetEndpoints(web(), "node-2")
			return nil
		}},
		{name: "next hop gone", do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode("node-1")
			return nil
		}},
		{name: "from the router to Octavia", do: change("amphora")},
		{name: "from Octavia to the router", before: []*v1.Service{with(service("web", 80), annotation.AllowReplace, "true")}, do: change("router")},
	} {
		if a.before == nil {
			a.before = []*v1.Service{onRouter(80, 81)}
		}
		a.endpoints = []string{"node-1", "node-2"}
		for _, c := range clouds()[:2] {
			s := a.on(c)
			s.Before = func(env *testenv.Env) error {
				if err := addVIPNetwork(env); err != nil {
					return err
				}
				return a.on(c).Before(env)
			}
			s.Check = LedToNodes
			all = append(all, s)
		}
	}
	return all
}

// forwarded returns scenarios of Services with provider port-forwarding.
func forwarded() []Scenario {
	forwards := func(ports ...int32) *v1.Service { return Forwarding(service("web", ports...)) }
	change := func(to string) func(context.Context, *testenv.Env) error {
		return edit(func(svc *v1.Service) { svc.Annotations[annotation.Provider] = to })
	}
	var all []Scenario
	for _, a := range []act{
		{name: "create forwardings", before: []*v1.Service{}, do: create(forwards(80, 81))},
		{name: "delete forwardings", do: remove("web")},
		{name: "another forwarded port", do: edit(func(svc *v1.Service) { svc.Spec.Ports[1] = servicePort(82) })},
		{name: "forwarded to a node without endpoints", do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.SetEndpoints(web(), "node-2")
			return nil
		}},
		{name: "forwarded to a node that is gone", do: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode("node-1")
			return nil
		}},
		{name: "from forwardings to Octavia", do: change("amphora")},
		{name: "from Octavia to forwardings", before: []*v1.Service{with(service("web", 80), annotation.AllowReplace, "true")}, do: change("port-forwarding")},
	} {
		if a.before == nil {
			a.before = []*v1.Service{forwards(80, 81)}
		}
		a.endpoints = []string{"node-1", "node-2"}
		for _, c := range clouds()[:2] {
			s := a.on(c)
			s.Check = ForwardedToNodes
			if a.name == "from Octavia to forwardings" { // its floating IP, and the rules of its group
				s.Back = 3
			}
			all = append(all, s)
		}
	}
	return all
}

// Forwarding returns a Service with provider port-forwarding that may change to others.
func Forwarding(svc *v1.Service) *v1.Service {
	return with(with(svc, annotation.Provider, "port-forwarding"), annotation.AllowReplace, "true")
}

// IsForwarding reports whether a Service requests the provider port-forwarding.
func IsForwarding(svc *v1.Service) bool {
	return svc.Annotations[annotation.Provider] == "port-forwarding"
}

// IsRouted reports whether a Service requests a provider without Octavia.
func IsRouted(svc *v1.Service) bool { return IsOnRouter(svc) || IsForwarding(svc) }

// ForwardedToNodes reports port forwardings of no Service, and ports of Services with provider port-forwarding that
// reach no node.
func ForwardedToNodes(env *testenv.Env) (wrong []string) {
	ports := map[string]bool{}
	for _, svc := range env.Cluster.Services() {
		if !IsForwarding(svc) {
			continue
		}
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			address := ingress.IP
			if address == "" { // a host name is published
				address = createdFor(env, svc)
			}
			for _, port := range svc.Spec.Ports {
				ports[fmt.Sprint(address, " ", port.Port)] = true
				got, lost := env.Cloud.Neutron.Deliver(neutron.Packet{
					From: netip.MustParseAddr("203.0.113.9"), To: netip.MustParseAddr(address), Protocol: strings.ToLower(string(port.Protocol)), Port: int(port.Port),
				})
				if env.Conf.LoadBalancer.ManageSecurityGroups && (len(got) != 1 || len(lost) > 0) {
					wrong = append(wrong, fmt.Sprintf("port %d of %s leads to %d ports, and is lost at %v", port.Port, address, len(got), lost))
				}
			}
		}
	}
	for _, fip := range env.Cloud.Neutron.FloatingIPs() {
		for _, f := range env.Cloud.Neutron.Forwardings(fip.ID) {
			if !ports[fmt.Sprint(fip.Address, " ", f.ExternalPort)] {
				wrong = append(wrong, fmt.Sprintf("forwarded port %d of %s belongs to no Service", f.ExternalPort, fip.Address))
			}
		}
	}
	return wrong
}

// createdFor returns the address of the floating IP that was created for a Service; an unspecified one for none.
func createdFor(env *testenv.Env, svc *v1.Service) string {
	for _, fip := range env.Cloud.Neutron.FloatingIPs() {
		if strings.Contains(fip.Description, string(svc.UID)) {
			return fip.Address
		}
	}
	return netip.IPv4Unspecified().String()
}

// OnRouter returns a Service with provider router that may change to others.
func OnRouter(svc *v1.Service) *v1.Service {
	return with(with(svc, annotation.Provider, "router"), annotation.AllowReplace, "true")
}

// IsOnRouter reports whether a Service requests the provider router.
func IsOnRouter(svc *v1.Service) bool { return svc.Annotations[annotation.Provider] == "router" }

// vipCIDR is the network of VIPs.
const vipCIDR = "127.101.0.0/24"

// addVIPNetwork adds a network of VIPs on the router of the nodes.
func addVIPNetwork(env *testenv.Env) error {
	network := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "vips", ProjectID: env.Cloud.Account.ProjectID})
	subnet, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{Name: "vips", NetworkID: network.ID, CIDR: vipCIDR})
	if err != nil {
		return err
	}
	env.Conf.LoadBalancer.RouterVIPNetworkID = network.ID
	return env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, subnet.ID)
}

// LedToNodes reports VIPs and routes of no Service, and Services of provider router that no node gets packets for.
func LedToNodes(env *testenv.Env) (wrong []string) {
	vips, network := map[string]bool{}, netip.MustParsePrefix(vipCIDR)
	for _, svc := range env.Cluster.Services() {
		if !IsOnRouter(svc) {
			continue
		}
		for _, ingress := range svc.Status.LoadBalancer.Ingress {
			if ingress.IP == "" {
				continue // a host name, for users
			}
			address := netip.MustParseAddr(ingress.IP)
			if vips[address.String()] = true; network.Contains(address) && *ingress.IPMode != v1.LoadBalancerIPModeVIP {
				wrong = append(wrong, fmt.Sprintf("kube-proxy drops the packets for %s, which has ipMode %s", address, *ingress.IPMode))
			}
			got, lost := env.Cloud.Neutron.Deliver(neutron.Packet{From: netip.MustParseAddr("203.0.113.9"), To: address, Protocol: "tcp", Port: int(svc.Spec.Ports[0].Port)})
			if env.Conf.LoadBalancer.ManageSecurityGroups && (len(got) != 1 || len(lost) > 0) {
				wrong = append(wrong, fmt.Sprintf("%s leads to %d ports, and is lost at %v", address, len(got), lost))
			}
		}
	}
	for _, port := range env.Cloud.Neutron.Ports() {
		if port.DeviceOwner == "" && len(port.FixedIPs) > 0 && network.Contains(netip.MustParseAddr(port.FixedIPs[0].Address)) && !vips[port.FixedIPs[0].Address] {
			wrong = append(wrong, "VIP "+port.FixedIPs[0].Address+" belongs to no Service")
		}
	}
	for _, route := range env.Cloud.Neutron.Routers()[0].Routes {
		if to := netip.MustParsePrefix(route.Destination); !vips[to.Addr().String()] {
			wrong = append(wrong, "route to "+route.Destination+" belongs to no Service")
		}
	}
	return wrong
}
