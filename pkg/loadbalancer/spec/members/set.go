package members

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Set holds the nodes that become members of a Service. It is immutable: Services with equal
// selections share one.
type Set struct {
	// Backends are ordered by name.
	Backends []Backend
	// Hosts are the same for pools of load balancers.
	Hosts *model.Hosts
	// Without are the names of nodes that have no address of the Service's family.
	Without []string
	// Standing is the reason if there are none, or only nodes that are about to be deleted.
	Standing Standing
	// leaving are the nodes that are no members because they are about to be deleted.
	leaving []Backend
}

func newSet(backends []Backend, without []string, standing Standing) *Set {
	return &Set{Backends: backends, Hosts: hosts(backends), Without: without, Standing: standing}
}

// Serving returns the nodes that can be members, and those that are about to be deleted and are
// members of a port because no other node has its endpoints, sorted by name.
func (s *Set) Serving(ports Ports) []Backend {
	last := slices.DeleteFunc(slices.Clone(s.leaving), func(b Backend) bool { return !ports.on(b) })
	if len(last) == 0 {
		return s.Backends
	}
	all := slices.Concat(s.Backends, last)
	slices.SortFunc(all, func(a, b Backend) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return all
}

// hosts returns backends as hosts of pools.
func hosts(backends []Backend) *model.Hosts {
	list := make([]model.Host, 0, len(backends))
	for _, b := range backends {
		list = append(list, model.Host{Name: b.Node.Name, Address: b.Address})
	}
	return model.HostsOf(list...)
}

// Selector selects the nodes that become members. It caches the selections for consecutive Services
// with the same nodes. It is safe for concurrent use.
type Selector struct {
	mu    sync.Mutex
	nodes []*v1.Node
	known map[selection]selected
}

// selection holds the settings that select nodes, except for their number.
type selection struct {
	family v1.IPFamily
	within netip.Prefix
	labels string
}

type selected struct {
	set *Set
	err error
}

// maxSelections limits the cache, because users write selectors.
const maxSelections = 64

// Select returns the nodes that become members or, if the members may follow endpoints, all that can
// be: see Follow. nodes must not be modified afterwards. There is an error if no node remains, unless a
// user or operator requests that: see Standing.
func (c *Selector) Select(s *settings.Settings, nodes []*v1.Node) (*Set, error) {
	all, err := c.all(s, nodes)
	if err != nil || s.MayFollowEndpoints() || s.Members.Max <= 0 || len(all.Backends) <= s.Members.Max {
		return all, err
	}
	return newSet(subset(all.Backends, s.Members.Max, s.Members.Seed), all.Without, all.Standing), nil
}

func (c *Selector) all(s *settings.Settings, nodes []*v1.Node) (*Set, error) {
	of := selection{s.Family, s.Members.Within[s.Family], s.Members.NodeSelector.String()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || !slices.Equal(c.nodes, nodes) || len(c.known) >= maxSelections {
		c.nodes, c.known = slices.Clone(nodes), map[selection]selected{}
	}
	found, ok := c.known[of]
	if !ok {
		found.set, found.err = selectAll(s, nodes)
		c.known[of] = found
	}
	return found.set, found.err
}
