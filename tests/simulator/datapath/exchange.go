package datapath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
)

var (
	errNoMember     = errors.New("no member can be reached")
	errMemberSilent = errors.New("the member was silent for too long")
)

// notConnectedError is a failed connection to a member. Another member may be tried.
type notConnectedError struct{ err error }

func (e *notConnectedError) Error() string { return e.err.Error() }

func (e *notConnectedError) Unwrap() error { return e.err }

// exchange is one request that is answered by a member of a pool.
type exchange struct {
	connection *httpConnection
	route      *route
	pool       *pool
	request    *http.Request
	sticky     stickiness
	// member is the one that answers.
	member Member
	// silence is the member's.
	silence *idle
}

func newExchange(c *httpConnection, route *route, pool *pool, request *http.Request) *exchange {
	return &exchange{
		connection: c,
		route:      route,
		pool:       pool,
		request:    request,
		sticky:     pool.stickiness(request),
		silence:    newIdle(c.frontend.plane.clock, route.listener.Timeouts.MemberData),
	}
}

// carry passes the request to a member and its answer to the client.
func (e *exchange) carry(w http.ResponseWriter) {
	proxy := &httputil.ReverseProxy{
		Rewrite:        e.rewrite,
		Transport:      e,
		FlushInterval:  -1, // as it comes
		ErrorLog:       silent(),
		ModifyResponse: e.answered,
		ErrorHandler:   failed,
	}
	w.Header()["Content-Type"], w.Header()["Date"] = nil, nil // the member's, or none
	proxy.ServeHTTP(w, e.request)
}

// rewrite makes the request what the member sees: what the client sent, with the listener's
// headers and without the load balancer's cookie.
func (e *exchange) rewrite(proxied *httputil.ProxyRequest) {
	out := proxied.Out
	out.URL.Scheme = "http"
	out.URL.Host = "member" // chosen in RoundTrip
	out.URL.RawQuery = proxied.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := proxied.In.Header.Values(name); len(values) > 0 {
			out.Header[name] = append([]string(nil), values...)
		}
	}
	insertHeaders(out.Header, e.route.listener, e.connection.client, proxied.In.TLS)
	if e.sticky.kind == PersistenceHTTPCookie {
		dropCookie(out.Header, memberCookie)
	}
}

// answered sets the cookie that keeps the client on its member, and listens to the rest of
// the answer.
func (e *exchange) answered(response *http.Response) error {
	e.pool.stick(e.sticky, e.member.ID, response)
	if response.StatusCode == http.StatusSwitchingProtocols {
		e.connection.silence.expect() // it may be the client's turn for as long as the tunnel is open
	}
	return nil
}

// failed answers a request that no member did.
func failed(w http.ResponseWriter, request *http.Request, err error) {
	switch {
	case request.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client is gone
	case errors.Is(err, errNoMember):
		refuse(w, http.StatusServiceUnavailable)
	case errors.Is(err, errMemberSilent):
		refuse(w, http.StatusGatewayTimeout)
	default:
		refuse(w, http.StatusBadGateway)
	}
}

// RoundTrip sends the request to the member that the pool picks, or to another one when that
// cannot be connected to.
func (e *exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	tried := map[string]bool{}
	for range dialTries {
		member, release, ok := e.pool.pick(choice{client: e.connection.client, tried: tried, sticky: e.sticky})
		if !ok {
			return nil, errNoMember
		}
		response, err := e.ask(request, member, release)
		var unreachable *notConnectedError
		if !errors.As(err, &unreachable) {
			e.member = member
			return response, err
		}
		tried[member.ID] = true
	}
	return nil, errNoMember
}

// ask sends the request to one member. release is called when its answer has been carried.
func (e *exchange) ask(request *http.Request, member Member, release func()) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	e.connection.frontend.plane.wait.Go(func() {
		e.silence.watch(ctx.Done(), func() { cancel(errMemberSilent) })
	})
	attempt := request.Clone(ctx)
	attempt.URL.Host = member.at().String()
	if request.Body != nil {
		attempt.Body = &upload{ReadCloser: request.Body, client: e.connection.silence, member: e.silence}
	}
	e.silence.expect()
	response, err := e.connection.transport(e.route, e.pool).RoundTrip(attempt)
	e.silence.relax()
	if err != nil {
		defer release()
		defer cancel(nil)
		if cause := context.Cause(ctx); errors.Is(cause, errMemberSilent) {
			err = cause
		}
		return nil, fmt.Errorf("ask member %s: %w", member.ID, err)
	}
	response.Body = e.download(response, func() {
		cancel(nil)
		release()
	})
	return response, nil
}

// download is the body of an answer; ended is called when it is closed.
func (e *exchange) download(response *http.Response, ended func()) io.ReadCloser {
	body := &heardBody{ReadCloser: response.Body, idle: e.silence, closed: ended}
	if tunnel, is := response.Body.(io.Writer); is && response.StatusCode == http.StatusSwitchingProtocols {
		return &tunnelBody{heardBody: body, to: tunnel}
	}
	return body
}

// transport returns the client's own connections to a pool.
func (c *httpConnection) transport(route *route, pool *pool) *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.transports[pool]; known != nil {
		return known
	}
	created := &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, &notConnectedError{err}
			}
			connection, err := c.frontend.plane.connectTCP(ctx, route, pool, c.client, target)
			if err != nil {
				return nil, &notConnectedError{err}
			}
			return connection, nil
		},
	}
	c.transports[pool] = created
	return created
}

// disconnect ends the connections to members.
func (c *httpConnection) disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, transport := range c.transports {
		transport.CloseIdleConnections()
	}
}
