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
	// LostCreateRetry is the delay before the search for the result of a creation without an
	// answer. It doubles with each attempt.
	LostCreateRetry time.Duration
}

// PollInterval defines the delays of polls: First before the first one, Step before the second
// (First if Step is 0), and then half as long again for each, up to Cap.
type PollInterval struct{ First, Step, Cap time.Duration }
