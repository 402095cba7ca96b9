// Package openstack ties together what a process needs of a cloud: a transport, a
// session that is signed in through it, and a client for each service. It knows no
// Kubernetes.
package openstack

import (
	"context"
	"net"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// SessionOptions tune a session. The zero value is good.
type SessionOptions struct {
	// UserAgent goes before gophercloud's own:
	// "openstack-cloud-controller-manager/VERSION".
	UserAgent string
	// Timeout is for one attempt at a request, with its answer: 60 s.
	Timeout time.Duration
	// Reread returns the configuration as it is now: see auth.Options.
	Reread func() (config.Global, error)
	// Clock is the real one when nil.
	Clock clock.Clock
	// Metrics count the requests when not nil.
	Metrics *transport.Metrics
	// Limits bound the requests in flight.
	Limits limiter.Limits
	// Retry is how requests are repeated.
	Retry transport.RetryPolicy
	// Dial opens connections; nil: over the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ReadOnly refuses every write with transport.ErrReadOnly. A sign-in is none.
	ReadOnly bool
	// MaxBodyBytes bounds an answer: 64 MiB.
	MaxBodyBytes int64
	// LoadBalancerVersion is taken for the version of the load balancer API; zero: it
	// is asked for.
	LoadBalancerVersion octavia.Version
	// Regions are those beside the session's own whose servers are asked for.
	Regions []string
	// Unused are the services, by their names in package request, that the session is not used
	// for: Replace may lose them.
	Unused []string
	// VersionAge is how long the load balancer API's version is believed: 10 min.
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

// Session is a signed-in connection to one project in one region of a cloud. All
// services share its token, its connections and its limits. It is safe for
// concurrent use.
type Session struct {
	*auth.Session

	transport *transport.Transport
	// files are those that the session began with.
	files transport.TLS
	// regions and unused are those of SessionOptions.
	regions, unused []string

	versions *octavia.VersionReader
	end      context.CancelFunc
}

// NewSession signs in. ctx bounds that and has the logger for later; the session
// lives until Close. Errors are those of apierror.Wrap: an AuthenticationError inside
// is of a Keystone that could not be asked or refused.
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

// Secured returns how the connections were secured when the session began.
func (s *Session) Secured() transport.TLS { return s.files }

// Replace signs in with what a configuration has now, over connections that are secured as
// the files say, and goes on with both. Requests under way have their answer over the old
// ones. It is an error when a service that can be used now could not be used any more: other
// certificate authorities, endpoints or roles may suit Keystone alone. After an error, those of
// auth.Session.Try among them, nothing has changed.
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

// LoadBalancerVersion returns the newest version of the load balancer API that the
// service speaks, as octavia.VersionReader does.
func (s *Session) LoadBalancerVersion(ctx context.Context) (octavia.Version, error) {
	return s.versions.Version(ctx)
}

// Drain refuses requests that create something from now on, with
// transport.ErrDraining, and waits until those under way have their answer. The error
// is the context's.
func (s *Session) Drain(ctx context.Context) error { return s.transport.Drain(ctx) }

// Close ends what runs in the background, and waits for it. Requests in flight go
// on; new ones work until the token expires.
func (s *Session) Close() {
	s.end()
	s.Session.Close()
	s.transport.CloseIdleConnections()
}
