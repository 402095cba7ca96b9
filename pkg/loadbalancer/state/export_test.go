package state

// On returns the number of Services on a load balancer.
func (s *Store) On(loadBalancerID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.on[loadBalancerID])
}

// Counts returns the number of counted reasons and namespaces.
func (s *Store) Counts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refused) + len(s.inNamespace)
}

// Indexed returns the number of load balancers with Services.
func (s *Store) Indexed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.on)
}
