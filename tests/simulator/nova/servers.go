package nova

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// ServerSpec describes a server to add.
type ServerSpec struct {
	// ID; empty: made up.
	ID              string
	Name, ProjectID string
	// UserID of its creator.
	UserID string
	// NetworkID of the server's port; empty: the server has no port.
	NetworkID string
	// Address of the port; empty: one of each IP version is allocated.
	Address string
	// Flavor by name; empty: the first of the flavors.
	Flavor string
	// Zone is the availability zone; empty: "nova".
	Zone     string
	Metadata map[string]string
	Tags     []string
	// AccessIPv4 and AccessIPv6 as set by the owner.
	AccessIPv4, AccessIPv6 string
	// SecurityGroups of the port by ID; nil: the project's group "default".
	SecurityGroups []string
	// Cell of the server, for SetCellDown; empty: "cell1".
	Cell string
}

// Server is a server as the Go side sees it.
type Server struct {
	ID, Name, ProjectID string
	Status, Zone        string
	// Flavor by name.
	Flavor           string
	Metadata         map[string]string
	Created, Updated time.Time
	// PortIDs in the order they were attached.
	PortIDs []string
	// Addresses are the fixed addresses of the ports.
	Addresses []string
}

// server is a record. Its flavor is that at the creation of the server.
type server struct {
	spec             ServerSpec
	status           string
	flavor           Flavor
	created, updated time.Time
	deleted          time.Time // zero: there still
}

// AddServer adds a server with status ACTIVE and, on NetworkID, its port.
// The error is Neutron's refusal of the port (*neutron.Error).
func (n *Nova) AddServer(spec ServerSpec) (Server, error) {
	spec.ID = cmp.Or(spec.ID, uuid.NewString())
	spec.Zone, spec.Cell = cmp.Or(spec.Zone, "nova"), cmp.Or(spec.Cell, "cell1")
	spec.Metadata, spec.Tags = maps.Clone(spec.Metadata), slices.Clone(spec.Tags)
	if spec.NetworkID != "" {
		if _, err := n.createPort(spec); err != nil {
			return Server{}, err
		}
	}
	now := n.options.Clock.Now().UTC()
	n.mu.Lock()
	record := &server{spec: spec, status: "ACTIVE", flavor: n.flavorNamed(spec.Flavor), created: now, updated: now}
	n.servers = append(n.servers, record)
	n.byID[spec.ID] = record
	n.mu.Unlock()
	return n.Server(spec.ID)
}

// AttachInterface gives a server one more port on a network; an empty address
// is allocated.
func (n *Nova) AttachInterface(id, networkID, address string) (neutron.Port, error) {
	n.mu.Lock()
	record, ok := n.existing(id)
	if !ok {
		n.mu.Unlock()
		return neutron.Port{}, fmt.Errorf("attach interface: no server %s", id)
	}
	spec := record.spec
	n.mu.Unlock()
	spec.NetworkID, spec.Address = networkID, address
	return n.createPort(spec)
}

func (n *Nova) createPort(spec ServerSpec) (neutron.Port, error) {
	port, err := n.network.CreatePort(neutron.PortSpec{
		ProjectID: spec.ProjectID, NetworkID: spec.NetworkID, Address: spec.Address,
		DeviceID: spec.ID, DeviceOwner: "compute:" + spec.Zone, SecurityGroups: spec.SecurityGroups,
		DNSName: spec.Name,
	})
	if err != nil {
		return neutron.Port{}, fmt.Errorf("port of server %q: %w", spec.Name, err)
	}
	return port, nil
}

// Server returns a server with its present ports.
func (n *Nova) Server(id string) (Server, error) {
	ports := n.portsByServer()
	n.mu.Lock()
	defer n.mu.Unlock()
	record, ok := n.existing(id)
	if !ok {
		return Server{}, fmt.Errorf("no server %s", id)
	}
	return record.view(ports[id]), nil
}

// Servers returns the servers in the order of their creation, without deleted ones.
func (n *Nova) Servers() []Server {
	ports := n.portsByServer()
	n.mu.Lock()
	defer n.mu.Unlock()
	servers := []Server{}
	for _, record := range n.servers {
		if record.deleted.IsZero() {
			servers = append(servers, record.view(ports[record.spec.ID]))
		}
	}
	return servers
}

// SetStatus changes a server's status (ACTIVE, SHUTOFF, ERROR ...), and reports whether the server
// exists.
func (n *Nova) SetStatus(id, status string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	record, ok := n.existing(id)
	if !ok {
		return false
	}
	record.status, record.updated = status, n.options.Clock.Now().UTC()
	return true
}

// DeleteServer removes a server and its ports, and reports whether it existed. Lists with
// changes-since still contain it.
func (n *Nova) DeleteServer(id string) bool {
	n.mu.Lock()
	record, ok := n.existing(id)
	if ok {
		record.status, record.deleted = "DELETED", n.options.Clock.Now().UTC()
		record.updated = record.deleted
	}
	n.mu.Unlock()
	if !ok {
		return false
	}
	for _, port := range n.portsByServer()[id] {
		// The port may have been deleted meanwhile.
		_ = n.network.DeletePort(port.ID)
	}
	return true
}

// existing returns a server that is not deleted. The caller holds the lock.
func (n *Nova) existing(id string) (*server, bool) {
	record, ok := n.byID[id]
	if !ok || !record.deleted.IsZero() {
		return nil, false
	}
	return record, true
}

// portsByServer reads the ports of all servers from Neutron. It must not be called with Nova's lock
// held, so that no goroutine holds both locks.
func (n *Nova) portsByServer() map[string][]neutron.Port {
	ports := map[string][]neutron.Port{}
	for _, port := range n.network.Ports() {
		if port.DeviceID != "" {
			ports[port.DeviceID] = append(ports[port.DeviceID], port)
		}
	}
	return ports
}

func (s *server) view(ports []neutron.Port) Server {
	view := Server{
		ID: s.spec.ID, Name: s.spec.Name, ProjectID: s.spec.ProjectID, Status: s.status, Zone: s.spec.Zone,
		Flavor: s.flavor.Name, Metadata: maps.Clone(s.spec.Metadata), Created: s.created, Updated: s.updated,
	}
	for _, port := range ports {
		view.PortIDs = append(view.PortIDs, port.ID)
		for _, fixed := range port.FixedIPs {
			view.Addresses = append(view.Addresses, fixed.Address)
		}
	}
	return view
}
