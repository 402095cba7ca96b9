package openstack

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// AuthenticationError is a request that was not carried out because we could not
// sign in, or are signed in no longer and cannot renew it.
//
// Its own status is 401, whatever Keystone answered: a 404 from Keystone must not
// be taken for a load balancer that is gone.
type AuthenticationError struct {
	// Err is why: Keystone's answer, or a TokenExpiredError.
	Err error
}

func (e *AuthenticationError) Error() string { return "not signed in: " + describe(e.Err) }

// Unwrap gives the reason.
func (e *AuthenticationError) Unwrap() error { return e.Err }

// response finds the service's refusal in an error, nil when there is none.
// gophercloud gives it as a value and as a pointer.
func response(err error) *gophercloud.ErrUnexpectedResponseCode {
	var value gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &value) {
		return &value
	}
	var pointer *gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &pointer) && pointer != nil {
		return pointer
	}
	return nil
}

// refusal is what a service answered to a request that it got from us signed in.
// The zero refusal is the one of no answer.
type refusal struct {
	method string
	status int
	header http.Header
	body   errorBody
}

func refusalOf(err error) refusal {
	if notSignedIn(err) {
		return refusal{status: http.StatusUnauthorized}
	}
	resp := response(err)
	if resp == nil {
		return refusal{}
	}
	return refusal{
		method: resp.Method,
		status: resp.Actual,
		header: resp.ResponseHeader,
		body:   parseErrorBody(resp.Body),
	}
}

func notSignedIn(err error) bool {
	var ours *AuthenticationError
	var value gophercloud.ErrUnableToReauthenticate
	var pointer *gophercloud.ErrUnableToReauthenticate
	return errors.As(err, &ours) || errors.As(err, &value) || errors.As(err, &pointer)
}

// StatusCode gives the HTTP status that a request was answered with, 0 when it had
// no answer. It is 401 when we could not sign in.
func StatusCode(err error) int { return refusalOf(err).status }

// IsNotFound tells that the object of a request is not there. A 404 that is not an
// OpenStack service's (no request ID, no error body of theirs: a proxy's), one for
// an unknown path, and Neutron's for a missing router are not that.
func IsNotFound(err error) bool {
	r := refusalOf(err)
	switch {
	case r.status != http.StatusNotFound, r.body.unknownPath, r.body.neutronType == noRouter:
		return false
	}
	return r.body.known || headerRequestID(r.header) != ""
}

// IsConflict tells that the state of an object does not allow the request (409).
// An exhausted quota or address pool is not that: see IsQuota.
func IsConflict(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict && !r.isQuota()
}

// IsLocked tells that a load balancer, or a pool in ERROR, takes no change in its
// present state. Octavia says so in words only, and the words are the same since
// the Rocky release.
func IsLocked(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict &&
		(strings.Contains(r.body.message, "is immutable") || strings.Contains(r.body.message, "Invalid state "))
}

// IsQuota tells that a quota, or the pool that addresses come from, is used up.
// Octavia's 403 for it differs from one of policy in its text only.
func IsQuota(err error) bool { return refusalOf(err).isQuota() }

func (r refusal) isQuota() bool {
	switch r.status {
	case http.StatusForbidden:
		return strings.HasPrefix(r.body.message, "Quota has been met") || strings.HasPrefix(r.body.message, "Quota exceeded")
	case http.StatusConflict:
		return r.body.neutronType == "OverQuota" || strings.HasPrefix(r.body.neutronType, "IpAddressGenerationFailure")
	case http.StatusBadRequest:
		return r.body.neutronType == "ExternalIpAddressExhausted"
	}
	return false
}

// IsPartsQuota tells that a quota of Octavia's for what is in load balancers (listeners,
// pools, members, health monitors) is used up, not that of load balancers themselves.
func IsPartsQuota(err error) bool {
	r := refusalOf(err)
	const met = "Quota has been met for resources: "
	return r.isQuota() && strings.HasPrefix(r.body.message, met) && !strings.HasPrefix(r.body.message, met+"Load Balancer")
}

// IsCrash tells that the service itself failed over a request, and has ended it: a 500
// with an error body of its own, not a proxy's. It may have carried the request out.
func IsCrash(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusInternalServerError && r.body.known
}

// IsSourceRangeCrash tells the 500 of Octavia 12.0.0, 13.0.0 and 14.0.0 to every load
// balancer that is created together with a listener with allowed_cidrs.
func IsSourceRangeCrash(err error) bool {
	return IsCrash(err) && strings.Contains(refusalOf(err).body.message, "None does not appear to be an IPv4 or IPv6 address")
}

// IsForbidden tells that the user may not do this: a role or a policy is missing.
func IsForbidden(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusForbidden && !r.isQuota()
}

// IsInvalid tells that the same request will be refused until the request or the
// cloud changes: a bad value (400), what the provider cannot do (501), a floating
// IP for a subnet without a router.
func IsInvalid(err error) bool {
	r := refusalOf(err)
	switch r.status {
	case http.StatusBadRequest:
		return !r.isQuota()
	case http.StatusNotFound:
		return r.body.neutronType == noRouter
	}
	return r.status == http.StatusNotImplemented
}

// IsUnsupported tells that the provider of a load balancer does not have what was
// asked for: Octavia answers 501 to every option and action that a driver refuses
// or does not implement.
func IsUnsupported(err error) bool { return refusalOf(err).status == http.StatusNotImplemented }

// IsUnsure tells that a write may have been carried out although it failed: there
// was no (whole) answer after it was sent, or one that does not tell, as 500, 502,
// 503 and 504. Look for its result before asking again. It is false for reads, for
// refusals (4xx, 501) and for what surely did not arrive.
func IsUnsure(err error) bool {
	if err == nil || notSignedIn(err) {
		return false
	}
	var silent *NoAnswerError
	if errors.As(err, &silent) {
		return silent.Sent && isWrite(silent.Method)
	}
	if r := refusalOf(err); r.status != 0 {
		refused := r.status >= http.StatusBadRequest && r.status < http.StatusInternalServerError
		return isWrite(r.method) && !refused && r.status != http.StatusNotImplemented
	}
	return isUnreadable(err)
}

// isUnreadable tells errors of decoding: the service accepted the request, and
// then we did not understand what it said.
func isUnreadable(err error) bool {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &mismatch) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// RequestID gives the request ID of the service's answer (req-…), "" when it has
// none. Operators find the request in the service's log by it.
func RequestID(err error) string {
	if resp := response(err); resp != nil {
		return headerRequestID(resp.ResponseHeader)
	}
	return ""
}

// headerRequestID reads the header that all services have. Nova had another name
// for it. It is bounded: it ends up in events.
func headerRequestID(header http.Header) string {
	id := header.Get("X-Openstack-Request-Id")
	if id == "" {
		id = header.Get("X-Compute-Request-Id")
	}
	return oneLine(id, 64)
}

// NeutronType gives Neutron's name for an error, for example
// "IpAddressAlreadyAllocated"; "" for errors that are not Neutron's.
func NeutronType(err error) string { return refusalOf(err).body.neutronType }

// RetryAfter gives the time that the service asked to wait before the next try, 0
// when it did not ask.
func RetryAfter(err error) time.Duration {
	resp := response(err)
	if resp == nil {
		return 0
	}
	// Against the service's own clock; with no Date, a Retry-After that is a date
	// does not tell a duration.
	now, dateErr := http.ParseTime(resp.ResponseHeader.Get("Date"))
	after, ok := retryAfter(resp.ResponseHeader, now)
	if !ok || dateErr != nil && after > 24*time.Hour {
		return 0
	}
	return after
}
