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
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 60 * time.Second
	// A connection of HTTP/2 that went dead in silence would fail every request on
	// it: ping it after pingAfter without a frame, drop it after pingTimeout.
	pingAfter   = 15 * time.Second
	pingTimeout = 15 * time.Second
)

// newConnections returns a pool of connections to the cloud: TLS as the files have it,
// proxies from the environment, idle ones kept per host.
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
		MaxIdleConns:          4 * idle, // four services, on as many hosts
		MaxIdleConnsPerHost:   idle,
		IdleConnTimeout:       idleTimeout,
		ExpectContinueTimeout: time.Second,
	}, nil
}

// replaceable is a pool of connections that another one can take the place of.
type replaceable struct {
	pool atomic.Pointer[http.Transport]
}

// RoundTrip implements http.RoundTripper.
func (r *replaceable) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.pool.Load().RoundTrip(req)
}

// CloseIdleConnections closes the connections that carry no request just now.
func (r *replaceable) CloseIdleConnections() { r.pool.Load().CloseIdleConnections() }

// replace has new requests use another pool. Those that are under way end on the old one,
// whose connections close when they have been idle for idleTimeout.
func (r *replaceable) replace(pool *http.Transport) {
	if old := r.pool.Swap(pool); old != nil {
		old.CloseIdleConnections()
	}
}
