package state

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Routed is the state of a Service with provider router at the end of the last successful round. It never
// changes once it is in a Store.
type Routed struct {
	// LoadBalancer has the port, the next hops and the floating IP.
	LoadBalancer *model.LoadBalancer
	// Service is its namespace and name.
	Service types.NamespacedName
	// Server is that of the node to which ports are forwarded, "" if it is not known.
	Server string
	// Digest is the hash of the desired state.
	Digest string
	// Reported are the formatted steps that would revert changes of other clients, and are only reported.
	Reported map[string]bool
	// Since is the end of that round. Unnamed is set once the annotations of the Service name no load balancer of
	// another provider.
	Since   time.Time
	Unnamed bool
}

// Access are the ports of the nodes that security groups open for a Service with provider router, such as
// TCP/80, and the clients that may use them; no ranges admit all.
type Access struct{ Ports, Ranges []string }

// conflicts returns a port that both have with different clients, "" for none.
func (a Access) conflicts(b Access) string {
	if slices.Equal(a.Ranges, b.Ranges) {
		return ""
	}
	for _, port := range a.Ports {
		if slices.Contains(b.Ports, port) {
			return port
		}
	}
	return ""
}

// SetRouted records the applied state of the Service, which has provider router. A load balancer that was begun for it in
// Octavia stays known.
func (e *Entry) SetRouted(routed *Routed) {
	e.Applied, e.Routed, e.Namespace = nil, routed, routed.Service.Namespace
}

// ReplaceRouted replaces the knowledge of the same state, unless a newer one was applied.
func (e *Entry) ReplaceRouted(before, now *Routed) {
	if e.Routed == before {
		e.Routed = now
	}
}

// MarkRoutedDrifted is MarkDrifted for a Service with provider router.
func (e *Entry) MarkRoutedDrifted(routed *Routed, reason string) (marked bool) {
	if e.Routed != routed {
		return false
	}
	e.Routed, e.Drift = nil, Drift{Reason: reason, Routed: routed}
	return true
}

// AllRouted returns the applied state of each Service with provider router.
func (s *Store) AllRouted() map[types.UID]*Routed {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[types.UID]*Routed{}
	for uid, e := range s.entries {
		if e.Routed != nil {
			all[uid] = e.Routed
		}
	}
	return all
}

// Claim records the open ports of a Service. It returns a port that another Service has with other source ranges,
// and records nothing then; "" for none. A rule of a security group cannot name the VIP, so that the two would
// share their clients. Unseen are the ports of Services that count if this process has not recorded theirs.
func (s *Store) Claim(uid types.UID, access Access, unseen map[types.UID]Access) (taken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(unseen)
	for other, e := range s.entries {
		if e.Access != nil {
			if all == nil {
				all = map[types.UID]Access{}
			}
			all[other] = *e.Access
		}
	}
	delete(all, uid)
	for _, has := range all {
		if port := access.conflicts(has); port != "" {
			return port
		}
	}
	s.update(uid, func(e *Entry) { e.Access = &access })
	return ""
}
