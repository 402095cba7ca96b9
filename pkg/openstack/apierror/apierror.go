// Package apierror distinguishes the errors of the OpenStack API by what to do about
// them, and words them for events.
package apierror

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// response finds the service's refusal in an error, nil when there is none.
// gophercloud returns it as a value and as a pointer.
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
	if IsNotSignedIn(err) {
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

// isService reports whether an OpenStack service answered, and not a proxy before it:
// the answer has a request ID, or an error body in one of their forms.
func (r refusal) isService() bool { return r.body.known || RequestIDOf(r.header) != "" }

// StatusCode returns the HTTP status that a request was answered with, 0 when it had
// no answer. It is 401 when we could not sign in.
func StatusCode(err error) int { return refusalOf(err).status }

// IsNotFound reports whether the object of a request is not there. A 404 that is not an
// OpenStack service's (no request ID, no error body of theirs: a proxy's), one for
// an unknown path, and Neutron's for a missing router are not that.
func IsNotFound(err error) bool {
	r := refusalOf(err)
	switch {
	case r.status != http.StatusNotFound, r.body.unknownPath, r.body.neutronType == noRouter:
		return false
	}
	return r.isService()
}

// IsConflict reports whether the state of an object does not allow the request (409).
// An exhausted quota or address pool is not that: see IsQuota.
func IsConflict(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict && !r.isQuota()
}

// IsLocked reports whether a load balancer, or a pool in ERROR, takes no change in its
// present state. Only the words of the message show it, which are the same since
// the Rocky release.
func IsLocked(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict &&
		(strings.Contains(r.body.message, "is immutable") || strings.Contains(r.body.message, "Invalid state "))
}

// IsQuota reports whether a quota, or the pool that addresses come from, is used up.
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
	case http.StatusInternalServerError:
		return r.isVIPQuota()
	}
	return false
}

// isVIPQuota reports whether Neutron had no room for the port of a VIP. Octavia, which asks for it
// before anything else, answers 500 with Neutron's words then, and has made nothing.
func (r refusal) isVIPQuota() bool {
	const from = "Provider '"
	return r.body.known && strings.HasPrefix(r.body.message, from) &&
		(strings.Contains(r.body.message, quotaExceeded) || strings.Contains(r.body.message, noMoreAddresses))
}

// IsPartsQuota reports whether a quota of Octavia's for what is in load balancers (listeners,
// pools, members, health monitors) is used up, not that of load balancers themselves.
func IsPartsQuota(err error) bool {
	r := refusalOf(err)
	return r.isQuota() && strings.HasPrefix(r.body.message, quotaMet) && !strings.HasPrefix(r.body.message, quotaMet+"Load Balancer")
}

// IsCrash reports whether the service itself failed over a request, and has ended it: a 500
// with an error body of its own, not a proxy's. It may have carried the request out.
func IsCrash(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusInternalServerError && r.body.known && !r.isVIPQuota()
}

// IsSourceRangeCrash reports the 500 of Octavia 12.0.0, 13.0.0 and 14.0.0 to every load
// balancer that is created together with a listener with allowed_cidrs.
func IsSourceRangeCrash(err error) bool {
	return IsCrash(err) && strings.Contains(refusalOf(err).body.message, "None does not appear to be an IPv4 or IPv6 address")
}

// IsForbidden reports whether the user may not do this: a role or a policy is missing.
func IsForbidden(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusForbidden && !r.isQuota()
}

// IsInvalid reports whether the same request will be refused until the request or the
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

// IsUnsupported reports whether the provider of a load balancer does not have what was
// asked for: Octavia answers 501 to every option and action that a driver refuses
// or does not implement.
func IsUnsupported(err error) bool { return refusalOf(err).status == http.StatusNotImplemented }

// IsNoRoute reports whether a refusal by Octavia, or by what is in front of it, can mean that requests
// of this kind are not taken here, whatever they ask for: that is, not one of a quota or, in Octavia's own
// words, of a value, of an object that is not there, or of a policy.
//
//	405, 406, 413, 414, 415, 422, 431   yes
//	404                                 where nobody knows the URL: Octavia says so, or did not answer
//	400, 403                            where they are not in Octavia's words
//	any other                           no
func IsNoRoute(err error) bool {
	r := refusalOf(err)
	switch r.status {
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return true
	case http.StatusNotFound:
		return r.body.unknownPath || !r.body.octavia && RequestIDOf(r.header) == ""
	case http.StatusBadRequest, http.StatusForbidden:
		return !r.body.octavia && !r.isQuota()
	}
	return false
}

// IsUnsure reports whether a write may have been carried out although it failed: there
// was no (whole) answer after it was sent, or one that leaves it open, as 500, 502,
// 503 and 504. Look for its result before asking again. It is false for reads, for
// refusals (4xx, 501) and for what surely did not arrive.
func IsUnsure(err error) bool {
	if err == nil || IsNotSignedIn(err) {
		return false
	}
	var silent *NoAnswerError
	if errors.As(err, &silent) {
		return silent.Sent && request.IsWrite(silent.Method)
	}
	if r := refusalOf(err); r.status != 0 {
		refused := r.status >= http.StatusBadRequest && r.status < http.StatusInternalServerError || r.isVIPQuota()
		return request.IsWrite(r.method) && !refused && r.status != http.StatusNotImplemented
	}
	return IsUnreadable(err)
}

// IsUnreadable reports whether an error is one of decoding: the service accepted the request, and
// then we did not understand what it said. A request without a (whole) answer is none.
func IsUnreadable(err error) bool {
	var silent *NoAnswerError
	if errors.As(err, &silent) {
		return false
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var syntactic *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	return errors.As(err, &syntax) || errors.As(err, &mismatch) || errors.As(err, &syntactic) || errors.As(err, &semantic) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// RequestID returns the request ID of the service's answer (req-…), "" when it has
// none. Operators find the request in the service's log by it.
func RequestID(err error) string {
	if resp := response(err); resp != nil {
		return RequestIDOf(resp.ResponseHeader)
	}
	return ""
}

// RequestIDOf returns the request ID in the header of an answer, "" when it has none.
// Nova had another name for the header. The ID is bounded: it ends up in events.
func RequestIDOf(header http.Header) string {
	id := header.Get("X-Openstack-Request-Id")
	if id == "" {
		id = header.Get("X-Compute-Request-Id")
	}
	if isPlainID(id) { // as nearly all are
		return id
	}
	return oneLine(id, mostOfID)
}

const mostOfID = 64

// isPlainID reports whether an ID has no more than "req-" and a UUID may have.
func isPlainID(id string) bool {
	for _, char := range []byte(strings.TrimPrefix(id, "req-")) {
		if (char < '0' || char > '9') && (char < 'a' || char > 'f') && char != '-' {
			return false
		}
	}
	return len(id) <= mostOfID
}

// IgnoreNotFound returns nil for an error of IsNotFound, and any other as it is: what
// is not there any more is deleted.
func IgnoreNotFound(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}
