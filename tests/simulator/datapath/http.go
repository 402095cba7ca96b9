package datapath

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// speaksHTTP reports whether requests are carried one by one, not bytes.
func (l Listener) speaksHTTP() bool {
	switch l.Protocol {
	case ProtocolHTTP, ProtocolTerminatedHTTPS, ProtocolPrometheus:
		return true
	default:
		return false
	}
}

// httpConnection is a client's connection to an HTTP listener. It has connections to members
// of its own: they may begin with a PROXY header that names this client.
type httpConnection struct {
	frontend *tcpFrontend
	client   netip.AddrPort
	// silence is the client's, when it is its turn to send a request or the rest of one.
	silence  *idle
	requests requests

	mu         sync.Mutex
	transports map[*pool]*http.Transport
}

// serveHTTP carries the requests of one client's connection to its end.
func (f *tcpFrontend) serveHTTP(client duplex, address netip.AddrPort) {
	route := f.route.Load()
	c := &httpConnection{
		frontend:   f,
		client:     address,
		silence:    newIdle(f.plane.clock, route.listener.Timeouts.ClientData),
		transports: map[*pool]*http.Transport{},
	}
	c.silence.expect()
	accepted := &accepted{listened: listened{duplex: client, idle: c.silence}, closed: make(chan struct{})}
	server := &http.Server{ //nolint:gosec // the listener's timeout_client_data bounds what a client may take
		Handler:   c,
		ErrorLog:  silent(),
		Protocols: protocols(route.tls),
	}
	var watch sync.WaitGroup
	watch.Go(func() { c.silence.watch(accepted.closed, func() { _ = accepted.Close() }) })
	_ = server.Serve(accepted.listener(route.tls)) // ends as its only connection does
	c.requests.wait()
	c.disconnect()
	watch.Wait()
}

// protocols are HTTP/1 and, where TLS may negotiate it, HTTP/2.
func protocols(config *tls.Config) *http.Protocols {
	chosen := new(http.Protocols)
	chosen.SetHTTP1(true)
	chosen.SetHTTP2(config != nil && slices.Contains(config.NextProtos, "h2"))
	return chosen
}

// silent returns the logger of servers and proxies, whose errors concern clients and members only.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// ServeHTTP answers one request: by a policy, or from a member.
func (c *httpConnection) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !c.requests.begin() {
		panic(http.ErrAbortHandler) // the connection is gone already
	}
	defer c.requests.end()
	c.silence.relax()
	defer c.silence.expect()
	if c.frontend.ctx.Err() != nil {
		w.Header().Set("Connection", "close") // a listener that is gone finishes what it has
	}
	route := c.frontend.route.Load()
	if hsts := route.listener.TLS.HSTS; hsts != "" {
		w.Header().Set("Strict-Transport-Security", hsts)
	}
	c.answer(w, request, route)
}

func (c *httpConnection) answer(w http.ResponseWriter, request *http.Request, route *route) {
	pool := route.pool
	for _, policy := range route.policies {
		if policy.Action == ActionRedirectToPool && !policy.pool.enabled() || !policy.matches(request) {
			continue
		}
		switch policy.Action {
		case ActionReject:
			refuse(w, http.StatusForbidden)
			return
		case ActionRedirectToURL, ActionRedirectToPrefix:
			w.Header().Set("Location", policy.location(request))
			w.Header().Set("Cache-Control", "no-cache")
			w.WriteHeader(policy.code())
			return
		}
		pool = policy.pool
		break
	}
	if pool == nil {
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	newExchange(c, route, pool, request).carry(w)
}

// refuse answers in place of a member, with a page as haproxy does.
func refuse(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, "<html><body>"+http.StatusText(code)+"</body></html>\n")
}

// accepted is a connection that an HTTP server is given, and as a listener, its only one.
type accepted struct {
	listened
	once   sync.Once
	closed chan struct{}
}

// Close ends the connection, and Serve with it.
func (a *accepted) Close() error {
	err := a.listened.Close()
	a.once.Do(func() { close(a.closed) })
	return err
}

// listener is one that yields this connection, with TLS if config is not nil, and no other.
func (a *accepted) listener(config *tls.Config) net.Listener {
	var connection net.Conn = a
	if config != nil {
		connection = tls.Server(a, config)
	}
	only := make(chan net.Conn, 1)
	only <- connection
	return &onlyListener{accepted: a, connections: only}
}

// onlyListener yields one connection, and ends when that does.
type onlyListener struct {
	*accepted
	connections chan net.Conn
}

// Accept implements net.Listener.
func (l *onlyListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	default:
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Addr implements net.Listener.
func (l *onlyListener) Addr() net.Addr { return l.LocalAddr() }

// requests counts the requests in progress of a connection until its end.
type requests struct {
	mu    sync.Mutex
	ended bool
	group sync.WaitGroup
}

// begin reports false when no more request can be answered; otherwise end must be called.
func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.group.Add(1)
	return true
}

func (r *requests) end() { r.group.Done() }

// wait returns when nothing is being answered any more, nor will be.
func (r *requests) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.group.Wait()
}
