package driver

import "time"

// Timing defines how often the progress of a load balancer is polled, and how long.
type Timing struct {
	// Create, Update and Delete are the intervals during a creation, a change or a deletion of a
	// load balancer.
	Create, Update, Delete PollInterval
	// ChildInterval is the time between two polls of children that are PENDING below an ACTIVE load
	// balancer. If none of them finishes within ChildTimeout, they are assumed to be stuck.
	ChildInterval, ChildTimeout time.Duration
	// PerMember is how long a driver that changes members one by one works at most on each member of a batch; 0 for
	// other drivers.
	PerMember time.Duration
	// LostCreateRetry is the delay before the search for the result of a creation without an
	// answer. It doubles with each attempt.
	LostCreateRetry time.Duration
}

// Batch returns how long a batch may take at most, without any progress that Octavia shows, in pools with so many members:
// a driver that changes members one by one updates all that stay before it removes the first.
func (t Timing) Batch(members int) time.Duration {
	return max(t.ChildTimeout, time.Duration(members)*t.PerMember)
}

// PollInterval defines the delays of polls: First before the first one, Step before the second
// (First if Step is 0), and then half as long again for each, up to Cap.
type PollInterval struct{ First, Step, Cap time.Duration }
