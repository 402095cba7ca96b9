package transport

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	keepAlive        = 30 * time.Second
	// idleTimeout is how long an idle connection is kept.
	idleTimeout = 60 * time.Second
	// A broken HTTP/2 connection would fail every request on it: it is pinged after pingAfter
	// without a frame, and closed after pingTimeout.
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// newConnections returns a pool of connections to the cloud: with the given TLS files, proxies from
// the environment, and idle connections per host.
func newConnections(files TLS, idle int) (*http.Transport, error) {
	tlsConfig, err := files.config()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       tlsConfig,
		TLSHandshakeTimeout:   handshakeTimeout,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConns:          4 * idle, // four services, on up to four hosts
		MaxIdleConnsPerHost:   idle,
		IdleConnTimeout:       idleTimeout,
		ExpectContinueTimeout: time.Second,
	}, nil
}

// replaceable is a pool of connections that can be replaced.
type replaceable struct {
	pool atomic.Pointer[http.Transport]
}

// RoundTrip implements http.RoundTripper.
func (r *replaceable) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.pool.Load().RoundTrip(req)
}

// CloseIdleConnections closes the connections without a pending request.
func (r *replaceable) CloseIdleConnections() { r.pool.Load().CloseIdleConnections() }

// replace makes new requests use another pool. Pending requests complete on the old one, which
// closes its connections after idleTimeout.
func (r *replaceable) replace(pool *http.Transport) {
	if old := r.pool.Swap(pool); old != nil {
		old.CloseIdleConnections()
	}
}
