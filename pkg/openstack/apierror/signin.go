package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// AuthenticationError reports that a request was not executed because the sign-in failed, or the
// token is no longer valid and cannot be renewed.
//
// Its status is 401, regardless of Keystone's answer: a 404 of Keystone must not be mistaken for a
// deleted load balancer.
type AuthenticationError struct {
	// Err is the reason: Keystone's answer, a TokenExpiredError or an OtherProjectError.
	Err error
}

func (e *AuthenticationError) Error() string { return "not signed in: " + describe(e.Err) }

// Unwrap returns the reason.
func (e *AuthenticationError) Unwrap() error { return e.Err }

// TokenExpiredError reports that the configured token has expired. Only a new one helps.
type TokenExpiredError struct {
	// At is the expiry time, zero if the token was refused earlier.
	At time.Time
}

func (e *TokenExpiredError) Error() string {
	what := "the token in the configuration was refused"
	if !e.At.IsZero() {
		what = "the token in the configuration expired at " + e.At.UTC().Format(time.RFC3339)
	}
	return what + " and cannot be renewed: give a new one, or a password or application credential"
}

// OtherProjectError reports that new credentials in the configuration are for another project. Our
// objects are in the old one, and would look deleted from the new one.
type OtherProjectError struct {
	// Signed is the ID of the session's project, Given the ID of the new credentials' project.
	Signed, Given string
}

func (e *OtherProjectError) Error() string {
	return fmt.Sprintf("the credentials in the configuration are now for project %s; this process works in project %s: "+
		"give credentials for that one", e.Given, e.Signed)
}

// IsNotSignedIn reports whether a request was not executed because the session has no valid token.
func IsNotSignedIn(err error) bool {
	var ours *AuthenticationError
	var value gophercloud.ErrUnableToReauthenticate
	var pointer *gophercloud.ErrUnableToReauthenticate
	return errors.As(err, &ours) || errors.As(err, &value) || errors.As(err, &pointer)
}

// IsCredentialsRefused reports whether a working Keystone refuses our credentials. Its 404, unlike
// a proxy's, is for a deleted application credential or project.
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

// IsKeystoneAway reports whether a sign-in failed without a refusal by Keystone: it is unreachable
// or overloaded, or another server answers. This is temporary, unlike a refused configuration.
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
