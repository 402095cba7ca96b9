package openstack

import (
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// The pause after a sign-in that failed doubles from the first to the longest with
// every further failure. Whoever is refused begins with the longest: Keystone locks
// the account of those who try a wrong password too often ([security_compliance]
// lockout_failure_attempts), for everybody who uses it.
const (
	firstSignInPause   = time.Second
	longestSignInPause = time.Minute
)

// failure is a sign-in that failed, with those in a row before it. The nil failure
// is that of a sign-in that worked.
type failure struct {
	err   error
	times int
	// again is when to try again.
	again time.Time
}

// next gives the failure after one more.
func (f *failure) next(err error, now time.Time) *failure {
	times := 1
	if f != nil {
		times += f.times
	}
	return &failure{err: err, times: times, again: now.Add(signInPause(err, times))}
}

// waits tells that it is too early for another try.
func (f *failure) waits(now time.Time) bool { return f != nil && now.Before(f.again) }

// refused tells that new credentials are needed.
func (f *failure) refused() bool { return f != nil && apierror.IsCredentialsRefused(f.err) }

// signInPause gives the pause after so many failures in a row, the last of which
// was err. Keystone's own word counts, within reason.
func signInPause(err error, times int) time.Duration {
	if apierror.IsCredentialsRefused(err) {
		return longestSignInPause
	}
	if asked := apierror.RetryAfter(err); asked > 0 {
		return min(max(asked, firstSignInPause), longestPause)
	}
	return min(firstSignInPause<<min(times-1, 6), longestSignInPause)
}
