package dispatch

import (
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// states has the current states of Services and of the nodes.
type states struct {
	newest func(*v1.Service) (*v1.Service, []*v1.Node) // Options.Newest
	served Versions
	nodes  nodeLists
}

// update returns a request with its Service and its nodes as they are now. It is false if there is
// nothing to do: the Service wants no load balancer any more, or a round was begun with a newer state of it.
func (s *states) update(r Request) (Request, bool) {
	s.nodes.mu.Lock() // so that a later round has later nodes
	defer s.nodes.mu.Unlock()
	if s.newest == nil {
		r.current = s.nodes.begin(r.Nodes)
	} else {
		switch now, all := s.newest(r.Service); {
		case now == nil && (r.Operation == Repair || r.Nodes == nil): // it is gone
			return r, false
		case now == nil: // the service controller may know more than the informer
			r.current = func() bool { return false }
		default:
			r.Nodes, r.current = all, s.nodes.begin(all)
			if !Older(now, r.Service) {
				r.Service = now
			}
		}
	}
	return r, Wanted(r.Service) && s.served.Advance(r.Service.UID, r.Service.ResourceVersion)
}

// nodeLists numbers the node lists of rounds. The zero value is ready.
type nodeLists struct {
	mu   sync.Mutex
	last []*v1.Node // those with an address
	// number counts lists that differ from the one before. It can be read without the lock.
	number atomic.Int64
}

// begin returns a function that reports whether no round has begun with other nodes since. The
// caller holds the lock since before it read the nodes, so that later nodes come later. Two lists
// differ only in changes that bring every Service another round.
func (l *nodeLists) begin(nodes []*v1.Node) (current func() bool) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node *v1.Node) bool { return !cluster.HasMemberAddress(node) })
	if !slices.EqualFunc(l.last, nodes, sameNode) {
		l.number.Add(1)
	}
	l.last = nodes
	number := l.number.Load()
	return func() bool { return l.number.Load() == number }
}

// sameNode reports whether two states of a node have the same ports, and the same place in or out of load balancers.
func sameNode(a, b *v1.Node) bool {
	return a == b || a.Name == b.Name && a.Spec.ProviderID == b.Spec.ProviderID && cluster.ExcludesNode(a) == cluster.ExcludesNode(b) &&
		(slices.Equal(a.Status.Addresses, b.Status.Addresses) || slices.Equal(cluster.MemberAddresses(a), cluster.MemberAddresses(b)))
}
