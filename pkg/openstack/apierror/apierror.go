// Package apierror classifies the errors of the OpenStack API by the reaction that they need, and
// formats them for events.
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

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// response returns the service's refusal in an error, nil if there is none. gophercloud returns it
// as a value and as a pointer.
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

// refusal is the answer of a service to an authenticated request of ours. The zero value means that
// there was no answer.
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

// isService reports whether the answer came from an OpenStack service and not from a proxy: it has
// a request ID, or an error body in one of OpenStack's formats.
func (r refusal) isService() bool { return r.body.known || RequestIDOf(r.header) != "" }

// StatusCode returns the HTTP status of the answer, 0 without an answer. It is 401 if the sign-in
// failed.
func StatusCode(err error) int { return refusalOf(err).status }

// IsNotFound reports whether the object of a request does not exist. It is false for a 404 of a
// proxy (no request ID and no OpenStack error body), for an unknown path, and for Neutron's error
// about a missing router.
func IsNotFound(err error) bool {
	r := refusalOf(err)
	switch {
	case r.status != http.StatusNotFound, r.body.unknownPath, r.body.neutronType == noRouter:
		return false
	}
	return r.isService()
}

// IsConflict reports whether the state of an object does not permit the request (409). It is false
// for an exhausted quota or address pool: see IsQuota.
func IsConflict(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict && !r.isQuota()
}

// IsLocked reports whether a load balancer, or a pool in ERROR, accepts no changes in its present
// state. Only the text of the message shows it, which has been the same since the Rocky release.
func IsLocked(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusConflict &&
		(strings.Contains(r.body.message, "is immutable") || strings.Contains(r.body.message, "Invalid state "))
}

// IsQuota reports whether a quota or an address pool is exhausted. Octavia's 403 for a quota
// differs from a policy error only in its text.
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

// isVIPQuota reports whether Neutron's quota prevented the port of a VIP. Octavia, which creates
// the port first, then answers 500 with Neutron's message and has created nothing.
func (r refusal) isVIPQuota() bool {
	const from = "Provider '"
	return r.body.known && strings.HasPrefix(r.body.message, from) &&
		(strings.Contains(r.body.message, quotaExceeded) || strings.Contains(r.body.message, noMoreAddresses))
}

// IsPartsQuota reports whether one of Octavia's quotas for parts of load balancers (listeners,
// pools, members, health monitors) is exhausted, and not the one for load balancers.
func IsPartsQuota(err error) bool {
	r := refusalOf(err)
	return r.isQuota() && strings.HasPrefix(r.body.message, quotaMet) && !strings.HasPrefix(r.body.message, quotaMet+"Load Balancer")
}

// IsCrash reports whether the service itself failed: a 500 with its own error body, not a proxy's.
// It may have executed the request.
func IsCrash(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusInternalServerError && r.body.known && !r.isVIPQuota()
}

// IsSourceRangeCrash reports the 500 with which Octavia 12.0.0, 13.0.0 and 14.0.0 answer the
// creation of a load balancer that includes a listener with allowed_cidrs.
func IsSourceRangeCrash(err error) bool {
	return IsCrash(err) && strings.Contains(refusalOf(err).body.message, "None does not appear to be an IPv4 or IPv6 address")
}

// IsForbidden reports whether a role or a policy forbids the request.
func IsForbidden(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusForbidden && !r.isQuota()
}

// IsUnknownMarker reports whether an error of a list can mean that the object of its marker was
// deleted.
func IsUnknownMarker(err error) bool { return IsInvalid(err) || IsNotFound(err) }

// IsInvalid reports whether the request will fail until it or the cloud changes: an invalid value
// (400), an unsupported feature of the provider (501), a floating IP for a subnet without a router.
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

// IsUnsupported reports whether the provider of a load balancer does not support the request:
// Octavia answers 501 to every option and action that a driver refuses or does not implement.
func IsUnsupported(err error) bool { return refusalOf(err).status == http.StatusNotImplemented }

// IsNoRoute reports whether a refusal by Octavia, or by a proxy in front of it, can mean that
// requests of this kind are not supported, regardless of their content. It is false for refusals
// because of a quota and, if the message is Octavia's, because of a value, a missing object or a
// policy.
//
//	405, 406, 413, 414, 415, 422, 431   yes
//	404                                 unknown URL: by Octavia's message, or without one
//	400, 403                            without Octavia's error body
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

// IsUnsure reports whether a failed write may have been executed: there was no complete answer
// after it was sent, or an ambiguous one such as 500, 502, 503 or 504. Look for the result before
// you repeat it. It is false for reads, for refusals (4xx, 501), and for requests that certainly
// did not arrive.
func IsUnsure(err error) bool {
	if err == nil || IsNotSignedIn(err) {
		return false
	}
	var silent *NoAnswerError
	if errors.As(err, &silent) {
		return silent.Sent && rest.IsWrite(silent.Method)
	}
	if r := refusalOf(err); r.status != 0 {
		refused := r.status >= http.StatusBadRequest && r.status < http.StatusInternalServerError || r.isVIPQuota()
		return rest.IsWrite(r.method) && !refused && r.status != http.StatusNotImplemented
	}
	return IsUnreadable(err)
}

// IsUnreadable reports whether the answer to an accepted request could not be decoded. A request
// without a complete answer does not count.
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

// RequestID returns the request ID of the service's answer (req-…), "" if it has none. Operators
// find the request in the service's log with it.
func RequestID(err error) string {
	if resp := response(err); resp != nil {
		return RequestIDOf(resp.ResponseHeader)
	}
	return ""
}

// RequestIDOf returns the request ID in the header of an answer, "" if it has none. Old releases of
// Nova use another header. The length of the ID is limited, because events contain it.
func RequestIDOf(header http.Header) string {
	id := header.Get("X-Openstack-Request-Id")
	if id == "" {
		id = header.Get("X-Compute-Request-Id")
	}
	if isPlainID(id) { // the usual form
		return id
	}
	return oneLine(id, mostOfID)
}

const mostOfID = 64

// isPlainID reports whether an ID has only the characters of "req-" and a UUID.
func isPlainID(id string) bool {
	for _, char := range []byte(strings.TrimPrefix(id, "req-")) {
		if (char < '0' || char > '9') && (char < 'a' || char > 'f') && char != '-' {
			return false
		}
	}
	return len(id) <= mostOfID
}

// IgnoreNotFound returns nil if IsNotFound(err), else err. A deletion has succeeded if the object
// does not exist.
func IgnoreNotFound(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}
