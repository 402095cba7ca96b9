package requestlog

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// Record is the middleware: it notes what next answers, also when next closes
// the connection, by itself or by panicking with http.ErrAbortHandler. A client
// that has seen the end of its answer, or of its connection, finds the request
// in the request log.
func (l *Log) Record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, before := r.URL.RequestURI(), l.Len()
		target := l.target(r.URL.Path)
		project := l.enter(r.Header.Get("X-Auth-Token"))
		provider := l.provider(target)
		in := &countingBody{ReadCloser: r.Body}
		r.Body = in
		out := &recorder{ResponseWriter: w, method: r.Method}
		out.end = sync.OnceFunc(func() {
			if target == "" {
				target = l.fromAnswer(r, out)
				provider = l.provider(target)
			}
			l.add(Request{
				Method: r.Method, Route: Route(r.URL.Path), Path: path, Status: out.status,
				LoadBalancerID: target, Provider: provider, ProjectID: project, UserAgent: r.UserAgent(), GlobalID: r.Header.Get("X-Openstack-Request-Id"), Before: before,
				Mentions: l.mention(r, in, out, target), RequestBytes: in.count, Bytes: out.count,
			})
			l.leave(project)
		})
		finished := false
		defer func() {
			switch {
			case !finished:
				out.status = 0
			case out.status == 0: // nothing was written, which the server takes for success
				out.status = http.StatusOK
			}
			out.end()
		}()
		next.ServeHTTP(out, r)
		finished = true
	})
}

// recorder notes status and size of an answer. It keeps the text of the
// answers to POSTs, in which new IDs are found.
type recorder struct {
	http.ResponseWriter
	method        string
	status, count int
	text          bytes.Buffer
	// end logs the request, once. It comes before anything by which the client
	// can tell that there is no more to come.
	end func()
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack implements http.Hijacker: there is no answer, and the connection may
// be closed at any time.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = 0
		r.end()
	}
	return connection, buffered, err
}

// FlushError is what http.ResponseController looks for. Where there is no body
// the header is all that the client waits for.
func (r *recorder) FlushError() error {
	if r.method == http.MethodHead || r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		r.end()
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.count += len(text)
	if r.status == http.StatusCreated {
		r.text.Write(text)
	}
	if length, err := strconv.Atoi(r.Header().Get("Content-Length")); err == nil && r.count >= length {
		r.end()
	}
	return r.ResponseWriter.Write(text)
}

// countingBody counts a body, and keeps as much of it as names can be in.
type countingBody struct {
	io.ReadCloser
	count int
	text  bytes.Buffer
}

// maxText of a body is kept.
const maxText = 1 << 18

func (c *countingBody) Read(text []byte) (int, error) {
	n, err := c.ReadCloser.Read(text)
	c.count += n
	c.text.Write(text[:min(n, max(0, maxText-c.text.Len()))])
	return n, err
}
