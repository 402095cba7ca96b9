package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Share is the name by which Services of a namespace share a load balancer.
type Share struct {
	Namespace, Name string
}

// Creator returns the Service that creates the load balancer of a share: the one that it has
// returned before, as long as it is a candidate, else the first candidate; "" without candidates. So
// Services that come while a load balancer is being created, or recreated, cause no second one.
func (s *Store) Creator(of Share, candidates []types.UID) types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.creators[of]; slices.Contains(candidates, before) {
		return before
	}
	if len(candidates) == 0 {
		delete(s.creators, of)
		return ""
	}
	s.creators[of] = candidates[0]
	return candidates[0]
}
