package openstack

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The pause after a sign-in that failed doubles from the first to the longest with
// every further failure. Whoever is refused begins with the longest: Keystone locks
// the account of those who try a wrong password too often ([security_compliance]
// lockout_failure_attempts), for everybody who uses it.
const (
	firstSignInPause   = time.Second
	longestSignInPause = time.Minute
)

// OtherProjectError says that new credentials in the configuration are for another
// project than the one that the process works in. What we own is in the old one:
// nothing of it could be told from what was deleted.
type OtherProjectError struct {
	// Signed is the ID of the project that we work in, Given that of the new
	// credentials.
	Signed, Given string
}

func (e *OtherProjectError) Error() string {
	return fmt.Sprintf("the credentials in the configuration are now for project %s; this process works in project %s: "+
		"give credentials for that one", e.Given, e.Signed)
}

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
func (f *failure) refused() bool { return f != nil && credentialsRefused(f.err) }

// signInPause gives the pause after so many failures in a row, the last of which
// was err. Keystone's own word counts, within reason.
func signInPause(err error, times int) time.Duration {
	if credentialsRefused(err) {
		return longestSignInPause
	}
	if asked := RetryAfter(err); asked > 0 {
		return min(max(asked, firstSignInPause), longestPause)
	}
	return min(firstSignInPause<<min(times-1, 6), longestSignInPause)
}

// credentialsRefused tells that Keystone is in order and does not take our
// credentials. Its 404, unlike a proxy's, is for an application credential or a
// project that is gone.
func credentialsRefused(err error) bool {
	var expired *TokenExpiredError
	var other *OtherProjectError
	if errors.As(err, &expired) || errors.As(err, &other) {
		return true
	}
	resp := response(err)
	if resp == nil {
		return false
	}
	switch resp.Actual {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusNotFound:
		return parseErrorBody(resp.Body).known
	}
	return false
}

// IsKeystoneAway tells that a sign-in failed without a word of Keystone's against it:
// it cannot be reached, is overloaded, or something else answers in its place. That
// ends by itself, unlike a configuration that it refuses.
func IsKeystoneAway(err error) bool {
	if !notSignedIn(err) || credentialsRefused(err) {
		return false
	}
	resp := response(err)
	if resp == nil {
		return true
	}
	switch resp.Actual {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return resp.Actual >= http.StatusInternalServerError
}
