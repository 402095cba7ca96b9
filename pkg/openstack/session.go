// Package openstack is our access to a cloud's API: a session that signs in and
// stays signed in, a transport that measures, limits and repeats requests without
// ever doing a write twice by accident, errors told apart by what to do about
// them, and typed calls. It knows no Kubernetes.
package openstack

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
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// SessionOptions tune a session. The zero value is good.
type SessionOptions struct {
	// UserAgent goes before gophercloud's own:
	// "openstack-cloud-controller-manager/VERSION".
	UserAgent string
	// Timeout is for one attempt at a request, with its answer: 60 s.
	Timeout time.Duration
	// Reread gives the configuration as it is now. It is asked when Keystone refuses
	// the credentials, of which new ones are taken over; nothing else is. Nil: what
	// NewSession was given is all there is.
	Reread func() (config.Global, error)
	// Clock is the real one when nil.
	Clock clock.Clock
	// Metrics count the requests when not nil.
	Metrics *Metrics
	// Limits bound the requests in flight.
	Limits Limits
	// Retry says how requests are repeated.
	Retry RetryPolicy
	// MaxBodyBytes bounds an answer: 64 MiB.
	MaxBodyBytes int64
	// LoadBalancerVersion is taken for the version of the load balancer API; zero: it
	// is asked for.
	LoadBalancerVersion octavia.Version
	// VersionAge is how long the load balancer API's version is believed: 10 min.
	VersionAge time.Duration
}

func (o SessionOptions) withDefaults() SessionOptions {
	if o.UserAgent == "" {
		o.UserAgent = "openstack-cloud-controller-manager"
	}
	if o.Timeout == 0 {
		o.Timeout = 60 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = defaultMaxBody
	}
	if o.VersionAge == 0 {
		o.VersionAge = 10 * time.Minute
	}
	o.Limits = o.Limits.withDefaults()
	o.Retry = o.Retry.withDefaults()
	return o
}

// Session is a signed-in connection to one project in one region of a cloud. All
// services share its token, its connections and its limits. It is safe for
// concurrent use.
type Session struct {
	endpoints endpointChoice
	tokens    *tokenSource
	provider  *gophercloud.ProviderClient
	versions  *octavia.VersionReader

	// refreshed is when the catalog was last read anew because it lacked a service.
	refreshing sync.Mutex
	refreshed  time.Time

	drain       drain
	connections *http.Transport
	end         context.CancelFunc
	background  sync.WaitGroup
}

// NewSession signs in. ctx bounds that and gives the logger for later; the session
// lives until Close. Errors are those of Wrap: an AuthenticationError inside says
// that Keystone could not be asked or refused.
func NewSession(ctx context.Context, cfg config.Global, opts SessionOptions) (*Session, error) {
	const doing = "configure the cloud session"
	opts = opts.withDefaults()
	creds, err := newCredentials(cfg)
	if err != nil {
		return nil, apierror.Wrap(err, doing)
	}
	identity, err := identityEndpoint(cfg.AuthURL)
	if err != nil {
		return nil, apierror.Wrap(err, doing)
	}
	endpoints, err := newEndpointChoice(cfg)
	if err != nil {
		return nil, apierror.Wrap(err, doing)
	}
	connections, err := newTransport(cfg, opts.Limits.perHost())
	if err != nil {
		return nil, apierror.Wrap(err, doing)
	}
	if cfg.TLSInsecure {
		klog.FromContext(ctx).Info("Certificates of the cloud's services are not verified: tls-insecure is set")
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &Session{endpoints: endpoints, connections: connections, end: end}
	chain := newChain(connections, opts, &s.drain)
	keystone := newKeystone(identity, creds, chain, opts.UserAgent, opts.Clock)
	s.tokens = &tokenSource{
		issue:  keystone.issue,
		reread: func(ctx context.Context) bool { return keystone.reread(ctx, opts.Reread) },
		clock:  opts.Clock,
		woken:  make(chan struct{}, 1),
		life:   life,
	}
	first, err := s.tokens.issue(ctx)
	if err != nil {
		s.Close()
		return nil, apierror.Wrap(err, "sign in at "+identity)
	}
	s.tokens.current.Store(first)
	if err := s.pinRegion(ctx, first); err != nil {
		s.Close()
		return nil, apierror.Wrap(err, doing)
	}
	s.provider = newProvider(identity, &authTransport{tokens: s.tokens, next: chain}, opts.UserAgent)
	s.versions = octavia.NewVersionReader(life, s, octavia.VersionOptions{
		Fixed: opts.LoadBalancerVersion, Age: opts.VersionAge, Clock: opts.Clock,
	})
	s.background.Go(s.tokens.keepFresh)
	return s, nil
}

// newChain is the way of every request: measured, repeated, let in, sent.
func newChain(base http.RoundTripper, opts SessionOptions, drain *drain) http.RoundTripper {
	retry := &retryTransport{
		exchange: &exchange{base: base, timeout: opts.Timeout, maxBody: opts.MaxBodyBytes},
		pacer:    newPacer(opts.Limits, opts.Clock, opts.Metrics),
		policy:   opts.Retry,
		clock:    opts.Clock,
		metrics:  opts.Metrics,
		jitter:   fullJitter,
		drain:    drain,
	}
	return &observeTransport{next: retry, metrics: opts.Metrics, clock: opts.Clock}
}

// newProvider makes gophercloud's client. It neither knows a token nor renews one:
// that is the transport's work, as gophercloud holds up every request while it
// renews, and fails them all when the one that began it is cancelled.
func newProvider(identity string, transport http.RoundTripper, userAgent string) *gophercloud.ProviderClient {
	provider := &gophercloud.ProviderClient{
		IdentityBase:     identity,
		IdentityEndpoint: identity,
		HTTPClient:       http.Client{Transport: transport, CheckRedirect: sameHostReads},
	}
	provider.UseTokenLock()
	provider.UserAgent.Prepend(userAgent)
	return provider
}

// Octavia returns a client of the load balancer service.
func (s *Session) Octavia() *octavia.Client { return octavia.New(s) }

// Neutron returns a client of the network service.
func (s *Session) Neutron() *neutron.Client { return neutron.New(s) }

// Nova returns a client of the compute service.
func (s *Session) Nova() *nova.Client { return nova.New(s) }

// Barbican returns a client of the key manager.
func (s *Session) Barbican() *barbican.Client { return barbican.New(s) }

// LoadBalancerVersion returns the newest version of the load balancer API that the
// service speaks, as octavia.VersionReader does.
func (s *Session) LoadBalancerVersion(ctx context.Context) (octavia.Version, error) {
	return s.versions.Version(ctx)
}

// ProjectID returns the project that the session works in.
func (s *Session) ProjectID() string { return s.tokens.current.Load().projectID }

// Refused gives why Keystone does not take our credentials, nil while it does or
// cannot be asked. It goes on asking once a minute, with what the configuration has
// then.
func (s *Session) Refused() error {
	if last := s.tokens.failed.Load(); last.refused() {
		return apierror.Wrap(last.err, "sign in at "+s.provider.IdentityEndpoint)
	}
	return nil
}

// Region gives the configured region, "" when there is none.
func (s *Session) Region() string { return s.endpoints.region }

// PinnedRegion gives the region that the session works in for its whole life: the
// configured one, or the one that was chosen from the catalog at sign-in. It is ""
// when that catalog had no service of ours.
func (s *Session) PinnedRegion() string { return s.endpoints.regionOf("") }

func (s *Session) pinRegion(ctx context.Context, first *token) error {
	pinned, warnings, err := s.endpoints.pin(first.catalog)
	for _, warning := range warnings {
		klog.FromContext(ctx).Error(nil, warning)
	}
	s.endpoints = pinned
	return err
}

// Close ends what runs in the background, and waits for it. Requests in flight go
// on; new ones work until the token expires.
func (s *Session) Close() {
	s.end()
	s.background.Wait()
	s.connections.CloseIdleConnections()
}
