package transport

import "time"

// RetryPolicy defines how often and when a request is repeated within one call. Zero fields take
// the default.
type RetryPolicy struct {
	// Attempts is the maximum number of attempts: 5.
	Attempts int
	// BaseDelay doubles with every attempt up to MaxDelay; the delay is a random part of it: 500
	// ms, 8 s.
	BaseDelay, MaxDelay time.Duration
	// MaxRetryAfter is the longest Retry-After that the transport waits for: 30 s. If the service
	// requests more, its answer is the result: see apierror.RetryAfter.
	MaxRetryAfter time.Duration
	// Budget is the time after the first attempt within which others are started: 2 minutes.
	Budget time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Attempts == 0 {
		p.Attempts = 5
	}
	if p.BaseDelay == 0 {
		p.BaseDelay = 500 * time.Millisecond
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = 8 * time.Second
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = 30 * time.Second
	}
	if p.Budget == 0 {
		p.Budget = 2 * time.Minute
	}
	return p
}
