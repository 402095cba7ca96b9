package main

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	apiserver "k8s.io/apiserver/pkg/server"
)

// readyPath tells whether this replica could do its work. healthPath, which upstream
// serves, tells whether it lives: refused credentials are no reason to start it
// again.
const (
	readyPath  = "/readyz"
	healthPath = "/healthz"
)

// tellReadiness adds readyPath to the HTTP server. Upstream makes that server itself
// and lets nobody add to it; the only thing of ours that sees a request before it is
// served is what authenticates it.
func tellReadiness(auth *apiserver.AuthenticationInfo, ready func() error) {
	if auth.Authenticator != nil {
		auth.Authenticator = &readiness{next: auth.Authenticator, ready: ready}
	}
}

// readiness answers requests for readyPath as those for healthPath as long as we are
// ready, and turns them away with 401 while we are not.
type readiness struct {
	next  authenticator.Request
	ready func() error
}

// AuthenticateRequest implements authenticator.Request.
func (r *readiness) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.URL.Path == readyPath {
		if r.ready() != nil {
			return nil, false, nil // why is in the log
		}
		req.URL.Path = healthPath
	}
	return r.next.AuthenticateRequest(req)
}
