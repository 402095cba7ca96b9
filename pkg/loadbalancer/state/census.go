package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// Unsettled says since when a Service does not have what it asks for. The zero value is of one
// that does, or of which this process has not heard.
type Unsettled struct {
	// Since is when the first round for what is asked for has come to its turn, or began to wait for
	// that, once that round has ended.
	Since time.Time
	// Deleting is set where that is its end.
	Deleting bool
	// Spent is what its rounds have taken since.
	Spent stopwatch.Times
}

// MarkDeleting records that a Service is being deleted, unless that is recorded.
func (s *Store) MarkDeleting(uid types.UID) {
	now := s.clock.Now()
	s.update(uid, func(e *Entry) {
		if !e.Unsettled.Deleting {
			e.Unsettled = Unsettled{Since: now, Deleting: true}
		}
	})
}

// Spend adds what a round that ends now has taken for a Service that does not have what it asks for
// yet.
func (s *Store) Spend(uid types.UID, times stopwatch.Times) {
	now := s.clock.Now()
	s.update(uid, func(e *Entry) {
		if !e.Unsettled.Since.IsZero() {
			e.Unsettled.Since = e.Unsettled.Began(now, times)
			e.Unsettled.Spent = e.Unsettled.Spent.Plus(times)
		}
	})
}

// Began returns when the first round began, where one that has taken so long ends now. The wait for
// its turn is part of a round.
func (u Unsettled) Began(now time.Time, times stopwatch.Times) time.Time {
	if began := now.Add(-times.Sum()); u.Since.IsZero() || began.Before(u.Since) {
		return began
	}
	return u.Since
}

// Phase is how far a Service is.
type Phase string

// The phases of a Service.
const (
	Settled  Phase = "settled"  // it has what it asks for
	Pending  Phase = "pending"  // it is being brought to that
	Refused  Phase = "refused"  // it is refused
	Deleting Phase = "deleting" // what it has is being removed
)

// Phases returns all phases.
func Phases() []Phase { return []Phase{Settled, Pending, Refused, Deleting} }

// Part is what load balancers consist of, and in which states.
type Part struct {
	Kind string
	model.Status
}

// Census is how far all Services are.
type Census struct {
	// Services are in each phase, the oldest of them since a time; zero where there is none.
	Services map[Phase]int
	Oldest   map[Phase]time.Time
}

// Census counts the Services.
func (s *Store) Census() Census {
	c := Census{Services: map[Phase]int{}, Oldest: map[Phase]time.Time{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		phase := e.phase()
		if phase == "" {
			continue
		}
		c.Services[phase]++
		if oldest := c.Oldest[phase]; phase != Settled && (oldest.IsZero() || e.Unsettled.Since.Before(oldest)) {
			c.Oldest[phase] = e.Unsettled.Since
		}
	}
	return c
}

// Parts counts the parts of load balancers that are Services', by the states in which they were read
// last. Operating statuses of members are not kept.
func (s *Store) Parts() map[Part]int {
	parts := map[Part]int{}
	for _, applied := range s.AllApplied() {
		if applied.Contents != nil {
			countParts(parts, applied.Contents)
		}
	}
	return parts
}

// Serves reports whether a load balancer is known as one of a Service.
func (s *Store) Serves(loadBalancerID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.on[loadBalancerID]) > 0
}

// phase returns how far the Service is; "" where it asks for nothing, as far as is known.
func (e *Entry) phase() Phase {
	switch {
	case e.Unsettled.Deleting:
		return Deleting
	case e.Refusal.Reason != "":
		return Refused
	case !e.Unsettled.Since.IsZero():
		return Pending
	case e.Accepted != nil:
		return Settled
	}
	return ""
}

// countParts adds the parts of a load balancer.
func countParts(parts map[Part]int, lb *model.LoadBalancer) {
	for _, l := range lb.Listeners {
		parts[Part{"listener", l.Status}]++
		parts[Part{"pool", l.Pool.Status}]++
		if l.Pool.Monitor != nil {
			parts[Part{"health_monitor", l.Pool.Monitor.Status}]++
		}
		for kind, members := range l.Pool.Members.Kinds() {
			parts[Part{"member", model.Status{Provisioning: kind.Status.Provisioning}}] += members
		}
	}
}
