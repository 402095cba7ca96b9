// Package nova is the compute service of the simulated cloud: servers with
// real Neutron ports and their flavors, read over the wire API of Nova and
// changed over Go methods.
package nova

import (
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/neutron"
)

// Options describe a Nova.
type Options struct {
	// Clock stamps created and updated; nil means the real clock.
	Clock clock.PassiveClock
	// Flavors; nil means DefaultFlavors. AddServer adds those it does not know.
	Flavors []Flavor
	// MaxPageSize is [api] max_limit; zero means 1000, the default.
	MaxPageSize int
}

// Flavor is a size of server.
type Flavor struct {
	ID, Name         string
	VCPUs, RAM, Disk int
}

// ServerSpec says what server to add.
type ServerSpec struct {
	// ID; empty: made up.
	ID              string
	Name, ProjectID string
	// NetworkID that the server's port is on; empty: the server has no port.
	NetworkID string
	// Address of the port; empty: one of each IP version is allocated.
	Address string
	// Flavor by name; empty: the first of the flavors.
	Flavor string
	// Zone is the availability zone; empty: "nova".
	Zone     string
	Metadata map[string]string
	// AccessIPv4 and AccessIPv6 as set by the owner.
	AccessIPv4, AccessIPv6 string
	// SecurityGroups of the port by ID; nil: the project's group "default".
	SecurityGroups []string
	// Cell that the server is in, for SetCellDown; empty: "cell1".
	Cell string
}

// Server is a server as the Go side sees it.
type Server struct {
	ID, Name, ProjectID string
	Status, Zone        string
	// Flavor by name.
	Flavor   string
	PortIDs  []string
	Metadata map[string]string
	Created  time.Time
	Updated  time.Time
}

// Nova is a running compute service. All methods may be called at the same time.
type Nova struct {
	options Options
	network *neutron.Neutron

	mu      sync.Mutex
	servers map[string]*server
	order   []string
	flavors []Flavor
	down    map[string]bool
}

type server struct {
	Server
	ServerSpec
}

// New makes a Nova whose servers have ports of this Neutron.
func New(options Options, network *neutron.Neutron) *Nova {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Nova{options: options, network: network, servers: map[string]*server{}, down: map[string]bool{}}
}

// ServeHTTP answers the compute API. The path must start below the mount point
// (/v2.1/servers), and the context carries the keystone.Caller.
func (n *Nova) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}

// AddServer adds a server with status ACTIVE and its port. Errors are those of
// Neutron when it refuses the port (*neutron.Error).
func (n *Nova) AddServer(spec ServerSpec) (Server, error) {
	if spec.ID == "" {
		spec.ID = uuid.NewString()
	}
	created := Server{ID: spec.ID, Name: spec.Name, ProjectID: spec.ProjectID, Status: "ACTIVE", Zone: spec.Zone, Flavor: spec.Flavor}
	if spec.NetworkID != "" {
		port, err := n.network.CreatePort(neutron.PortSpec{ProjectID: spec.ProjectID, NetworkID: spec.NetworkID, Address: spec.Address, DeviceID: spec.ID, DeviceOwner: "compute:" + spec.Zone, SecurityGroups: spec.SecurityGroups})
		if err != nil {
			return Server{}, err
		}
		created.PortIDs = []string{port.ID}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[spec.ID] = &server{Server: created, ServerSpec: spec}
	n.order = append(n.order, spec.ID)
	return created, nil
}

// SetStatus changes a server's status (ACTIVE, SHUTOFF, ERROR ...); it says
// whether there is such a server.
func (n *Nova) SetStatus(id, status string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.servers[id]
	if ok {
		s.Server.Status = status
	}
	return ok
}

// DeleteServer removes a server and its ports; it says whether there was one.
func (n *Nova) DeleteServer(id string) bool {
	n.mu.Lock()
	s, ok := n.servers[id]
	delete(n.servers, id)
	n.mu.Unlock()
	if !ok {
		return false
	}
	for _, port := range s.PortIDs {
		_ = n.network.DeletePort(port)
	}
	return true
}

// Servers lists the servers in the order they were made, without deleted ones.
func (n *Nova) Servers() []Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	var servers []Server
	for _, id := range n.order {
		if s, ok := n.servers[id]; ok {
			servers = append(servers, s.Server)
		}
	}
	return servers
}
