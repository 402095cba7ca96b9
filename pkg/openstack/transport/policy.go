package transport

import "time"

// RetryPolicy is how often and how soon a request is repeated within one call. Zero
// fields take the default.
type RetryPolicy struct {
	// Attempts is the greatest number of times a request is sent: 5.
	Attempts int
	// BaseDelay doubles with every attempt up to MaxDelay; the wait is a random part
	// of it: 500 ms, 8 s.
	BaseDelay, MaxDelay time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for here: 30 s. When
	// the service asks for more, its answer is the result: see apierror.RetryAfter.
	MaxRetryAfter time.Duration
	// Budget is the time from the first attempt on after which no other is planned:
	// 2 minutes.
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
