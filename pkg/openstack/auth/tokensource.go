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
	// minRenewal is the least age at which a token is renewed in the background,
	// however short its life: that of an application credential that is about to
	// expire shrinks with it.
	minRenewal = 30 * time.Second
	// youngToken is an age below which a refusal speaks against the service that
	// refuses rather than against the token.
	youngToken = 30 * time.Second
	// maxReplacements is how many tokens in a row may replace one that was refused,
	// each while it is young. The second one is for issueResolution.
	maxReplacements = 2
	// issueResolution is that of the time of issue of Keystone's tokens. When all
	// tokens that there are get revoked, those of the rest of that second are worth
	// nothing either.
	issueResolution = time.Second
)

// tokenSource has the token that all requests carry. It renews it before it
// expires, and when a service refuses it; many who need a new one share one
// request for it. A sign-in that failed is remembered: until it is time for the
// next one, whoever needs a token gets its error.
type tokenSource struct {
	issue func(context.Context) (*token, error)
	// reread takes over the credentials that the configuration has by now, and reports
	// whether they are others than before.
	reread func(context.Context) bool
	// others is set when they are, and yielded no token yet. It belongs to the flight.
	others  bool
	clock   clock.Clock
	current atomic.Pointer[token]
	flight  singleflight.Group
	// signing is held by whoever replaces the token.
	signing sync.Mutex
	// failed is nil unless the last sign-in failed; woken wakes keepFresh then, and when
	// the token is replaced.
	failed atomic.Pointer[failedSignIn]
	woken  chan struct{}
	// life ends with the session. Renewals belong to it and not to the request that
	// happens to need one first.
	life context.Context
}

// get returns a token that is worth trying.
func (s *tokenSource) get(ctx context.Context) (*token, error) {
	t := s.current.Load()
	if t.expired(s.clock.Now()) {
		return s.renew(ctx, t)
	}
	return t, nil
}

// worthReplacing reports whether another token may help where a service refused this
// one. When those that replaced it while it was young are refused as well, it is the
// service that is out of order: it has to do with the token until that is no longer
// young.
func (s *tokenSource) worthReplacing(refused *token) bool {
	return s.current.Load() != refused || refused.replaced < maxReplacements ||
		!refused.young(s.clock.Now())
}

// renew returns another token than stale. Errors are AuthenticationErrors, or the
// context's.
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

// signIn replaces the token, unless that failed a short time ago. What replaces a
// replacement is of another second, see issueResolution. Only one call at a time runs.
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

// readAgain reads a token that cannot be renewed again, for its catalog, unless another has
// taken its place.
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

// use replaces the token by one that other credentials have yielded, which change puts in
// the place of the old ones. A sign-in with those that is under way ends before.
func (s *tokenSource) use(t *token, change func()) {
	s.signing.Lock()
	defer s.signing.Unlock()
	change()
	s.others = false
	s.current.Store(t)
	s.failed.Store(nil)
	s.wake()
}

// wake has keepFresh look anew at when it is time for the next sign-in.
func (s *tokenSource) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// tryCredentials asks for a token. Credentials that Keystone refuses are read again.
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
	rest := t.asked.Add(issueResolution).Sub(s.clock.Now())
	if rest <= 0 {
		return nil
	}
	timer := s.clock.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-s.life.Done():
		return &apierror.AuthenticationError{Err: fmt.Errorf("the controller is stopping: %w", s.life.Err())}
	}
}

// keepFresh renews the token in the background until the session ends. A sign-in
// that failed, whoever needed it, is tried again when its time has come.
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

// untilRenewal returns the time until it is time to ask for a token.
func (s *tokenSource) untilRenewal() time.Duration {
	due := s.current.Load().due()
	if last := s.failed.Load(); last != nil {
		due = last.again
	}
	return due.Sub(s.clock.Now())
}

// sleep returns after the time, or when it is woken. It returns false when the
// session ended first.
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
