package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

const (
	// defaultMaxBody limits an answer. The largest are pages of servers and trees of load
	// balancers, with a few MiB.
	defaultMaxBody = 64 << 20
	// maxErrorBody limits the kept part of an error's body.
	maxErrorBody = 64 << 10
)

// pool sends requests over pooled connections.
type pool interface {
	http.RoundTripper
	// CloseIdleConnections closes the connections without a pending request.
	CloseIdleConnections()
}

// exchange sends a request once and reads the whole answer. A truncated answer is an error here,
// where it is known whether a repetition is safe.
type exchange struct {
	base pool
	// timeout limits one attempt, from dialing to the last byte of the answer.
	timeout time.Duration
	maxBody int64
}

// do sends the request. sent reports whether any part of it may have reached the service: it is
// false only if there was no connection (name not resolved, connection refused, TLS handshake
// failed).
func (e *exchange) do(req *http.Request) (resp *http.Response, sent bool, err error) {
	parent := req.Context()
	if parent.Err() != nil {
		return nil, false, parent.Err()
	}
	ctx, cancel := context.WithTimeout(parent, e.timeout)
	defer cancel()

	// net/http may use several connections for one request, for a POST only if nothing was written
	// to the previous one. A base without tracing counts as having sent.
	var connected atomic.Bool
	connected.Store(true)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	resp, err = e.base.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = e.readAll(resp)
	}
	switch {
	case err == nil:
		return resp, true, nil
	case parent.Err() != nil:
		err = parent.Err()
	case ctx.Err() != nil:
		err = &apierror.TimeoutError{After: e.timeout}
		// If the address of a service has moved to another machine, the idle connections are dead
		// too, and each would cost another timeout.
		e.base.CloseIdleConnections()
	}
	return nil, connected.Load(), err
}

// readAll replaces the body of an answer by its bytes. A truncated body of an error is accepted,
// because its status counts.
func (e *exchange) readAll(resp *http.Response) error {
	failed := resp.StatusCode >= http.StatusBadRequest
	limit := e.maxBody
	if failed {
		limit = min(limit, maxErrorBody)
	}
	read := rest.Buffer()
	if n := resp.ContentLength; n > 0 && n <= limit {
		read.Grow(int(n) + bytes.MinRead) // otherwise it grows by doubling
	}
	_, err := read.ReadFrom(io.LimitReader(resp.Body, limit+1))
	resp.Body.Close()
	tooLarge := int64(read.Len()) > limit
	switch {
	case failed && tooLarge:
		read.Truncate(int(limit))
	case failed:
	case err != nil:
		return err
	case tooLarge:
		return &apierror.TooLargeError{Limit: limit}
	}
	rest.SetBody(resp, read)
	return nil
}
