package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// AuthenticationError is a request that was not carried out because we could not
// sign in, or are signed in no longer and cannot renew it.
//
// Its own status is 401, whatever Keystone answered: a 404 from Keystone must not
// be taken for a load balancer that is gone.
type AuthenticationError struct {
	// Err is the reason: Keystone's answer, a TokenExpiredError or an
	// OtherProjectError.
	Err error
}

func (e *AuthenticationError) Error() string { return "not signed in: " + describe(e.Err) }

// Unwrap returns the reason.
func (e *AuthenticationError) Unwrap() error { return e.Err }

// TokenExpiredError is the end of a token that the configuration gave. Only a new
// one helps.
type TokenExpiredError struct {
	// At is when it expired, zero when it was refused before that.
	At time.Time
}

func (e *TokenExpiredError) Error() string {
	what := "the token in the configuration was refused"
	if !e.At.IsZero() {
		what = "the token in the configuration expired at " + e.At.UTC().Format(time.RFC3339)
	}
	return what + " and cannot be renewed: give a new one, or a password or application credential"
}

// OtherProjectError is the refusal of new credentials in the configuration that are
// for another project than the one that the process works in. What we own is in the
// old one, and from the new one all of it would look deleted.
type OtherProjectError struct {
	// Signed is the ID of the project that we work in, Given that of the new
	// credentials.
	Signed, Given string
}

func (e *OtherProjectError) Error() string {
	return fmt.Sprintf("the credentials in the configuration are now for project %s; this process works in project %s: "+
		"give credentials for that one", e.Given, e.Signed)
}

// IsNotSignedIn reports whether a request was not carried out because we are not
// signed in.
func IsNotSignedIn(err error) bool {
	var ours *AuthenticationError
	var value gophercloud.ErrUnableToReauthenticate
	var pointer *gophercloud.ErrUnableToReauthenticate
	return errors.As(err, &ours) || errors.As(err, &value) || errors.As(err, &pointer)
}

// IsCredentialsRefused reports whether Keystone, being in order, does not take our
// credentials. Its 404, unlike a proxy's, is for an application credential or a
// project that is gone.
func IsCredentialsRefused(err error) bool {
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

// IsKeystoneAway reports whether a sign-in failed without Keystone having refused it:
// it cannot be reached, is overloaded, or something else answers in its place. That
// ends by itself, unlike a configuration that it refuses.
func IsKeystoneAway(err error) bool {
	if !IsNotSignedIn(err) || IsCredentialsRefused(err) {
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
