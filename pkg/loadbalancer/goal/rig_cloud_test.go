package goal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

type rigNeutron struct {
	lookup.Neutron
	rig *rig
}

func subnets() []neutron.Subnet {
	return []neutron.Subnet{
		{ID: "vips", NetworkID: "vip-net", IPVersion: 4, CIDR: "10.77.0.0/24", GatewayIP: "10.77.0.1"},
		{ID: "nodes", NetworkID: "node-net", IPVersion: 4, CIDR: "10.6.0.0/24", GatewayIP: "10.6.0.1"},
		{ID: "old-vips", NetworkID: "old-net", IPVersion: 4, CIDR: "10.78.0.0/24", GatewayIP: "10.78.0.1"},
		{ID: "subnet", NetworkID: "node-net", IPVersion: 4, CIDR: "10.5.0.0/24", GatewayIP: "10.5.0.1"},
	}
}

func (n rigNeutron) Network(_ context.Context, id string) (*neutron.Network, error) {
	return answer(&neutron.Network{ID: id, External: id == "public"}, n.rig.requests.send("network", id))
}

func (n rigNeutron) ExternalNetworks(context.Context) ([]neutron.Network, error) {
	var all []neutron.Network
	for _, id := range n.rig.externals {
		all = append(all, neutron.Network{ID: id, External: true, Subnets: []string{"subnet-of-" + id}})
	}
	return answer(all, n.rig.requests.send("externals"))
}

// Routers returns r1, which has a gateway on the external network other.
func (n rigNeutron) Routers(_ context.Context, ids []string) ([]neutron.Router, error) {
	all := []neutron.Router{{ID: "r1", Gateway: &neutron.RouterGateway{NetworkID: "other"}}}
	return answer(slices.DeleteFunc(all, func(r neutron.Router) bool { return !slices.Contains(ids, r.ID) }), n.rig.requests.send("routers"))
}

func (n rigNeutron) Subnets(_ context.Context, networkID string) ([]neutron.Subnet, error) {
	return answer(slices.DeleteFunc(subnets(), func(s neutron.Subnet) bool { return s.NetworkID != networkID }), n.rig.requests.send("subnets", networkID))
}

func (n rigNeutron) Subnet(_ context.Context, id string) (*neutron.Subnet, error) {
	all := slices.DeleteFunc(subnets(), func(s neutron.Subnet) bool { return s.ID != id })
	if len(all) == 0 {
		all = make([]neutron.Subnet, 1)
	}
	return answer(&all[0], n.rig.requests.send("subnet", id))
}

// RouterInterfaces returns those of r1 for the subnets of VIPs.
func (n rigNeutron) RouterInterfaces(_ context.Context, _, subnetID string) ([]neutron.Port, error) {
	gateways := []neutron.FixedIP{{SubnetID: "vips", IPAddress: "10.77.0.1"}, {SubnetID: "old-vips", IPAddress: "10.78.0.1"}}
	gateways = slices.DeleteFunc(gateways, func(ip neutron.FixedIP) bool { return ip.SubnetID != subnetID })
	return answer([]neutron.Port{{ID: "interface", DeviceID: "r1", FixedIPs: gateways}}, n.rig.requests.send("interfaces", subnetID))
}

func (n rigNeutron) RouterPorts(_ context.Context, id string) ([]neutron.RoutedPort, error) {
	return answer([]neutron.RoutedPort{{ID: "interface", FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: "10.6.0.1"}}}}, n.rig.requests.send("router-ports", id))
}

// serverAt returns the server of a node.
func serverAt(address string) string {
	return "00000000-0000-4000-8000-0000000000" + address[len(address)-2:]
}

// nodePort returns the port of a node.
func nodePort(address string) neutron.Port {
	return neutron.Port{ID: "port-" + address, NetworkID: "node-net", DeviceID: serverAt(address), FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: address}}}
}

func (n rigNeutron) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return answer(n.rig.ports, n.rig.requests.send("ports-at", strings.Join(addresses, " ")))
}

func (n rigNeutron) PortsOfDevices(_ context.Context, servers []string) ([]neutron.Port, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.ports), func(port neutron.Port) bool { return !slices.Contains(servers, port.DeviceID) }), n.rig.requests.send("ports-of", strings.Join(servers, " ")))
}

func (n rigNeutron) PortsWithAddresses(_ context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	var all []neutron.RoutedPort
	for _, port := range n.rig.ports {
		pairs := []neutron.AddressPair{{IPAddress: "10.77.0.0/24", MACAddress: "mac"}, {IPAddress: "10.78.0.0/24", MACAddress: "mac"}}
		if n.rig.barred {
			pairs = nil
		}
		all = append(all, neutron.RoutedPort{ID: port.ID, MACAddress: "mac", FixedIPs: port.FixedIPs, AddressPairs: &pairs})
	}
	return answer(all, n.rig.requests.send("routed", strings.Join(addresses, " ")))
}

func (n rigNeutron) VIPPorts(_ context.Context, tag string) ([]neutron.VIPPort, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.vips), func(port neutron.VIPPort) bool { return !slices.Contains(port.Tags, tag) }), n.rig.requests.send("vips", tag))
}

func (n rigNeutron) VIPPortsDescribed(_ context.Context, description string) ([]neutron.VIPPort, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.vips), func(port neutron.VIPPort) bool { return port.Description != description }), n.rig.requests.send("vips-described"))
}

func (n rigNeutron) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.floating), func(fip floatingips.FloatingIP) bool {
		return filter.PortID != "" && fip.PortID != filter.PortID || filter.Address != "" && fip.FloatingIP != filter.Address ||
			filter.Description != "" && fip.Description != filter.Description || len(filter.IDs) > 0 && !slices.Contains(filter.IDs, fip.ID) ||
			len(filter.PortIDs) > 0 && !slices.Contains(filter.PortIDs, fip.PortID)
	}), n.rig.requests.send("fips", strings.TrimSpace(fmt.Sprint(filter))))
}

func (n rigNeutron) FloatingIPsOn(_ context.Context, portIDs []string) ([]floatingips.FloatingIP, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.floating), func(fip floatingips.FloatingIP) bool { return !slices.Contains(portIDs, fip.PortID) }), n.rig.requests.send("fips-on"))
}

func (n rigNeutron) ForwardedIPs(context.Context) ([]neutron.ForwardedIP, error) {
	return answer(slices.Clone(n.rig.forwarded), n.rig.requests.send("forwarded"))
}

func (n rigNeutron) HasForwardings(context.Context) (bool, error) {
	return answer(!n.rig.unforwards, n.rig.requests.send("has-forwardings"))
}

func (n rigNeutron) Forwardings(_ context.Context, id string) ([]neutron.Forwarding, error) {
	return answer(slices.Clone(n.rig.forwardings[id]), n.rig.requests.send("forwardings", id))
}

// Writes are those of plans, which no goal sends.
func (rigNeutron) CreateVIPPort(context.Context, neutron.VIPPort) (*neutron.VIPPort, error) {
	panic("a goal writes")
}
func (rigNeutron) TagPort(context.Context, string, []string) error { panic("a goal writes") }
func (rigNeutron) DeletePort(context.Context, string) error        { panic("a goal writes") }
func (rigNeutron) CreateForwarding(context.Context, string, neutron.Forwarding) (string, error) {
	panic("a goal writes")
}
func (rigNeutron) RetargetForwarding(context.Context, string, neutron.Forwarding) error {
	panic("a goal writes")
}
func (rigNeutron) DeleteForwarding(context.Context, string, string) error { panic("a goal writes") }

// rigTable is the router r1.
type rigTable struct {
	routes.Network
	rig *rig
}

func (n rigTable) Router(_ context.Context, id string) (*neutron.Router, error) {
	return answer(&neutron.Router{ID: id, Routes: slices.Clone(n.rig.routes)}, n.rig.requests.send("router", id))
}

// rigLookup is an Octavia that no lookup reads.
type rigLookup struct{ lookup.Octavia }

type rigOctavia struct {
	project.Octavia
	rig *rig
}

func (o rigOctavia) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return answer(slices.DeleteFunc(slices.Clone(o.rig.balancers), func(lb octavia.LoadBalancer) bool {
		tagged := func(tag string) bool { return slices.Contains(lb.Tags, tag) }
		return filter.ID != "" && lb.ID != filter.ID || filter.VIPPortID != "" && lb.VIPPortID != filter.VIPPortID || filter.VIPAddress != "" && lb.VIPAddress != filter.VIPAddress ||
			filter.Description != "" && lb.Description != filter.Description || slices.ContainsFunc(filter.Tags, func(tag string) bool { return !tagged(tag) }) ||
			len(filter.AnyTag) > 0 && !slices.ContainsFunc(filter.AnyTag, tagged)
	}), o.rig.requests.send("lbs", strings.TrimSpace(fmt.Sprint(filter.ID, filter.VIPPortID, filter.VIPAddress, filter.Tags, filter.AnyTag))))
}

func (o rigOctavia) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	err := o.rig.requests.send("lb", id)
	for _, lb := range o.rig.balancers {
		if lb.ID == id {
			return &lb, err
		}
	}
	if err == nil {
		err = byOctavia(404, "load balancer "+id+" not found")
	}
	return nil, err
}

func (o rigOctavia) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	on := func(l octavia.Listener) bool {
		return slices.ContainsFunc(l.LoadBalancers, func(of octavia.ObjectID) bool { return of.ID == id })
	}
	return answer(slices.DeleteFunc(slices.Clone(o.rig.listeners), func(l octavia.Listener) bool { return !on(l) }), o.rig.requests.send("listeners", id))
}

func (o rigOctavia) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return answer(slices.DeleteFunc(slices.Clone(o.rig.listeners), func(l octavia.Listener) bool { return !slices.Contains(l.Tags, tags[0]) }), o.rig.requests.send("listeners-tagged"))
}

func (o rigOctavia) AllListeners(context.Context) ([]octavia.Listener, error) {
	return answer(o.rig.listeners, o.rig.requests.send("all-listeners"))
}

func (o rigOctavia) AllMonitors(context.Context) ([]octavia.HealthMonitor, error) {
	return answer[[]octavia.HealthMonitor](nil, o.rig.requests.send("all-monitors"))
}

func (o rigOctavia) Pools(_ context.Context, id string) ([]octavia.Pool, error) {
	return answer[[]octavia.Pool](nil, o.rig.requests.send("pools", id))
}

func (o rigOctavia) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	return answer(&o.rig.tree, o.rig.requests.send("tree", id))
}

func (o rigOctavia) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	for _, lb := range o.rig.balancers {
		if lb.ID == id {
			return answer(octavia.LoadBalancerState{ID: id, ProvisioningStatus: lb.ProvisioningStatus, UpdatedAt: lb.UpdatedAt.Time}, o.rig.requests.send("state", id))
		}
	}
	return octavia.LoadBalancerState{}, byOctavia(404, "load balancer "+id+" not found")
}

func (o rigOctavia) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	panic("a list of states for one")
}

// rigApplier counts the plans that it applies.
type rigApplier struct{ rig *rig }

func (a rigApplier) Continue(context.Context, *apply.Run) (model.Observed, error) {
	a.rig.applied++
	return model.Observed{}, a.rig.requests.send("apply")
}

func (rigApplier) Settle(context.Context, *apply.Settling) (*model.LoadBalancer, error) {
	panic("no load balancer is PENDING")
}

// rigGroups are the security groups of nodes.
type rigGroups struct {
	NodeGroups
	rig *rig
}

func (g rigGroups) Plan(_ context.Context, request securitygroup.Request) (*securitygroup.Task, error) {
	g.rig.planned = append(g.rig.planned, request)
	return answer(g.rig.task, g.rig.requests.send("groups-plan"))
}

func (g rigGroups) Close(context.Context, *securitygroup.Task) error {
	return g.rig.requests.send("groups-close")
}

func (g rigGroups) Remove(context.Context, ownership.Identity) error {
	return g.rig.requests.send("groups-remove")
}

func (g rigGroups) Exists(context.Context, ownership.Identity) (bool, error) {
	return answer(g.rig.groupsLeft, g.rig.requests.send("groups-exist"))
}
