package members

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// Set is the nodes that become members of a Service. It never changes: Services that select
// alike share one.
type Set struct {
	// Backends are ordered by name, ByAddress are the same ordered by address.
	Backends, ByAddress []Backend
	// Without are the names of nodes that have no address of the Service's family.
	Without []string
	// Standing is why there are none, or only nodes that are about to go.
	Standing Standing

	mu sync.Mutex
	// inOne are digests by the subnet of all members; ofNodes is that of the subnets in a map.
	inOne   map[string]string
	ofNodes struct {
		subnets map[string]string
		digest  string
	}
}

func newSet(backends []Backend, without []string) *Set {
	s := &Set{Backends: backends, Without: without, ByAddress: slices.Clone(backends), inOne: map[string]string{}}
	slices.SortFunc(s.ByAddress, func(a, b Backend) int { return strings.Compare(a.Address, b.Address) })
	return s
}

// Digest condenses which members a pool has and the subnet of each: all in one or, where that
// is empty, those of a map by address, which must not change any more. What else members
// have they have in common.
func (s *Set) Digest(all string, each map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all == "" {
		if s.ofNodes.digest == "" || !same(s.ofNodes.subnets, each) {
			s.ofNodes.subnets, s.ofNodes.digest = each, s.condense(func(address string) string { return each[address] })
		}
		return s.ofNodes.digest
	}
	if s.inOne[all] == "" {
		s.inOne[all] = s.condense(func(string) string { return all })
	}
	return s.inOne[all]
}

func (s *Set) condense(subnet func(address string) string) string {
	var text []byte
	for _, b := range s.ByAddress {
		for _, word := range []string{b.Node.Name, b.Address, subnet(b.Address)} {
			text = append(append(text, word...), 0)
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// same reports whether two maps are one.
func same(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// Selector is Select for many Services that come one after the other with the same nodes: it
// remembers what it has selected of those. It may be used by many goroutines.
type Selector struct {
	mu    sync.Mutex
	nodes []*v1.Node
	known map[selection]selected
}

// selection is what decides which of the nodes are selected, but for how many.
type selection struct {
	family v1.IPFamily
	labels string
}

type selected struct {
	set *Set
	err error
}

// maxSelections bounds what is remembered: users write selectors.
const maxSelections = 64

// Select returns the nodes that become members. Nodes must not change any more. The error
// is that of the function Select.
func (c *Selector) Select(s *settings.Settings, nodes []*v1.Node) (*Set, error) {
	all, err := c.all(s, nodes)
	if err != nil || s.Members.Max <= 0 || len(all.Backends) <= s.Members.Max {
		return all, err
	}
	some := newSet(subset(all.Backends, s.Members.Max, s.Members.Seed), all.Without)
	some.Standing = all.Standing
	return some, nil
}

func (c *Selector) all(s *settings.Settings, nodes []*v1.Node) (*Set, error) {
	of := selection{s.Family, s.Members.NodeSelector.String()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || !slices.Equal(c.nodes, nodes) || len(c.known) >= maxSelections {
		c.nodes, c.known = slices.Clone(nodes), map[selection]selected{}
	}
	found, ok := c.known[of]
	if !ok {
		backends, without, err := selectAll(s, nodes)
		found = selected{newSet(backends, without), err}
		_, found.set.Standing = candidates(s, nodes)
		c.known[of] = found
	}
	return found.set, found.err
}
