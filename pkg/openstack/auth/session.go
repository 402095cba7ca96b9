// Package auth signs in to Keystone and stays signed in. A Session adds its token to
// every request, renews it before it ends and when a service refuses it, and finds the
// services in the catalog.
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

// doing is what the errors of a configuration are wrapped with.
const doing = "configure the cloud session"

// Options are what a session needs beside its credentials. All but Reread have to
// be there.
type Options struct {
	// Transport carries the requests, those to Keystone as well.
	Transport http.RoundTripper
	// UserAgent goes before gophercloud's own.
	UserAgent string
	Clock     clock.Clock
	// Reread returns the configuration as it is now. It is called when Keystone refuses
	// the credentials, of which new ones are taken over; nothing else is. Nil: what
	// SignIn was given is all there is.
	Reread func() (config.Global, error)
}

// Session is signed in to one project in one region of a cloud. It is safe for
// concurrent use.
type Session struct {
	options   Options
	keystone  *keystone
	endpoints endpointSelector
	tokens    *tokenSource
	provider  *gophercloud.ProviderClient

	credential credentialExpiry

	// refreshed is when the catalog was last read again because it lacked a service.
	refreshing sync.Mutex
	refreshed  time.Time

	end        context.CancelFunc
	background sync.WaitGroup
}

// SignIn returns a session that lives until Close. ctx bounds the sign-in and has the
// logger for later. Errors are those of apierror.Wrap: an AuthenticationError inside is
// of a Keystone that could not be asked or refused.
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

// pinned returns the endpoints with the region fixed by the catalog of the first token.
func pinned(ctx context.Context, endpoints endpointSelector, first *token) (endpointSelector, error) {
	fixed, warnings, err := endpoints.pin(first.catalog)
	for _, warning := range warnings {
		klog.FromContext(ctx).Error(nil, warning)
	}
	return fixed, err
}

// SignedIn is a sign-in with other credentials that nothing uses yet.
type SignedIn struct {
	// tried was asked over the connections of the trial, asked is the same over those of the
	// session.
	tried, asked identity
	first        *token
}

// Try signs in with the credentials of a configuration, at its Keystone, through a transport
// of its own, and changes nothing. Errors are those of SignIn; an apierror.OtherProjectError
// is in that of credentials for another project than the session works in.
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

// Trial returns a session as Use would make of this one, whose requests go over the
// connections that the sign-in was tried through. Nothing of it runs in the background, and it
// believes the catalog of the sign-in.
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

// Settled returns a view of the session that does not read the catalog again for a service that
// it lacks.
func (s *Session) Settled() *Session {
	return &Session{
		options: s.options, keystone: s.keystone, endpoints: s.endpoints, tokens: s.tokens, refreshed: s.options.Clock.Now(),
		provider: transport.NewClient(&authTransport{tokens: s.tokens, next: s.options.Transport}, s.options.UserAgent),
	}
}

// Use goes on with another sign-in. Requests under way have their answer; those that begin
// have the new token.
func (s *Session) Use(other *SignedIn) {
	s.tokens.use(other.first, func() { s.keystone.use(other.asked) })
}

// ProjectID returns the project that the session works in.
func (s *Session) ProjectID() string { return s.tokens.current.Load().projectID }

// Identity is who a session works as.
type Identity struct {
	UserID, UserName       string
	ProjectID, ProjectName string
	// Roles are those in the project, in order.
	Roles []string
	// ApplicationCredentialID is "" where it was no such credential that signed in.
	ApplicationCredentialID string
}

// Identity returns who the session works as.
func (s *Session) Identity() Identity { return s.tokens.current.Load().who }

// Refused returns why Keystone does not take our credentials, nil while it does or
// cannot be asked. It is asked again once a minute, with what the configuration has
// then.
func (s *Session) Refused() error {
	if last := s.tokens.failed.Load(); last.refused() {
		return apierror.Wrap(last.err, "sign in at "+s.keystone.current().client.Endpoint)
	}
	return nil
}

// Region returns the configured region, "" when there is none.
func (s *Session) Region() string { return s.endpoints.region }

// PinnedRegion returns the region that the session works in for its whole life: the
// configured one, or the one that was chosen from the catalog at sign-in. It is ""
// when that catalog had no service of ours.
func (s *Session) PinnedRegion() string { return s.endpoints.regionOf("") }

// Close ends the renewals, and waits for it. Requests go on until the token expires.
func (s *Session) Close() {
	s.end()
	s.background.Wait()
}
