package main

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	apiserver "k8s.io/apiserver/pkg/server"
)

// readyPath is for readiness probes: it fails while this replica could not do its work.
// healthPath, which the controller manager serves, is for liveness probes: refused
// credentials are no reason to restart.
const (
	readyPath  = "/readyz"
	healthPath = "/healthz"
)

// addReadiness adds readyPath to the HTTP server. The controller manager creates that server
// and has no way to add a path; the only thing of ours that sees a request before it is
// served is its authenticator.
func addReadiness(auth *apiserver.AuthenticationInfo, ready func() error) {
	if auth.Authenticator != nil {
		auth.Authenticator = &readiness{next: auth.Authenticator, ready: func() bool { return ready() == nil }}
	}
}

// readiness has requests for readyPath answered as those for healthPath while ready returns
// nil, and else with 401.
type readiness struct {
	next  authenticator.Request
	ready func() bool
}

// AuthenticateRequest implements authenticator.Request.
func (r *readiness) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.URL.Path == readyPath {
		if !r.ready() {
			return nil, false, nil // why is in the log
		}
		req.URL.Path = healthPath
	}
	return r.next.AuthenticateRequest(req)
}
