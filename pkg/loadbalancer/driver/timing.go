package driver

import "time"

// Timing is how often the progress of a load balancer is polled, and how long it is
// waited for.
type Timing struct {
	// Create, Update and Delete are the intervals for a load balancer that is being
	// created, changed or deleted.
	Create, Update, Delete PollInterval
	// ChildInterval is the time between two polls of children that are still PENDING below
	// an ACTIVE load balancer. After ChildTimeout in which none of them came to its end they
	// are taken to stay so.
	ChildInterval, ChildTimeout time.Duration
	// LostCreateRetry is the time after which a creation that was not answered is looked
	// for. It doubles with each attempt.
	LostCreateRetry time.Duration
}

// PollInterval is the time until the first poll, from there to the second (First where
// Step is 0), and the most that there is between two later ones, each of which comes
// after half as long again as the one before.
type PollInterval struct{ First, Step, Cap time.Duration }
