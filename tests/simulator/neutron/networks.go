package neutron

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// AddNetwork adds a network without subnets and returns it with its ID.
func (n *Neutron) AddNetwork(spec NetworkSpec) Network {
	n.lock()
	defer n.unlock()
	mtu := spec.MTU
	if mtu == 0 {
		mtu = 1442 // Geneve over 1500, OVN's default
		if spec.External {
			mtu = 1500
		}
	}
	record := &network{
		standard: n.newStandard(spec.ID, spec.ProjectID, "", spec.Tags),
		Name:     spec.Name, AdminStateUp: true, L2Adjacency: true, MTU: mtu,
		AvailabilityZoneHints: []string{}, AvailabilityZones: []string{}, Subnets: []string{},
		PortSecurityEnabled: true, External: spec.External, Shared: spec.Shared, Status: "ACTIVE",
	}
	if spec.External {
		record.IsDefault = new(bool)
	}
	n.networks.put(record.ID, record)
	return record.view()
}

// AddSubnet adds a subnet to a network. It errors when the network is unknown
// or an address or range of the spec does not parse.
func (n *Neutron) AddSubnet(spec SubnetSpec) (Subnet, error) {
	n.lock()
	defer n.unlock()
	parent, ok := n.networks.get(spec.NetworkID)
	if !ok {
		return Subnet{}, networkNotFound(spec.NetworkID)
	}
	prefix, err := netip.ParsePrefix(spec.CIDR)
	if err != nil {
		return Subnet{}, invalidInput("'%s' is not a valid IP subnet", spec.CIDR)
	}
	gateway := cmp.Or(spec.GatewayIP, prefix.Masked().Addr().Next().String())
	if spec.GatewayIP == "none" {
		gateway = ""
	}
	addresses, err := newAddressPool(spec.CIDR, gateway, spec.Pools)
	if err != nil {
		return Subnet{}, invalidInput("%v", err)
	}
	record := &subnet{
		standard: n.newStandard(spec.ID, cmp.Or(spec.ProjectID, parent.ProjectID), "", spec.Tags),
		Name:     spec.Name, NetworkID: spec.NetworkID, CIDR: prefix.Masked().String(), IPVersion: 4,
		GatewayIP: pointerTo(gateway), AllocationPools: addresses.ranges(), DNSNameservers: []string{},
		EnableDHCP: !parent.External, HostRoutes: []hostRoute{}, ServiceTypes: []string{}, addresses: addresses,
	}
	if prefix.Addr().Is6() {
		record.IPVersion = 6
		record.IPv6AddressMode, record.IPv6RAMode = pointerTo(spec.AddressMode), pointerTo(spec.AddressMode)
	}
	n.subnets.put(record.ID, record)
	parent.Subnets = append(parent.Subnets, record.ID)
	n.bump(&parent.standard)
	return record.view(), nil
}

// Network returns a network; the error is a *Error with status 404.
func (n *Neutron) Network(id string) (Network, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.networks.get(id)
	if !ok {
		return Network{}, networkNotFound(id)
	}
	return record.view(), nil
}

// Subnet returns a subnet; the error is a *Error with status 404.
func (n *Neutron) Subnet(id string) (Subnet, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.subnets.get(id)
	if !ok {
		return Subnet{}, subnetNotFound(id)
	}
	return record.view(), nil
}

// HasFree reports whether the allocation pools of a subnet have so many free addresses.
func (n *Neutron) HasFree(subnetID string, addresses int) bool {
	n.lock()
	defer n.unlock()
	record, ok := n.subnets.get(subnetID)
	return ok && record.addresses.hasFree(addresses)
}

// SetExhausted makes a subnet pretend that all its addresses are taken, or ends
// that. Addresses that a request chooses itself are given still. The error is
// a *Error with status 404.
func (n *Neutron) SetExhausted(subnetID string, exhausted bool) error {
	n.lock()
	defer n.unlock()
	record, ok := n.subnets.get(subnetID)
	if !ok {
		return subnetNotFound(subnetID)
	}
	record.addresses.exhausted = exhausted
	return nil
}

// Networks lists all networks in the order they were made.
func (n *Neutron) Networks() []Network {
	n.lock()
	defer n.unlock()
	return views(n.networks.all(), (*network).view)
}

// Subnets lists all subnets in the order they were made.
func (n *Neutron) Subnets() []Subnet {
	n.lock()
	defer n.unlock()
	return views(n.subnets.all(), (*subnet).view)
}

// AddRouter adds a router with its gateway and interfaces. The gateway takes
// one address of the external network, each interface the subnet's gateway
// address.
func (n *Neutron) AddRouter(spec RouterSpec) (Router, error) {
	n.lock()
	defer n.unlock()
	record := &router{
		standard: n.newStandard(spec.ID, spec.ProjectID, "", nil),
		Name:     spec.Name, AdminStateUp: true, Status: "ACTIVE",
		AvailabilityZoneHints: []string{}, AvailabilityZones: []string{}, Routes: []hostRoute{},
	}
	n.routers.put(record.ID, record)
	if err := n.connectRouter(record, spec); err != nil {
		n.removeRouter(record)
		return Router{}, err
	}
	return record.view(), nil
}

// AddRouterInterface connects a subnet to a router.
func (n *Neutron) AddRouterInterface(routerID, subnetID string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.routers.get(routerID)
	if !ok {
		return routerNotFound(routerID)
	}
	return n.addInterface(record, subnetID)
}

// SetGateway gives a router that has none a gateway on an external network.
func (n *Neutron) SetGateway(routerID, networkID string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.routers.get(routerID)
	if !ok {
		return routerNotFound(routerID)
	}
	if err := n.connectRouter(record, RouterSpec{ExternalNetworkID: networkID}); err != nil {
		return err
	}
	n.bump(&record.standard)
	return nil
}

// SetRoutes replaces the extra routes of a router.
func (n *Neutron) SetRoutes(routerID string, routes []Route) error {
	n.lock()
	defer n.unlock()
	record, ok := n.routers.get(routerID)
	if !ok {
		return routerNotFound(routerID)
	}
	wanted := make([]hostRoute, 0, len(routes))
	for _, r := range routes {
		wanted = append(wanted, hostRoute(r))
	}
	if err := n.setRoutes(record, wanted); err != nil {
		return err
	}
	n.bump(&record.standard)
	return nil
}

// SetSubnetGateway sets the address of the gateway of a subnet.
func (n *Neutron) SetSubnetGateway(subnetID, address string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.subnets.get(subnetID)
	if !ok {
		return subnetNotFound(subnetID)
	}
	record.GatewayIP = &address
	n.bump(&record.standard)
	return nil
}

// Routers lists all routers in the order they were made.
func (n *Neutron) Routers() []Router {
	n.lock()
	defer n.unlock()
	return views(n.routers.all(), (*router).view)
}

func (n *Neutron) connectRouter(record *router, spec RouterSpec) error {
	if spec.ExternalNetworkID != "" {
		gateway, err := n.createPort(PortSpec{
			NetworkID: spec.ExternalNetworkID, DeviceID: record.ID, DeviceOwner: "network:router_gateway",
		})
		if err != nil {
			return fmt.Errorf("router gateway: %w", err)
		}
		record.ExternalGatewayInfo = &gatewayInfo{
			NetworkID: spec.ExternalNetworkID, ExternalFixedIPs: slices.Clone(gateway.FixedIPs), EnableSNAT: true,
		}
	}
	for _, subnetID := range spec.SubnetIDs {
		if err := n.addInterface(record, subnetID); err != nil {
			return err
		}
	}
	return nil
}

func (n *Neutron) addInterface(record *router, subnetID string) error {
	inside, ok := n.subnets.get(subnetID)
	if !ok {
		return subnetNotFound(subnetID)
	}
	_, err := n.createPort(PortSpec{
		ProjectID: record.ProjectID, NetworkID: inside.NetworkID, DeviceID: record.ID,
		FixedIPs:    []FixedIP{{SubnetID: subnetID, Address: valueOf(inside.GatewayIP)}},
		DeviceOwner: "network:router_interface",
	})
	if err != nil {
		return fmt.Errorf("router interface: %w", err)
	}
	record.subnetIDs = append(record.subnetIDs, subnetID)
	n.bump(&record.standard)
	return nil
}

func (n *Neutron) removeRouter(record *router) {
	for _, candidate := range n.ports.all() {
		if candidate.DeviceID == record.ID {
			n.dropPort(candidate)
		}
	}
	n.routers.remove(record.ID)
}

func (r *network) view() Network {
	return Network{
		ID: r.ID, ProjectID: r.ProjectID, Name: r.Name, External: r.External, Shared: r.Shared,
		SubnetIDs: slices.Clone(r.Subnets),
	}
}

func (r *subnet) view() Subnet {
	return Subnet{
		ID: r.ID, ProjectID: r.ProjectID, NetworkID: r.NetworkID, Name: r.Name, CIDR: r.CIDR,
		GatewayIP: valueOf(r.GatewayIP), IPVersion: r.IPVersion, Pools: slices.Clone(r.AllocationPools),
	}
}

func (r *router) view() Router {
	view := Router{ID: r.ID, ProjectID: r.ProjectID, Name: r.Name, SubnetIDs: slices.Clone(r.subnetIDs)}
	if r.ExternalGatewayInfo != nil {
		view.ExternalNetworkID = r.ExternalGatewayInfo.NetworkID
	}
	for _, route := range r.Routes {
		view.Routes = append(view.Routes, Route(route))
	}
	return view
}

// views turns records into what the Go side sees.
func views[R, V any](records []R, view func(R) V) []V {
	result := make([]V, 0, len(records))
	for _, record := range records {
		result = append(result, view(record))
	}
	return result
}
