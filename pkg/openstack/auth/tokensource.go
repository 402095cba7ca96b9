package auth

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

const (
	// minRenewal is the minimum age at which a token is renewed in the background: the life of
	// tokens shrinks when an application credential is about to expire.
	minRenewal = 30 * time.Second
	// youngToken is the age below which a refusal indicates a broken service rather than an invalid
	// token.
	youngToken = 30 * time.Second
	// maxReplacements is the maximum number of consecutive replacements of young tokens. The second
	// one is for issueResolution.
	maxReplacements = 2
	// issueResolution is the resolution of the issue time of Keystone's tokens. A revocation of all
	// tokens also covers those issued in the rest of that second.
	issueResolution = time.Second
)

// tokenSource holds the token of all requests. It renews it before it expires, and when a service
// refuses it; concurrent renewals share one request. It remembers a failed sign-in: until the next
// attempt is due, all callers get its error.
type tokenSource struct {
	issue func(context.Context) (*token, error)
	// reread loads the credentials of the current configuration, and reports whether they have
	// changed.
	reread func(context.Context) bool
	// others is set if they have changed and issued no token yet. The flight owns it.
	others  bool
	clock   clock.Clock
	current atomic.Pointer[token]
	flight  singleflight.Group
	// signing is held while the token is replaced.
	signing sync.Mutex
	// failed is nil unless the last sign-in failed. woken wakes keepFresh after a failure and after
	// a replacement.
	failed atomic.Pointer[failedSignIn]
	woken  chan struct{}
	// life ends with the session. It is the context of renewals, instead of that of the request
	// that needs one first.
	life context.Context
}

// get returns a token that may be valid.
func (s *tokenSource) get(ctx context.Context) (*token, error) {
	t := s.current.Load()
	if t.expired(s.clock.Now()) {
		return s.renew(ctx, t)
	}
	return t, nil
}

// worthReplacing reports whether a new token may help if a service refuses this one. If the
// replacements of young tokens are refused as well, the service is broken: it gets the same token
// until that is no longer young.
func (s *tokenSource) worthReplacing(refused *token) bool {
	return s.current.Load() != refused || refused.replaced < maxReplacements ||
		!refused.young(s.clock.Now())
}

// renew returns a token other than stale. Errors are AuthenticationErrors, or the context's.
func (s *tokenSource) renew(ctx context.Context, stale *token) (*token, error) {
	done := s.flight.DoChan("", func() (any, error) {
		s.signing.Lock()
		defer s.signing.Unlock()
		if t := s.current.Load(); t != stale {
			return t, nil
		}
		return s.signIn(stale)
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*token), nil
	case <-ctx.Done():
		return nil, &apierror.AuthenticationError{Err: fmt.Errorf("waiting for a new token: %w", ctx.Err())}
	}
}

// signIn replaces the token, unless it failed recently. The replacement of a replacement is issued
// in another second, see issueResolution. Only one call runs at a time.
func (s *tokenSource) signIn(stale *token) (*token, error) {
	if stale.replaced > 0 {
		if err := s.outlive(stale); err != nil {
			return nil, err
		}
	}
	last := s.failed.Load()
	if last.waits(s.clock.Now()) {
		return nil, last.err
	}
	t, err := s.tryCredentials(stale, last)
	if err != nil {
		s.failed.Store(last.next(err, s.clock.Now()))
		s.wake()
		return nil, err
	}
	if t.replaced = 1; stale.young(s.clock.Now()) {
		t.replaced += stale.replaced
	}
	s.current.Store(t)
	s.failed.Store(nil)
	return t, nil
}

// readAgain reads a token that cannot be renewed again, for its catalog, unless it was replaced.
func (s *tokenSource) readAgain(ctx context.Context, stale *token) error {
	s.signing.Lock()
	defer s.signing.Unlock()
	if s.current.Load() != stale {
		return nil
	}
	t, err := s.issue(ctx)
	if err == nil {
		s.current.Store(t)
	}
	return err
}

// use replaces the token by one of other credentials, and calls change to replace the credentials.
// It waits for a sign-in in progress.
func (s *tokenSource) use(t *token, change func()) {
	s.signing.Lock()
	defer s.signing.Unlock()
	change()
	s.others = false
	s.current.Store(t)
	s.failed.Store(nil)
	s.wake()
}

// wake makes keepFresh compute the time of the next sign-in again.
func (s *tokenSource) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// tryCredentials requests a token. If Keystone refuses the credentials, it reads them again.
func (s *tokenSource) tryCredentials(stale *token, last *failedSignIn) (*token, error) {
	if (last.refused() || !stale.renewable) && s.reread(s.life) {
		s.others = true
	}
	if !stale.renewable && !s.others {
		return nil, stale.cannotBeRenewed(s.clock.Now())
	}
	t, err := s.issue(s.life)
	if apierror.IsCredentialsRefused(err) && s.reread(s.life) {
		s.others = true
		t, err = s.issue(s.life)
	}
	if err == nil && t.projectID != stale.projectID {
		err = &apierror.AuthenticationError{Err: &apierror.OtherProjectError{Signed: stale.projectID, Given: t.projectID}}
	}
	s.others = s.others && err != nil
	return t, err
}

// outlive waits for the end of the second in which a token was issued.
func (s *tokenSource) outlive(t *token) error {
	remaining := t.asked.Add(issueResolution).Sub(s.clock.Now())
	if remaining <= 0 {
		return nil
	}
	timer := s.clock.NewTimer(remaining)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-s.life.Done():
		return &apierror.AuthenticationError{Err: fmt.Errorf("the controller is stopping: %w", s.life.Err())}
	}
}

// keepFresh renews the token in the background until the session ends, and retries failed sign-ins
// when they are due.
func (s *tokenSource) keepFresh() {
	logger := klog.FromContext(s.life)
	for s.sleep(s.untilRenewal()) {
		if s.untilRenewal() > 0 {
			continue // a request was faster
		}
		stale := s.current.Load()
		fresh, err := s.renew(s.life, stale)
		if err != nil {
			logger.Error(err, "Renewing the Keystone token failed", "expires", stale.expires, "again", s.untilRenewal())
			continue
		}
		logger.V(2).Info("Renewed the Keystone token", "expires", fresh.expires)
	}
}

// untilRenewal returns the time until the next token is due.
func (s *tokenSource) untilRenewal() time.Duration {
	due := s.current.Load().due()
	if last := s.failed.Load(); last != nil {
		due = last.again
	}
	return due.Sub(s.clock.Now())
}

// sleep waits for a time, or until it is woken. It returns false if the session ended.
func (s *tokenSource) sleep(wait time.Duration) bool {
	timer := s.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-s.woken:
	case <-s.life.Done():
	}
	return s.life.Err() == nil
}
