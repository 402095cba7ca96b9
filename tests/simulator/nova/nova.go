// Package nova is the compute service of the simulated cloud. It has servers, with Neutron ports,
// and flavors. Nova's API reads them, Go methods change them.
package nova

import (
	"net/http"
	"sync"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// Options describe a Nova. The zero value works.
type Options struct {
	// Clock stamps created and updated; nil means the real clock.
	Clock clock.PassiveClock
	// Flavors; nil means DefaultFlavors. AddServer adds unknown ones.
	Flavors []Flavor
	// MaxPageSize is [api] max_limit; zero means 1000, the default.
	MaxPageSize int
	// MaxMicroversion is the minor number of the newest supported 2.x; zero means 93 (Zed).
	MaxMicroversion int
}

// Nova is a running compute service. All methods may be called at the same time.
type Nova struct {
	options Options
	network *neutron.Neutron
	handler http.Handler

	mu      sync.Mutex
	servers []*server // in the order they were made, deleted ones among them
	byID    map[string]*server
	flavors []Flavor
	down    map[string]bool
}

// New returns a Nova with servers that have ports of this Neutron.
func New(options Options, network *neutron.Neutron) *Nova {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Flavors == nil {
		options.Flavors = DefaultFlavors()
	}
	if options.MaxPageSize == 0 {
		options.MaxPageSize = 1000
	}
	if options.MaxMicroversion == 0 {
		options.MaxMicroversion = 93
	}
	n := &Nova{options: options, network: network, byID: map[string]*server{}, down: map[string]bool{}}
	for _, flavor := range options.Flavors {
		n.addFlavor(flavor)
	}
	n.handler = n.routes()
	return n
}

// ServeHTTP answers the compute API. The path must start below the mount point
// (/v2.1/servers), and the context carries the keystone.Caller.
func (n *Nova) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.handler.ServeHTTP(w, wire.Rooted(r))
}

// SetCellDown makes a cell unreachable or reachable again. Lists leave out the servers of a cell
// that is down, and a GET by ID fails, except from microversion 2.69 on, which returns the fields
// in the database of the API.
func (n *Nova) SetCellDown(cell string, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[cell] = down
}
