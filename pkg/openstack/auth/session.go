package auth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// doing is the context of configuration errors.
const doing = "configure the cloud session"

// Options configure a session. All but Reread are required.
type Options struct {
	// Transport sends all requests, including those to Keystone.
	Transport http.RoundTripper
	// UserAgent precedes gophercloud's own.
	UserAgent string
	Clock     clock.Clock
	// Reread returns the current configuration. It is called when Keystone refuses the credentials,
	// and only its credentials are used. Nil means that the credentials do not change.
	Reread func() (config.Global, error)
}

// Session is an authenticated session in one project and one region. It is safe for concurrent use.
type Session struct {
	options   Options
	keystone  *keystone
	endpoints endpointSelector
	tokens    *tokenSource
	provider  *gophercloud.ProviderClient

	credential credentialExpiry

	// refreshed is the time when the catalog was last read again because of a missing service.
	refreshing sync.Mutex
	refreshed  time.Time

	end        context.CancelFunc
	background sync.WaitGroup
}

// SignIn returns a session that lives until Close. ctx limits the sign-in and provides the logger
// of the session. Errors are those of apierror.Wrap; they contain an AuthenticationError if
// Keystone could not be reached or refused the credentials.
func SignIn(ctx context.Context, cfg config.Global, options Options) (*Session, error) {
	asked, err := newIdentity(cfg, options.Transport, options.UserAgent)
	if err != nil {
		return nil, err
	}
	endpoints, err := newEndpointSelector(cfg)
	if err != nil {
		return nil, apierror.Wrap(err, doing)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	keystone := &keystone{clock: options.Clock, now: asked}
	s := &Session{options: options, keystone: keystone, end: end, tokens: &tokenSource{
		issue:  keystone.issue,
		reread: func(ctx context.Context) bool { return keystone.reread(ctx, options.Reread) },
		clock:  options.Clock,
		woken:  make(chan struct{}, 1),
		life:   life,
	}}
	first, err := s.tokens.issue(ctx)
	if err != nil {
		end()
		return nil, apierror.Wrap(err, "sign in at "+asked.client.Endpoint)
	}
	s.tokens.current.Store(first)
	if s.endpoints, err = pinned(ctx, endpoints, first); err != nil {
		end()
		return nil, apierror.Wrap(err, doing)
	}
	s.provider = transport.NewClient(&authTransport{tokens: s.tokens, next: options.Transport}, options.UserAgent)
	s.background.Go(s.tokens.keepFresh)
	return s, nil
}

// pinned returns the endpoints with the region that the catalog of the first token selects.
func pinned(ctx context.Context, endpoints endpointSelector, first *token) (endpointSelector, error) {
	fixed, warnings, err := endpoints.pin(first.catalog)
	for _, warning := range warnings {
		klog.FromContext(ctx).Error(nil, warning)
	}
	return fixed, err
}

// SignedIn is a sign-in with other credentials that is not in use yet.
type SignedIn struct {
	// tried uses the connections of the trial, asked those of the session.
	tried, asked identity
	first        *token
}

// Try signs in with the credentials of a configuration, at its Keystone, through its own transport,
// without changing the session. Errors are those of SignIn; they contain an
// apierror.OtherProjectError for credentials of another project.
func (s *Session) Try(ctx context.Context, cfg config.Global, carrier http.RoundTripper) (*SignedIn, error) {
	tried, err := newIdentity(cfg, carrier, s.options.UserAgent)
	if err != nil {
		return nil, err
	}
	first, err := tried.issue(ctx, s.options.Clock)
	if err == nil && first.projectID != s.ProjectID() {
		err = &apierror.AuthenticationError{Err: &apierror.OtherProjectError{Signed: s.ProjectID(), Given: first.projectID}}
	}
	if err != nil {
		return nil, apierror.Wrap(err, "sign in at "+tried.client.Endpoint)
	}
	asked, err := newIdentity(cfg, s.options.Transport, s.options.UserAgent)
	return &SignedIn{tried: tried, asked: asked, first: first}, err
}

// Trial returns the session that Use would produce, with the connections of the trial. It has no
// background work, and trusts the catalog of the sign-in.
func (s *Session) Trial(other *SignedIn, carrier http.RoundTripper) *Session {
	tried := &keystone{clock: s.options.Clock, now: other.tried}
	tokens := &tokenSource{
		issue:  tried.issue,
		reread: func(context.Context) bool { return false },
		clock:  s.options.Clock,
		woken:  make(chan struct{}, 1),
		life:   s.tokens.life,
	}
	tokens.current.Store(other.first)
	options := s.options
	options.Transport = carrier
	return (&Session{options: options, keystone: tried, endpoints: s.endpoints, tokens: tokens}).Settled()
}

// Settled returns a view of the session that does not read the catalog again for a missing service.
func (s *Session) Settled() *Session {
	return &Session{
		options: s.options, keystone: s.keystone, endpoints: s.endpoints, tokens: s.tokens, refreshed: s.options.Clock.Now(),
		provider: transport.NewClient(&authTransport{tokens: s.tokens, next: s.options.Transport}, s.options.UserAgent),
	}
}

// Use switches to another sign-in. Pending requests complete; new ones use the new token.
func (s *Session) Use(other *SignedIn) {
	s.tokens.use(other.first, func() { s.keystone.use(other.asked) })
}

// ProjectID returns the project of the session.
func (s *Session) ProjectID() string { return s.tokens.current.Load().projectID }

// Identity is the authenticated user.
type Identity struct {
	UserID, UserName       string
	ProjectID, ProjectName string
	// Roles in the project, sorted.
	Roles []string
	// ApplicationCredentialID is "" if another method is used.
	ApplicationCredentialID string
}

// Identity returns the authenticated user.
func (s *Session) Identity() Identity { return s.tokens.current.Load().who }

// Refused returns the reason why Keystone refuses our credentials, nil if it accepts them or is
// unreachable. The sign-in is retried once a minute with the current configuration.
func (s *Session) Refused() error {
	if last := s.tokens.failed.Load(); last.refused() {
		return apierror.Wrap(last.err, "sign in at "+s.keystone.current().client.Endpoint)
	}
	return nil
}

// Region returns the configured region, "" if there is none.
func (s *Session) Region() string { return s.endpoints.region }

// PinnedRegion returns the region of the session: the configured one, or the one selected from the
// catalog at sign-in. It is "" if that catalog had none of the services.
func (s *Session) PinnedRegion() string { return s.endpoints.regionOf("") }

// Close stops the renewals and waits for their end. Requests work until the token expires.
func (s *Session) Close() {
	s.end()
	s.background.Wait()
}
