package auth

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// The pause after a sign-in that failed doubles from the first to the longest with
// every further failure. Whoever is refused begins with the longest: Keystone locks
// the account of those who try a wrong password too often ([security_compliance]
// lockout_failure_attempts), for all who use it.
const (
	firstSignInPause   = time.Second
	longestSignInPause = time.Minute
)

// failedSignIn is a sign-in that failed, with those in a row before it. Nil is a
// sign-in that worked.
type failedSignIn struct {
	err   error
	times int
	// again is when to try again.
	again time.Time
}

// next returns the failure after one more.
func (f *failedSignIn) next(err error, now time.Time) *failedSignIn {
	times := 1
	if f != nil {
		times += f.times
	}
	return &failedSignIn{err: err, times: times, again: now.Add(signInPause(err, times))}
}

// waits reports whether it is too early for another try.
func (f *failedSignIn) waits(now time.Time) bool { return f != nil && now.Before(f.again) }

// refused reports whether new credentials are needed.
func (f *failedSignIn) refused() bool { return f != nil && apierror.IsCredentialsRefused(f.err) }

// signInPause returns the pause after so many failures in a row, the last of which was
// err. A Retry-After of Keystone's counts, within reason.
func signInPause(err error, times int) time.Duration {
	if apierror.IsCredentialsRefused(err) {
		return longestSignInPause
	}
	if asked := apierror.RetryAfter(err); asked > 0 {
		return min(max(asked, firstSignInPause), limiter.LongestPause)
	}
	return min(firstSignInPause<<min(times-1, 6), longestSignInPause)
}
