package state

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// creationSettles is how long after an unanswered POST the load balancer can still appear. Octavia
// commits it after it has waited for the project's quota (at most 50 s) and for Neutron to create
// the VIP's port; a proxy closes the connection earlier.
const creationSettles = 3 * time.Minute

// Creations are the unanswered creations of load balancers, by Service. One may succeed later, also after its
// Service is gone.
type Creations struct {
	clock clock.PassiveClock
	// started is the start of this process.
	started time.Time

	mu  sync.Mutex
	all map[types.UID]creation
}

// creation is an unanswered creation. The zero value is none.
type creation struct {
	// until is the last time at which the load balancer can appear.
	until time.Time
	// repeated is set if another creation was sent since: then a load balancer does not prove that
	// this creation has succeeded.
	repeated bool
	// resolved is set when the load balancer has been found.
	resolved bool
}

func (c creation) over(now time.Time) bool { return now.After(c.until) }

// newCreations returns none. A Service that was created before started, and has no address, is assumed to have one.
func newCreations(clk clock.PassiveClock, started time.Time) *Creations {
	return &Creations{clock: clk, started: started, all: map[types.UID]creation{}}
}

// Sent records that a load balancer is about to be created for a Service.
func (c *Creations) Sent(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, lost := c.all[uid]; lost {
		known.repeated = true
		c.all[uid] = known
	}
}

// Lost records an unanswered creation.
func (c *Creations) Lost(uid types.UID) {
	now := c.clock.Now()
	c.mu.Lock()
	c.all[uid] = creation{until: now.Add(creationSettles), repeated: c.all[uid].repeated}
	c.mu.Unlock()
	c.dropOver()
}

// Found records that a load balancer of a Service was found, and is about to be deleted: it
// is that of the unanswered creation, unless that was repeated. Unserved is that of Until.
func (c *Creations) Found(uid types.UID, unserved time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.all[uid]
	if until := c.until(known, unserved); !until.IsZero() && !known.repeated {
		c.all[uid] = creation{until: until, resolved: true}
	}
}

// Until returns the time until which a load balancer of an unanswered creation can appear;
// zero if none can. The last requests of an earlier process are unknown: a Service that is older
// than this process and has no address is assumed to have an unanswered creation. Its age does not
// matter, because its turn may have come just then. Unserved is the time of creation of a Service
// without an address, zero if it has one.
func (c *Creations) Until(uid types.UID, unserved time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until(c.all[uid], unserved)
}

func (c *Creations) until(known creation, unserved time.Time) time.Time {
	if known.until.IsZero() && c.Precedes(unserved) {
		known.until = c.started.Add(creationSettles)
	}
	if known.resolved || known.over(c.clock.Now()) {
		return time.Time{}
	}
	return known.until
}

// Precedes reports whether a time of creation, zero for none, is before the start of this process.
func (c *Creations) Precedes(created time.Time) bool {
	return !created.IsZero() && created.Before(c.started)
}

// of returns the creation of a Service, which may be over.
func (c *Creations) of(uid types.UID) creation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[uid]
}

// forget drops the creation of a Service if its load balancer can no longer appear.
func (c *Creations) forget(uid types.UID) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[uid].over(now) {
		delete(c.all, uid)
	}
}

// dropOver drops the creations with load balancers that can no longer appear.
func (c *Creations) dropOver() {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, known := range c.all {
		if known.over(now) {
			delete(c.all, uid)
		}
	}
}
