package main

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	apiserver "k8s.io/apiserver/pkg/server"
)

// readyPath is for readiness probes: it fails while this replica cannot do its work. healthPath,
// which the controller manager serves, is for liveness probes: refused credentials are no reason to
// restart.
const (
	readyPath  = "/readyz"
	healthPath = "/healthz"
)

// addReadiness adds readyPath to the HTTP server. The controller manager creates that server, which
// cannot be extended; only its authenticator is ours, and receives requests before they are served.
func addReadiness(auth *apiserver.AuthenticationInfo, ready func() error) {
	if auth.Authenticator != nil {
		auth.Authenticator = &readiness{next: auth.Authenticator, ready: func() bool { return ready() == nil }}
	}
}

// readiness makes requests for readyPath return the answer of healthPath while ready returns nil,
// and 401 otherwise.
type readiness struct {
	next  authenticator.Request
	ready func() bool
}

// AuthenticateRequest implements authenticator.Request.
func (r *readiness) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.URL.Path == readyPath {
		if !r.ready() {
			return nil, false, nil // the reason is in the log
		}
		req.URL.Path = healthPath
	}
	return r.next.AuthenticateRequest(req)
}
