package openstack

import (
	"context"
	"net"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// SessionOptions configure a session. The zero value is valid.
type SessionOptions struct {
	// UserAgent precedes gophercloud's own: "openstack-cloud-controller-manager/VERSION".
	UserAgent string
	// Timeout limits one attempt of a request with its answer; zero means 60 s.
	Timeout time.Duration
	// Reread returns the current configuration: see auth.Options.
	Reread func() (config.Global, error)
	// Clock; nil means the real one.
	Clock clock.Clock
	// Metrics count the requests; may be nil.
	Metrics *transport.Metrics
	// Limits are the maximum numbers of concurrent requests.
	Limits limiter.Limits
	// Retry defines how requests are repeated.
	Retry transport.RetryPolicy
	// Dial opens connections; nil means the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ReadOnly refuses every write except a sign-in with transport.ErrReadOnly.
	ReadOnly bool
	// MaxBodyBytes limits an answer; zero means 64 MiB.
	MaxBodyBytes int64
	// LoadBalancerVersion replaces the version that the load balancer API reports; zero means that
	// it is queried.
	LoadBalancerVersion model.Version
	// Regions are additional regions with servers.
	Regions []string
	// Unused are the services that the session does not use, by their names in package rest.
	// Replace accepts credentials without them.
	Unused []string
	// VersionAge is how long the version of the load balancer API is cached; zero means 10 min.
	VersionAge time.Duration
}

func (o SessionOptions) withDefaults() SessionOptions {
	if o.UserAgent == "" {
		o.UserAgent = "openstack-cloud-controller-manager"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.VersionAge == 0 {
		o.VersionAge = 10 * time.Minute
	}
	return o
}

// Session is an authenticated connection to one project in one region. All services share its
// token, connections and limits. It is safe for concurrent use.
type Session struct {
	*auth.Session

	transport *transport.Transport
	// files are the TLS files at the start.
	files transport.TLS
	// regions and unused are those of SessionOptions.
	regions, unused []string

	versions *octavia.VersionReader
	end      context.CancelFunc
}

// NewSession signs in. ctx limits the sign-in, and provides the logger of the session, which lives
// until Close. Errors are those of apierror.Wrap; they contain an AuthenticationError if Keystone
// could not be reached or refused the credentials.
func NewSession(ctx context.Context, cfg config.Global, options SessionOptions) (*Session, error) {
	options = options.withDefaults()
	files, err := transport.ReadTLS(cfg)
	if err != nil {
		return nil, apierror.Wrap(err, "configure the cloud session")
	}
	carrier, err := transport.New(files, transport.Options{
		Timeout: options.Timeout, MaxBodyBytes: options.MaxBodyBytes, Clock: options.Clock,
		Metrics: options.Metrics, Limits: options.Limits, Retry: options.Retry, Dial: options.Dial, ReadOnly: options.ReadOnly,
	})
	if err != nil {
		return nil, apierror.Wrap(err, "configure the cloud session")
	}
	if cfg.TLSInsecure {
		klog.FromContext(ctx).Info("Certificates of the cloud's services are not verified: tls-insecure is set")
	}
	signedIn, err := auth.SignIn(ctx, cfg, auth.Options{
		Transport: carrier, UserAgent: options.UserAgent, Clock: options.Clock, Reread: options.Reread,
	})
	if err != nil {
		carrier.CloseIdleConnections()
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	versions := octavia.NewVersionReader(life, signedIn, octavia.VersionOptions{
		Fixed: options.LoadBalancerVersion, Age: options.VersionAge, Clock: options.Clock,
	})
	return &Session{
		Session: signedIn, transport: carrier, files: files, regions: options.Regions, unused: options.Unused, versions: versions, end: end,
	}, nil
}

// Secured returns the TLS files that were in use at the start.
func (s *Session) Secured() transport.TLS { return s.files }

// Replace signs in with the credentials of a configuration over connections with the given TLS
// files, and then uses both. Pending requests complete over the old connections. It returns an
// error if a service that is usable now would not be: certificate authorities, endpoints or roles
// may be right for Keystone only. After an error, which may be one of auth.Session.Try, the session
// is unchanged.
func (s *Session) Replace(ctx context.Context, cfg config.Global, files transport.TLS) error {
	trial, err := s.transport.Try(files)
	if err != nil {
		return apierror.Wrap(err, "configure the cloud session")
	}
	signedIn, err := s.Try(ctx, cfg, trial)
	if err == nil {
		err = s.losesNothing(ctx, s.Trial(signedIn, trial))
	}
	if err != nil {
		trial.Close()
		return err
	}
	s.transport.Use(trial)
	s.Use(signedIn)
	return nil
}

// Octavia returns a client of the load balancer service.
func (s *Session) Octavia() *octavia.Client { return octavia.New(s) }

// Neutron returns a client of the network service.
func (s *Session) Neutron() *neutron.Client { return neutron.New(s) }

// Nova returns a client of the compute service.
func (s *Session) Nova() *nova.Client { return nova.New(s) }

// NeutronIn returns a client of the network service of another region.
func (s *Session) NeutronIn(region string) *neutron.Client { return neutron.New(s.InRegion(region)) }

// NovaIn returns a client of the compute service of another region.
func (s *Session) NovaIn(region string) *nova.Client { return nova.New(s.InRegion(region)) }

// Barbican returns a client of the key manager.
func (s *Session) Barbican() *barbican.Client { return barbican.New(s) }

// LoadBalancerVersion returns the newest supported version of the load balancer API, as
// octavia.VersionReader does.
func (s *Session) LoadBalancerVersion(ctx context.Context) (model.Version, error) {
	return s.versions.Version(ctx)
}

// Drain refuses new requests that create objects with transport.ErrDraining, and waits until the
// pending ones are answered. It returns the error of the context.
func (s *Session) Drain(ctx context.Context) error { return s.transport.Drain(ctx) }

// Close stops the background work and waits for its end. Pending requests complete; new ones work
// until the token expires.
func (s *Session) Close() {
	s.end()
	s.Session.Close()
	s.transport.CloseIdleConnections()
}
