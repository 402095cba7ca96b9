package neutron

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// CreatePort creates a port and allocates its addresses. Errors are *Error:
// unknown network or subnet, no address left, address taken, quota.
func (n *Neutron) CreatePort(spec PortSpec) (Port, error) {
	n.lock()
	defer n.unlock()
	record, err := n.createPort(spec)
	if err != nil {
		return Port{}, err
	}
	return record.view(), nil
}

// UpdatePort changes a port. New fixed IPs replace the old ones.
func (n *Neutron) UpdatePort(id string, update PortUpdate) (Port, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.ports.get(id)
	if !ok {
		return Port{}, portNotFound(id)
	}
	if err := n.updatePort(record, update); err != nil {
		return Port{}, err
	}
	return record.view(), nil
}

// DeletePort deletes a port and disassociates its floating IPs.
func (n *Neutron) DeletePort(id string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.ports.get(id)
	if !ok {
		return portNotFound(id)
	}
	n.dropPort(record)
	return nil
}

// Port returns a port; the error is a *Error with status 404.
func (n *Neutron) Port(id string) (Port, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.ports.get(id)
	if !ok {
		return Port{}, portNotFound(id)
	}
	return record.view(), nil
}

// HasAddress reports whether a port has the address as one of its own.
func (n *Neutron) HasAddress(address string) bool {
	return slices.ContainsFunc(n.Ports(), func(p Port) bool {
		return slices.ContainsFunc(p.FixedIPs, func(ip FixedIP) bool { return ip.Address == address })
	})
}

// Ports lists all ports in the order they were made, those that hold the
// address of a floating IP or a router among them (their project is empty).
func (n *Neutron) Ports() []Port {
	n.lock()
	defer n.unlock()
	return views(n.ports.all(), (*port).view)
}

// createPort checks and stores a port. The caller holds the lock. Nothing is
// kept of a port that is refused.
func (n *Neutron) createPort(spec PortSpec) (*port, error) {
	fixed := spec.FixedIPs
	if fixed == nil && (spec.SubnetID != "" || spec.Address != "") {
		fixed = []FixedIP{{SubnetID: spec.SubnetID, Address: spec.Address}}
	}
	parent, err := n.networkForPort(spec.NetworkID, fixed)
	if err != nil {
		return nil, err
	}
	groups, err := n.groupsForPort(spec)
	if err == nil {
		err = checkAddressPairs(spec.AddressPairs, !spec.WithoutPortSecurity)
	}
	if err != nil {
		return nil, err
	}
	if err := n.checkQuota("port", spec.ProjectID, 1); err != nil {
		return nil, err
	}
	addresses, err := n.allocate(parent, fixed)
	if err != nil {
		return nil, err
	}
	record := &port{
		standard: n.newStandard("", spec.ProjectID, spec.Description, spec.Tags),
		Name:     spec.Name, NetworkID: parent.ID, AdminStateUp: !spec.AdminStateDown,
		VNICType: "normal",
		DeviceID: spec.DeviceID, DeviceOwner: spec.DeviceOwner, DNSName: spec.DNSName, ExtraDHCPOpts: []string{},
		FixedIPs: addresses, IPAllocation: "immediate", MACAddress: newMAC(),
		PortSecurityEnabled: !spec.WithoutPortSecurity && !strings.HasPrefix(spec.DeviceOwner, "network:"), SecurityGroups: groups, Status: spec.Status,
	}
	if record.Status == "" {
		record.Status = "DOWN"
		if spec.DeviceID != "" && !spec.AdminStateDown {
			record.Status = "ACTIVE"
		}
	}
	record.RevisionNumber = 1 // the addresses are a second write
	n.setPairs(record, spec.AddressPairs)
	record.DNSAssignment = n.dnsAssignments(record)
	n.ports.put(record.ID, record)
	n.changed = true
	return record, nil
}

func (n *Neutron) networkForPort(networkID string, fixed []FixedIP) (*network, error) {
	if networkID == "" && len(fixed) > 0 {
		inside, ok := n.subnets.get(fixed[0].SubnetID)
		if !ok {
			return nil, subnetNotFound(fixed[0].SubnetID)
		}
		networkID = inside.NetworkID
	}
	parent, ok := n.networks.get(networkID)
	if !ok {
		return nil, networkNotFound(networkID)
	}
	return parent, nil
}

// groupsForPort checks the groups asked for; without a choice a port gets the
// project's default group, unless it belongs to the network service itself.
func (n *Neutron) groupsForPort(spec PortSpec) ([]string, error) {
	if spec.WithoutPortSecurity && len(spec.SecurityGroups) > 0 {
		return nil, portSecurityRequired()
	}
	if spec.SecurityGroups == nil {
		if spec.WithoutPortSecurity || spec.ProjectID == "" || strings.HasPrefix(spec.DeviceOwner, "network:") {
			return []string{}, nil
		}
		return []string{n.defaultGroup(spec.ProjectID).ID}, nil
	}
	return n.knownGroups(spec.SecurityGroups)
}

func (n *Neutron) knownGroups(ids []string) ([]string, error) {
	for _, id := range ids {
		if _, ok := n.securityGroups.get(id); !ok {
			return nil, securityGroupNotFound(id)
		}
	}
	return append([]string{}, ids...), nil
}

func (n *Neutron) updatePort(record *port, update PortUpdate) error {
	groups := record.SecurityGroups
	if update.SecurityGroups != nil {
		known, err := n.knownGroups(*update.SecurityGroups)
		if err != nil {
			return err
		}
		groups = known
	}
	if err := record.checkPortSecurity(update, groups); err != nil {
		return err
	}
	pairs, secured := record.AllowedAddressPairs, record.PortSecurityEnabled
	set(&pairs, update.AddressPairs)
	set(&secured, update.PortSecurity)
	if err := checkAddressPairs(pairs, secured); err != nil {
		return err
	}
	if update.FixedIPs != nil {
		if err := n.moveFixedIPs(record, *update.FixedIPs); err != nil {
			return err
		}
	}
	record.SecurityGroups = groups
	set(&record.Name, update.Name)
	set(&record.Description, update.Description)
	set(&record.DeviceID, update.DeviceID)
	set(&record.DeviceOwner, update.DeviceOwner)
	set(&record.Status, update.Status)
	set(&record.AdminStateUp, update.AdminStateUp)
	set(&record.PortSecurityEnabled, update.PortSecurity)
	if update.AddressPairs != nil {
		n.setPairs(record, *update.AddressPairs)
	}
	record.DNSAssignment = n.dnsAssignments(record)
	n.bump(&record.standard)
	return nil
}

// checkPortSecurity refuses groups on a port without port security: new ones, and
// those that it keeps when port security is switched off.
func (r *port) checkPortSecurity(update PortUpdate, groups []string) error {
	secured := r.PortSecurityEnabled
	set(&secured, update.PortSecurity)
	switch {
	case secured || len(groups) == 0:
		return nil
	case update.SecurityGroups != nil:
		return portSecurityRequired()
	}
	return conflict("PortSecurityPortHasSecurityGroup",
		"Port has security group associated. Cannot disable port security or IP address until security group is removed.")
}

func portSecurityRequired() *Error {
	return badRequest("PortSecurityAndIPRequiredForSecurityGroups",
		"Port security must be enabled and port must have an IP address in order to use security groups.")
}

// moveFixedIPs replaces a port's addresses; those it keeps stay allocated.
func (n *Neutron) moveFixedIPs(record *port, wanted []FixedIP) error {
	parent, ok := n.networks.get(record.NetworkID)
	if !ok {
		return networkNotFound(record.NetworkID)
	}
	var kept, fresh []FixedIP
	for _, fixed := range wanted {
		if slices.Contains(record.FixedIPs, fixed) {
			kept = append(kept, fixed)
		} else {
			fresh = append(fresh, fixed)
		}
	}
	added := []FixedIP{}
	if len(fresh) > 0 {
		var err error
		if added, err = n.allocate(parent, fresh); err != nil {
			return err
		}
	}
	for _, fixed := range record.FixedIPs {
		if !slices.Contains(kept, fixed) {
			n.releaseAddress(fixed)
		}
	}
	record.FixedIPs = append(kept, added...)
	n.dropForwardingsTo(record)
	return nil
}

// dropPort deletes a port: its addresses are free again and floating IPs that
// led to it stay behind without a port.
func (n *Neutron) dropPort(record *port) {
	for _, fip := range n.floatingIPs.all() {
		if valueOf(fip.PortID) == record.ID {
			fip.disassociate()
			n.bump(&fip.standard)
		}
	}
	for _, fixed := range record.FixedIPs {
		n.releaseAddress(fixed)
	}
	record.FixedIPs = nil
	n.dropForwardingsTo(record)
	n.ports.remove(record.ID)
	n.changed = true
}

// allocate takes addresses on a network: those asked for, or with nil one of
// each IP version that the network has. All or nothing.
func (n *Neutron) allocate(parent *network, wanted []FixedIP) ([]FixedIP, error) {
	taken := []FixedIP{}
	fail := func(err error) ([]FixedIP, error) {
		for _, fixed := range taken {
			n.releaseAddress(fixed)
		}
		return nil, err
	}
	if wanted == nil {
		for _, version := range []int{4, 6} {
			subnets := n.subnetsOf(parent, version)
			if len(subnets) == 0 {
				continue
			}
			fixed, err := allocateFromAny(parent.ID, subnets)
			if err != nil {
				return fail(err)
			}
			taken = append(taken, fixed)
		}
		return taken, nil
	}
	for _, want := range wanted {
		fixed, err := n.allocateOne(parent, want)
		if err != nil {
			return fail(err)
		}
		taken = append(taken, fixed)
	}
	return taken, nil
}

// subnetsOf lists a network's subnets of one IP version; 0 means both.
func (n *Neutron) subnetsOf(parent *network, version int) []*subnet {
	var subnets []*subnet
	for _, id := range parent.Subnets {
		if candidate, ok := n.subnets.get(id); ok && (version == 0 || candidate.IPVersion == version) {
			subnets = append(subnets, candidate)
		}
	}
	return subnets
}

func allocateFromAny(networkID string, subnets []*subnet) (FixedIP, error) {
	for _, candidate := range subnets {
		if address, ok := candidate.addresses.allocate(); ok {
			return FixedIP{SubnetID: candidate.ID, Address: address.String()}, nil
		}
	}
	return FixedIP{}, noMoreAddresses(networkID)
}

func (n *Neutron) allocateOne(parent *network, want FixedIP) (FixedIP, error) {
	subnets := n.subnetsOf(parent, 0)
	if want.SubnetID != "" {
		chosen, ok := n.subnets.get(want.SubnetID)
		if !ok {
			return FixedIP{}, subnetNotFound(want.SubnetID)
		}
		if chosen.NetworkID != parent.ID {
			return FixedIP{}, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s", parent.ID, want.SubnetID)
		}
		subnets = []*subnet{chosen}
	}
	if want.Address == "" {
		return allocateFromAny(parent.ID, subnets)
	}
	address, err := netip.ParseAddr(want.Address)
	if err != nil {
		return FixedIP{}, invalidInput("'%s' is not a valid IP address", want.Address)
	}
	for _, candidate := range subnets {
		if !candidate.addresses.prefix.Contains(address) {
			continue
		}
		if !candidate.addresses.take(address) {
			return FixedIP{}, addressTaken(want.Address, candidate.ID)
		}
		return FixedIP{SubnetID: candidate.ID, Address: address.String()}, nil
	}
	if want.SubnetID != "" {
		return FixedIP{}, badRequest("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want.Address)
	}
	return FixedIP{}, badRequest("InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", want.Address)
}

func (n *Neutron) releaseAddress(fixed FixedIP) {
	if holder, ok := n.subnets.get(fixed.SubnetID); ok {
		holder.addresses.release(fixed.Address)
	}
}

func (n *Neutron) setPairs(record *port, pairs []AddressPair) {
	if !n.has("allowed-address-pairs") {
		return
	}
	record.AllowedAddressPairs = []AddressPair{}
	for _, pair := range pairs {
		pair.MACAddress = cmp.Or(pair.MACAddress, record.MACAddress)
		record.AllowedAddressPairs = append(record.AllowedAddressPairs, pair)
	}
}

// maxPairs is Neutron's max_allowed_address_pair.
const maxPairs = 10

// checkAddressPairs refuses too many pairs, the same twice, and any on a port
// without port security.
func checkAddressPairs(pairs []AddressPair, secured bool) error {
	if len(pairs) > 0 && !secured {
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	if len(pairs) > maxPairs {
		return badRequest("AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum %d.", maxPairs)
	}
	for i, pair := range pairs {
		if slices.Contains(pairs[:i], pair) {
			return badRequest("DuplicateAddressPairInRequest", "Request contains duplicate address pair: mac_address %s ip_address %s.", pair.MACAddress, pair.Address)
		}
	}
	return nil
}

// dnsAssignments names each address of a port as Neutron's DNS extension does.
func (n *Neutron) dnsAssignments(record *port) []dnsAssignment {
	assignments := make([]dnsAssignment, 0, len(record.FixedIPs))
	for _, fixed := range record.FixedIPs {
		host := record.DNSName
		if host == "" {
			host = "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(fixed.Address)
		}
		assignments = append(assignments, dnsAssignment{
			FQDN: host + "." + n.options.DNSDomain, Hostname: host, IPAddress: fixed.Address,
		})
	}
	return assignments
}

func (r *port) view() Port {
	return Port{
		ID: r.ID, ProjectID: r.ProjectID, NetworkID: r.NetworkID, Name: r.Name, Description: r.Description,
		DeviceID: r.DeviceID, DeviceOwner: r.DeviceOwner, MACAddress: r.MACAddress, Status: r.Status,
		AdminStateUp: r.AdminStateUp, FixedIPs: slices.Clone(r.FixedIPs),
		SecurityGroups: slices.Clone(r.SecurityGroups), AddressPairs: slices.Clone(r.AllowedAddressPairs),
		PortSecurity: r.PortSecurityEnabled, Tags: slices.Clone(r.Tags),
	}
}

// newMAC is a random address with the prefix that Neutron gives to ports.
func newMAC() string {
	var tail [3]byte
	_, _ = rand.Read(tail[:]) // never fails
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", tail[0], tail[1], tail[2])
}

// set stores a value that an update names.
func set[T any](target *T, value *T) {
	if value != nil {
		*target = *value
	}
}
