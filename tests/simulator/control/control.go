// Package control is the HTTP API by which a test or a person controls and inspects a running
// simulator: it adds and removes servers, counts requests, and injects faults. It is not part of
// OpenStack. It needs no token, and therefore accepts only connections from the loopback network.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// Prefix is the path under which the handler is mounted, with the trailing slash.
const Prefix = "/_sim/"

// problem is a refusal of this API.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func refuse(status int, format string, args ...any) *problem {
	return &problem{status: status, text: fmt.Sprintf(format, args...)}
}

// answer is what an endpoint returns on success: a status code and a body, nil for none.
type answer struct {
	status int
	body   any
}

// endpoint serves one route.
type endpoint func(r *http.Request) (answer, error)

// ServeHTTP implements http.Handler.
func (f endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, err := f(r)
	if err != nil {
		result = failure(err)
	}
	if result.body == nil {
		w.WriteHeader(result.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(result.status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(result.body) // the caller hung up
}

// failure returns the answer for an error, with its status.
func failure(err error) answer {
	status := http.StatusInternalServerError
	var refusal *problem
	var neutronError *neutron.Error
	switch {
	case errors.As(err, &refusal):
		status = refusal.status
	case errors.As(err, &neutronError):
		status = neutronError.Status
	}
	return answer{status: status, body: map[string]string{"error": err.Error()}}
}

// read decodes the request's JSON body. Unknown keys are refused, because a misspelt one would
// otherwise be ignored silently.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "read the request's JSON body: %v", err)
	}
	return nil
}

// loopbackOnly refuses callers outside of the loopback network.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "the control API answers callers on the loopback network only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
