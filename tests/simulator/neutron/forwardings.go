package neutron

import (
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Forwarding is a port forwarding of a floating IP as the Go side sees it.
type Forwarding struct {
	ID, Protocol, Description  string
	ExternalPort, InternalPort int
	// PortID and Address are those of the port that gets the packets.
	PortID, Address string
}

// AddForwarding adds a port forwarding to a floating IP.
func (n *Neutron) AddForwarding(floatingIPID string, wanted Forwarding) (Forwarding, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(floatingIPID)
	if !ok {
		return Forwarding{}, floatingIPNotFound(floatingIPID)
	}
	made, err := n.addForwarding(record, portForwarding{
		Protocol: wanted.Protocol, Description: wanted.Description, ExternalPort: wanted.ExternalPort,
		InternalPort: wanted.InternalPort, InternalPortID: wanted.PortID, InternalIPAddress: wanted.Address,
	})
	if err != nil {
		return Forwarding{}, err
	}
	return made.view(), nil
}

// RemoveForwarding removes a port forwarding from a floating IP.
func (n *Neutron) RemoveForwarding(floatingIPID, id string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(floatingIPID)
	if !ok {
		return floatingIPNotFound(floatingIPID)
	}
	if !slices.ContainsFunc(record.forwardings, func(f *portForwarding) bool { return f.ID == id }) {
		return forwardingNotFound(id)
	}
	n.dropForwardings(record, func(f *portForwarding) bool { return f.ID == id })
	return nil
}

// Forwardings lists the port forwardings of a floating IP in the order they were made.
func (n *Neutron) Forwardings(floatingIPID string) []Forwarding {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(floatingIPID)
	if !ok {
		return nil
	}
	return views(record.forwardings, (*portForwarding).view)
}

// addForwarding checks and stores a port forwarding. The floating IP then belongs to the router of the port.
func (n *Neutron) addForwarding(record *floatingIP, made portForwarding) (*portForwarding, error) {
	made.ID = uuid.NewString()
	if err := n.checkCollisions(record, &made); err != nil {
		return nil, err
	}
	if err := n.checkUnbound(&made); err != nil {
		return nil, err
	}
	if record.PortID != nil {
		return nil, conflict("FloatingIPPortAlreadyAssociated",
			"Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating IP on external network %s.",
			record.FloatingIPAddress, record.ID, made.InternalPortID, made.InternalIPAddress, record.FloatingNetworkID)
	}
	through, err := n.routerOfForwarding(record, &made)
	if err != nil {
		return nil, err
	}
	made.describe()
	record.forwardings = append(record.forwardings, &made)
	record.RouterID, record.Status = &through.ID, "ACTIVE"
	n.changed = true
	return &made, nil
}

// changeForwarding checks and stores the new values of a port forwarding.
func (n *Neutron) changeForwarding(record *floatingIP, at *portForwarding, changed portForwarding) error {
	if changed.InternalPortID != at.InternalPortID {
		if err := n.checkUnbound(&changed); err != nil {
			return err
		}
		if _, err := n.routerOfForwarding(record, &changed); err != nil {
			return err
		}
	}
	inside, ok := n.ports.get(changed.InternalPortID)
	if !ok {
		return portNotFound(changed.InternalPortID)
	}
	if !inside.has(changed.InternalIPAddress) {
		return badForwarding("The internal IP does not correspond to an address on the internal port, which has fixed_ips %v", inside.FixedIPs)
	}
	if err := n.checkCollisions(record, &changed); err != nil {
		return err
	}
	changed.describe()
	*at = changed
	n.changed = true
	return nil
}

// checkCollisions refuses a second forwarding of an external port of the floating IP, or to the same port and
// address inside.
func (n *Neutron) checkCollisions(record *floatingIP, made *portForwarding) error {
	for _, fip := range n.floatingIPs.all() {
		for _, other := range fip.forwardings {
			if other.ID == made.ID || other.Protocol != made.Protocol {
				continue
			}
			if other.InternalPortID == made.InternalPortID && other.InternalIPAddress == made.InternalIPAddress && other.InternalPort == made.InternalPort {
				return collides("internal_port_range", made.InternalPort)
			}
			if fip.ID == record.ID && other.ExternalPort == made.ExternalPort {
				return collides("external_port_range", made.ExternalPort)
			}
		}
	}
	return nil
}

func collides(what string, number int) *Error {
	return badForwarding("There is a port collision with the %s. The following ranges collides: %s and %s", what, portRange(number), portRange(number))
}

// checkUnbound refuses a port that has a floating IP of its own.
func (n *Neutron) checkUnbound(made *portForwarding) error {
	for _, fip := range n.floatingIPs.all() {
		if valueOf(fip.PortID) == made.InternalPortID {
			return conflict("PortHasBindingFloatingIP",
				"Cannot create port forwarding to floating IP %s (%s) with port %s using fixed IP %s, as that port already has a binding floating IP.",
				fip.FloatingIPAddress, fip.ID, made.InternalPortID, made.InternalIPAddress)
		}
	}
	return nil
}

// routerOfForwarding returns the router between a port and the network of a floating IP. All forwardings of a
// floating IP have the same.
func (n *Neutron) routerOfForwarding(record *floatingIP, made *portForwarding) (*router, error) {
	inside, ok := n.ports.get(made.InternalPortID)
	if !ok {
		return nil, portNotFound(made.InternalPortID)
	}
	at := slices.IndexFunc(inside.FixedIPs, func(fixed FixedIP) bool { return isIPv4(fixed.Address) && fixed.Address == made.InternalIPAddress })
	if at < 0 {
		return nil, badForwarding("Requested internal IP address %s is not suitable for internal neutron port %s, as its fixed_ips are %v",
			made.InternalIPAddress, inside.ID, inside.FixedIPs)
	}
	subnetID := inside.FixedIPs[at].SubnetID
	through, ok := n.routerBetween(subnetID, record.FloatingNetworkID)
	if !ok {
		return nil, badForwarding("External network %s is not reachable from subnet %s. Cannot set Port forwarding for port %s with Floating IP %s",
			record.FloatingNetworkID, subnetID, inside.ID, record.ID)
	}
	if has := valueOf(record.RouterID); has != "" && has != through.ID {
		return nil, badForwarding("The Floating IP %s had been set on router %s, the internal Neutron port %s can not reach it", record.ID, has, inside.ID)
	}
	return through, nil
}

// dropForwardings removes forwardings of a floating IP. Without any, it belongs to no router.
func (n *Neutron) dropForwardings(record *floatingIP, drop func(*portForwarding) bool) {
	before := len(record.forwardings)
	record.forwardings = slices.DeleteFunc(record.forwardings, drop)
	if before > 0 && len(record.forwardings) == 0 {
		record.RouterID, record.Status = nil, "DOWN"
	}
	n.changed = n.changed || before != len(record.forwardings)
}

// dropForwardingsTo removes the forwardings to a port that goes, or to an address that it loses.
func (n *Neutron) dropForwardingsTo(record *port) {
	for _, fip := range n.floatingIPs.all() {
		n.dropForwardings(fip, func(f *portForwarding) bool { return f.InternalPortID == record.ID && !record.has(f.InternalIPAddress) })
	}
}

// exposeForwardings fills port_forwardings (extension expose-port-forwarding-in-fip).
func (n *Neutron) exposeForwardings(record *floatingIP) {
	record.PortForwardings = []exposedForwarding{}
	for _, f := range record.forwardings {
		record.PortForwardings = append(record.PortForwardings, exposedForwarding{
			ID: f.ID, Protocol: f.Protocol, ExternalPort: f.ExternalPort, InternalPort: f.InternalPort,
			InternalPortID: f.InternalPortID, InternalIPAddress: f.InternalIPAddress,
		})
	}
}

// describe fills the attributes that follow from others.
func (f *portForwarding) describe() {
	f.InternalPortRange, f.ExternalPortRange = portRange(f.InternalPort), portRange(f.ExternalPort)
}

func portRange(number int) string { return strconv.Itoa(number) + ":" + strconv.Itoa(number) }

func (f *portForwarding) identity() string { return f.ID }

func (f *portForwarding) view() Forwarding {
	return Forwarding{
		ID: f.ID, Protocol: f.Protocol, Description: f.Description, ExternalPort: f.ExternalPort,
		InternalPort: f.InternalPort, PortID: f.InternalPortID, Address: f.InternalIPAddress,
	}
}

func badForwarding(format string, args ...any) *Error {
	return badRequest("BadRequest", "Bad port_forwarding request: "+format+".", args...)
}

func forwardingNotFound(id string) *Error {
	return notFound("PortForwardingNotFound", "Port Forwarding %s could not be found.", id)
}

func inUseByForwardings(id string) *Error {
	return conflict("FipInUseByPortForwarding", "Floating IP %s in use by Port Forwarding resources.", id)
}
