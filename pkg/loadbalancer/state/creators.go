package state

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Share is the name by which Services of a namespace share a load balancer.
type Share struct {
	Namespace, Name string
}

// Creators are the Services for which load balancers of shares are created.
type Creators struct {
	mu sync.Mutex
	of map[Share]types.UID
}

// Of returns the Service that creates the load balancer of a share: the one that it has
// returned before, as long as it is a candidate, else the first candidate; "" without candidates. So
// Services that come while a load balancer is being created, or recreated, cause no second one.
func (c *Creators) Of(share Share, candidates []types.UID) types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.of[share]; slices.Contains(candidates, before) {
		return before
	}
	if len(candidates) == 0 {
		delete(c.of, share)
		return ""
	}
	c.of[share] = candidates[0]
	return candidates[0]
}

// dropAllBut drops the creators that are not live.
func (c *Creators) dropAllBut(live map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(_ Share, uid types.UID) bool { return !live[uid] })
}
