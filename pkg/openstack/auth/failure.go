package auth

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// The pause after a failed sign-in doubles with every further failure, up to the maximum. After a
// refusal it starts with the maximum: Keystone locks an account after too many wrong passwords
// ([security_compliance] lockout_failure_attempts), for all its users.
const (
	firstSignInPause   = time.Second
	longestSignInPause = time.Minute
)

// failedSignIn is a failed sign-in, with the number of consecutive failures. Nil means that the
// sign-in succeeded.
type failedSignIn struct {
	err   error
	times int
	// again is the time of the next attempt.
	again time.Time
}

// next returns the state after another failure.
func (f *failedSignIn) next(err error, now time.Time) *failedSignIn {
	times := 1
	if f != nil {
		times += f.times
	}
	return &failedSignIn{err: err, times: times, again: now.Add(signInPause(err, times))}
}

// waits reports whether it is too early for another attempt.
func (f *failedSignIn) waits(now time.Time) bool { return f != nil && now.Before(f.again) }

// refused reports whether new credentials are needed.
func (f *failedSignIn) refused() bool { return f != nil && apierror.IsCredentialsRefused(f.err) }

// signInPause returns the pause after a number of consecutive failures, the last of which was err.
// It honors a Retry-After of Keystone up to a limit.
func signInPause(err error, times int) time.Duration {
	if apierror.IsCredentialsRefused(err) {
		return longestSignInPause
	}
	if asked := apierror.RetryAfter(err); asked > 0 {
		return min(max(asked, firstSignInPause), limiter.LongestPause)
	}
	return min(firstSignInPause<<min(times-1, 6), longestSignInPause)
}
