// Package transport sends requests to OpenStack: it measures, limits and, if safe, repeats them.
package transport

import (
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// Options configure a transport. The zero value is valid.
type Options struct {
	// Timeout limits one attempt of a request with its answer; zero means 60 s.
	Timeout time.Duration
	// MaxBodyBytes limits an answer; zero means 64 MiB.
	MaxBodyBytes int64
	// Clock; nil means the real one.
	Clock clock.Clock
	// Metrics count the requests; may be nil.
	Metrics *Metrics
	// Limits are the maximum numbers of concurrent requests.
	Limits limiter.Limits
	// Retry defines how requests are repeated.
	Retry RetryPolicy
	// Dial opens connections; nil means the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ReadOnly refuses every write except a sign-in with ErrReadOnly.
	ReadOnly bool
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 60 * time.Second
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = defaultMaxBody
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Limits = o.Limits.WithDefaults()
	o.Retry = o.Retry.withDefaults()
	return o
}

// connections returns a pool of connections with the given TLS files.
func (o Options) connections(files TLS) (*http.Transport, error) {
	pool, err := newConnections(files, o.Limits.PerHost())
	if err == nil && o.Dial != nil {
		pool.DialContext = o.Dial
	}
	return pool, err
}

// Transport is an http.RoundTripper for all services of a cloud, which share its connections and
// limits. It is safe for concurrent use.
type Transport struct {
	options     Options
	chain       http.RoundTripper
	connections replaceable
	drain       drain
}

// New returns a transport with the given TLS files.
func New(files TLS, options Options) (*Transport, error) {
	options = options.withDefaults()
	connections, err := options.connections(files)
	if err != nil {
		return nil, err
	}
	t := &Transport{options: options}
	t.connections.replace(connections)
	t.chain = newChain(&t.connections, options, limiter.New(options.Limits, options.Clock, options.Metrics.forLimiter()), &t.drain)
	return t, nil
}

// newChain returns the chain of every request: permitted, measured, repeated, limited, sent.
func newChain(base pool, options Options, limits *limiter.Limiter, drain *drain) http.RoundTripper {
	retry := &retryTransport{
		exchange: &exchange{base: base, timeout: options.Timeout, maxBody: options.MaxBodyBytes},
		limiter:  limits,
		policy:   options.Retry,
		clock:    options.Clock,
		metrics:  options.Metrics,
		jitter:   fullJitter,
		drain:    drain,
	}
	observed := &observeTransport{next: retry, metrics: options.Metrics, clock: options.Clock}
	if options.ReadOnly {
		return &readOnly{next: observed}
	}
	return observed
}

// RoundTrip implements http.RoundTripper. Without an answer the error is an
// apierror.NoAnswerError.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.chain.RoundTrip(req)
}

// Trial is an http.RoundTripper over new connections that have no other use yet. It has its own
// limits, because its failures prove nothing about the connections in use. It must be used or
// closed.
type Trial struct {
	http.RoundTripper

	connections *http.Transport
}

// Try returns a trial with the given TLS files.
func (t *Transport) Try(files TLS) (*Trial, error) {
	connections, err := t.options.connections(files)
	if err != nil {
		return nil, err
	}
	limits := limiter.New(t.options.Limits, t.options.Clock, nil)
	return &Trial{RoundTripper: newChain(connections, t.options, limits, nil), connections: connections}, nil
}

// Close closes the connections of a trial.
func (t *Trial) Close() { t.connections.CloseIdleConnections() }

// Use sends new requests over the connections of a trial. Pending requests complete over the old
// ones.
func (t *Transport) Use(trial *Trial) { t.connections.replace(trial.connections) }

// Drain refuses new requests that create objects with ErrDraining, and waits until the pending ones
// are answered. It returns the error of the context.
func (t *Transport) Drain(ctx context.Context) error { return t.drain.wait(ctx) }

// CloseIdleConnections closes the connections without a pending request.
func (t *Transport) CloseIdleConnections() { t.connections.CloseIdleConnections() }
