// Package transport sends requests to OpenStack: measured, limited, and repeated where
// that cannot carry out a write twice.
package transport

import (
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// Options tune a transport. The zero value is good.
type Options struct {
	// Timeout is for one attempt at a request, with its answer: 60 s.
	Timeout time.Duration
	// MaxBodyBytes bounds an answer: 64 MiB.
	MaxBodyBytes int64
	// Clock is the real one when nil.
	Clock clock.Clock
	// Metrics count the requests when not nil.
	Metrics *Metrics
	// Limits bound the requests in flight.
	Limits limiter.Limits
	// Retry is how requests are repeated.
	Retry RetryPolicy
	// Dial opens connections; nil: over the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ReadOnly refuses every write with ErrReadOnly. A sign-in is none.
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

// connections returns a pool of connections that are secured as the files say.
func (o Options) connections(files TLS) (*http.Transport, error) {
	pool, err := newConnections(files, o.Limits.PerHost())
	if err == nil && o.Dial != nil {
		pool.DialContext = o.Dial
	}
	return pool, err
}

// Transport is an http.RoundTripper for all services of a cloud, which share its
// connections and its limits. It is safe for concurrent use.
type Transport struct {
	options     Options
	chain       http.RoundTripper
	connections replaceable
	drain       drain
}

// New returns a transport whose connections are secured as the files say.
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

// newChain returns the way of every request: permitted, measured, repeated, limited, sent.
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

// Trial is an http.RoundTripper over connections that are not used for anything else yet.
// It has limits of its own: what fails there says nothing about the connections in use. It
// is either used or closed.
type Trial struct {
	http.RoundTripper

	connections *http.Transport
}

// Try returns connections that are secured as the files say.
func (t *Transport) Try(files TLS) (*Trial, error) {
	connections, err := t.options.connections(files)
	if err != nil {
		return nil, err
	}
	limits := limiter.New(t.options.Limits, t.options.Clock, nil)
	return &Trial{RoundTripper: newChain(connections, t.options, limits, nil), connections: connections}, nil
}

// Close gives up the connections of a trial.
func (t *Trial) Close() { t.connections.CloseIdleConnections() }

// Use sends requests over the connections of a trial from now on. Those under way have
// their answer over the old ones.
func (t *Transport) Use(trial *Trial) { t.connections.replace(trial.connections) }

// Drain refuses requests that create something from now on, with ErrDraining, and
// waits until those under way have their answer. The error is the context's.
func (t *Transport) Drain(ctx context.Context) error { return t.drain.wait(ctx) }

// CloseIdleConnections closes the connections that carry no request just now.
func (t *Transport) CloseIdleConnections() { t.connections.CloseIdleConnections() }
