package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mortalConn is a connection that goes dead in silence.
type mortalConn struct {
	net.Conn
	dead   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *mortalConn) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *mortalConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.dead.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *mortalConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// mortalConns dials connections that go dead together.
type mortalConns struct {
	mu  sync.Mutex
	all []*mortalConn
}

func (m *mortalConns) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mortal := &mortalConn{Conn: conn, closed: make(chan struct{})}
	m.all = append(m.all, mortal)
	return mortal, nil
}

func (m *mortalConns) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.all {
		conn.dead.Store(true)
	}
}

// crowd answers requests once as many are there as it waits for, so that each has a connection of
// its own.
func crowd(t *testing.T, size int) *httptest.Server {
	t.Helper()
	var waiting sync.WaitGroup
	waiting.Add(size)
	var seen atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1) <= int32(size) {
			waiting.Done()
			waiting.Wait()
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	return server
}

// The address of the API moves to another machine while connections to it are idle. One timeout is
// what that costs, also after the connections were replaced by a reload, and in a trial.
func TestTransport_ServiceThatMovedCostsOneTimeout(t *testing.T) {
	t.Parallel()
	const idle = 6
	trial := func(t *testing.T, carrier *Transport) *Trial {
		t.Helper()
		trial, err := carrier.Try(TLS{})
		if err != nil {
			t.Fatal(err)
		}
		return trial
	}
	for name, through := range map[string]func(*testing.T, *Transport) http.RoundTripper{
		"the transport": func(_ *testing.T, carrier *Transport) http.RoundTripper { return carrier },
		"after a reload": func(t *testing.T, carrier *Transport) http.RoundTripper {
			t.Helper()
			carrier.Use(trial(t, carrier))
			return carrier
		},
		"a trial": func(t *testing.T, carrier *Transport) http.RoundTripper { t.Helper(); return trial(t, carrier) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, conns := crowd(t, idle), &mortalConns{}
			carrier, err := New(TLS{}, Options{Timeout: time.Second, Retry: RetryPolicy{Attempts: 1}, Dial: conns.dial})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(carrier.CloseIdleConnections)
			base := through(t, carrier)
			get := func() error {
				resp, err := send(t, base, http.MethodGet, server.URL+"/v2.0/lbaas/loadbalancers")
				if err == nil {
					resp.Body.Close()
				}
				return err
			}
			var all sync.WaitGroup
			for range idle {
				all.Go(func() {
					if err := get(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			conns.die()
			failed := 0
			for range idle {
				if get() != nil {
					failed++
				}
			}
			if failed != 1 {
				t.Errorf("%d of %d requests failed, want 1: a dead connection must not cost a timeout of its own", failed, idle)
			}
		})
	}
}
