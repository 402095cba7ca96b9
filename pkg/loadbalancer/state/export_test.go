package state

// On returns how many Services what is done on a load balancer concerns.
func (s *Store) On(loadBalancerID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.on[loadBalancerID])
}

// Counts returns how many reasons and namespaces are counted for.
func (s *Store) Counts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refused) + len(s.inNamespace)
}

// Indexed returns how many load balancers have any.
func (s *Store) Indexed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.on)
}
