package auth

import (
	"fmt"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// authTransport adds the token to every request. A request that a service refuses with 401 was not
// executed: it is sent once more with a new token.
type authTransport struct {
	tokens *tokenSource
	next   http.RoundTripper
}

// RoundTrip sends the request with the current token and, if that is refused, with a new one. If no
// token is accepted, the 401 is the answer.
func (t *authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	ctx := req.Context()
	current, err := t.tokens.get(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(signed(req, current))
	for tried := 1; tried < 3; tried++ {
		if err != nil || resp.StatusCode != http.StatusUnauthorized || rest.HasBody(req) && req.GetBody == nil {
			return resp, err
		}
		if !t.tokens.worthReplacing(current) {
			return resp, err
		}
		resp.Body.Close()
		if current, err = t.tokens.renew(ctx, current); err != nil {
			return nil, err
		}
		again := signed(req, current)
		if rest.HasBody(req) {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, fmt.Errorf("read the request's body again: %w", err)
			}
		}
		resp, err = t.next.RoundTrip(again)
	}
	return resp, err
}

// signed returns a copy of a request with the token.
func signed(req *http.Request, t *token) *http.Request {
	return rest.With(req.Context(), req, "X-Auth-Token", t.id)
}
