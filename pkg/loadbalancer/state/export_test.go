package state

import "k8s.io/apimachinery/pkg/types"

// Len returns the number of known Services.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// On returns the number of Services on a load balancer.
func (s *Store) On(loadBalancerID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index.on[loadBalancerID])
}

// Counts returns the number of counted reasons and namespaces.
func (s *Store) Counts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index.refused) + len(s.index.inNamespace)
}

// Indexed returns the number of load balancers with Services.
func (s *Store) Indexed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index.on)
}

// Known reports whether a creation of a Service is known.
func (c *Creations) Known(uid types.UID) bool { return c.of(uid) != creation{} }

// Names returns the number of names with floating IPs.
func (r *Retained) Names() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left)
}
