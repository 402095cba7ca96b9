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
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/response"
)

const (
	// defaultMaxBody bounds an answer. The largest we ask for are pages of servers
	// and trees of load balancers: a few MiB.
	defaultMaxBody = 64 << 20
	// maxErrorBody bounds what is kept of an error's body.
	maxErrorBody = 64 << 10
)

// pool sends requests over connections that it keeps.
type pool interface {
	http.RoundTripper
	// CloseIdleConnections closes those that carry no request just now.
	CloseIdleConnections()
}

// exchange sends a request once and reads the whole answer. An answer that breaks
// off is an error here already, where it is known whether a repetition is safe.
type exchange struct {
	base pool
	// timeout is for one attempt, from dialling to the last byte of the answer.
	timeout time.Duration
	maxBody int64
}

// do sends the request. sent reports whether any of it may have reached the
// service: it is false only when no connection was there to write it to (name not
// resolved, connection refused, TLS handshake failed).
func (e *exchange) do(req *http.Request) (resp *http.Response, sent bool, err error) {
	parent := req.Context()
	if parent.Err() != nil {
		return nil, false, parent.Err()
	}
	ctx, cancel := context.WithTimeout(parent, e.timeout)
	defer cancel()

	// net/http may look for a connection more than once for one request, and for a
	// POST only when nothing was written to the one before. A base that does not
	// trace counts as having sent.
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
		// When the address of a service moves to another machine, the idle connections are as
		// dead as the one that gave no answer, and each would cost a timeout of its own.
		e.base.CloseIdleConnections()
	}
	return nil, connected.Load(), err
}

// readAll replaces the body of an answer by its bytes. Of an error's body, what
// came is good enough: its status counts.
func (e *exchange) readAll(resp *http.Response) error {
	failed := resp.StatusCode >= http.StatusBadRequest
	limit := e.maxBody
	if failed {
		limit = min(limit, maxErrorBody)
	}
	read := response.Buffer()
	if n := resp.ContentLength; n > 0 && n <= limit {
		read.Grow(int(n) + bytes.MinRead) // else it grows by doubling, and what it was before is garbage
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
	response.SetBody(resp, read)
	return nil
}
