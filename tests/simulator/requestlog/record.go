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

// Record is the middleware: it records the answers of next, also if next closes the connection,
// directly or by a panic with http.ErrAbortHandler. A request is in the log before its client sees
// the end of the answer or of the connection.
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

// recorder records status and size of an answer. It keeps the text of the answers to POSTs, which
// contain new IDs.
type recorder struct {
	http.ResponseWriter
	method        string
	status, count int
	text          bytes.Buffer
	// end logs the request once, before the client can see the end of the answer.
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

// FlushError is called by http.ResponseController. If an answer has no body, the client waits only
// for the header.
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

// countingBody counts the bytes of a body, and keeps its beginning, which contains the names.
type countingBody struct {
	io.ReadCloser
	count int
	text  bytes.Buffer
}

// maxText is the number of bytes of a body that are kept.
const maxText = 1 << 18

func (c *countingBody) Read(text []byte) (int, error) {
	n, err := c.ReadCloser.Read(text)
	c.count += n
	c.text.Write(text[:min(n, max(0, maxText-c.text.Len()))])
	return n, err
}
