package openstack

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// minRenewal is the least time between two renewals in the background, however
	// short the life of the tokens.
	minRenewal = time.Second
	// maxRenewalRetry is the longest time between two tries of a failing renewal.
	maxRenewalRetry = time.Minute
	// issueResolution is that of the time of issue of Keystone's tokens. When all
	// tokens that there are get revoked, those of the rest of that second are worth
	// nothing either.
	issueResolution = time.Second
)

// TokenExpiredError says that the token from the configuration opens nothing any
// more. Only a new one helps.
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

// tokenSource has the token that all requests carry. It renews it before it
// expires, and when a service refuses it; many who need a new one share one
// request for it.
type tokenSource struct {
	issue   func(context.Context) (*token, error)
	clock   clock.Clock
	current atomic.Pointer[token]
	flight  singleflight.Group
	// life ends with the session. Renewals belong to it and not to the request that
	// happens to need one first.
	life context.Context
}

// get gives a token that is worth trying.
func (s *tokenSource) get(ctx context.Context) (*token, error) {
	t := s.current.Load()
	if t.renewable && !t.expires.IsZero() && !s.clock.Now().Before(t.expires) {
		return s.renew(ctx, t)
	}
	return t, nil
}

// renew gives another token than stale. Errors are AuthenticationErrors, or the
// context's.
func (s *tokenSource) renew(ctx context.Context, stale *token) (*token, error) {
	if !stale.renewable {
		expired := &TokenExpiredError{}
		if !stale.expires.IsZero() && !s.clock.Now().Before(stale.expires) {
			expired.At = stale.expires
		}
		return nil, &AuthenticationError{Err: expired}
	}
	done := s.flight.DoChan("", func() (any, error) {
		if t := s.current.Load(); t != stale {
			return t, nil
		}
		t, err := s.issue(s.life)
		if err != nil {
			return nil, err
		}
		s.current.Store(t)
		return t, nil
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*token), nil
	case <-ctx.Done():
		return nil, &AuthenticationError{Err: fmt.Errorf("waiting for a new token: %w", ctx.Err())}
	}
}

// outlive waits for the end of the second in which a token was issued.
func (s *tokenSource) outlive(ctx context.Context, t *token) error {
	timer := s.clock.NewTimer(t.asked.Add(issueResolution).Sub(s.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return &AuthenticationError{Err: fmt.Errorf("waiting for a token of another second: %w", ctx.Err())}
	}
}

// keepFresh renews the token in the background until the session ends.
func (s *tokenSource) keepFresh() {
	logger := klog.FromContext(s.life)
	failures := 0
	for {
		t := s.current.Load()
		if !t.renewable || t.expires.IsZero() {
			return
		}
		wait := max(minRenewal, t.renewAt.Sub(s.clock.Now()))
		if failures > 0 {
			wait = min(maxRenewalRetry, minRenewal<<min(failures, 6))
		}
		if !s.sleep(wait) {
			return
		}
		if now := s.current.Load(); now != t {
			failures = 0 // a refused request was faster
			continue
		}
		if _, err := s.renew(s.life, t); err != nil {
			failures++
			logger.Error(err, "Renewing the Keystone token failed", "failures", failures, "expires", t.expires)
			continue
		}
		failures = 0
		logger.V(2).Info("Renewed the Keystone token", "expires", s.current.Load().expires)
	}
}

// sleep gives false when the session ended first.
func (s *tokenSource) sleep(wait time.Duration) bool {
	timer := s.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-s.life.Done():
		return false
	}
}

// authTransport signs every request. One that a service refuses with 401 did no
// work: it is sent once more with a new token.
type authTransport struct {
	tokens *tokenSource
	next   http.RoundTripper
}

// RoundTrip sends the request with the current token. When a new one is refused,
// too, it tries with one of another second.
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
		if err != nil || resp.StatusCode != http.StatusUnauthorized || hasBody(req) && req.GetBody == nil {
			return resp, err
		}
		resp.Body.Close()
		if tried > 1 {
			if err := t.tokens.outlive(ctx, current); err != nil {
				return nil, err
			}
		}
		if current, err = t.tokens.renew(ctx, current); err != nil {
			return nil, err
		}
		again := signed(req, current)
		if hasBody(req) {
			if again.Body, err = req.GetBody(); err != nil {
				return nil, fmt.Errorf("read the request's body again: %w", err)
			}
		}
		resp, err = t.next.RoundTrip(again)
	}
	return resp, err
}

// signed copies a request and adds the token.
func signed(req *http.Request, t *token) *http.Request {
	req = req.Clone(req.Context())
	req.Header.Set("X-Auth-Token", t.id)
	return req
}
