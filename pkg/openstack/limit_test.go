package openstack

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
)

// gate is a transport whose requests stay in flight until they are let go.
type gate struct {
	mu       sync.Mutex
	inFlight int
	most     int
	leave    chan struct{}
}

func (g *gate) RoundTrip(*http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.inFlight++
	g.most = max(g.most, g.inFlight)
	g.mu.Unlock()
	<-g.leave
	g.mu.Lock()
	g.inFlight--
	g.mu.Unlock()
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func (g *gate) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight
}

func TestLimitsOfRequestsInFlight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path string
		most         int
	}{
		"load balancers created one by one in Octavia": {"POST", "/v2.0/lbaas/loadbalancers", 4},
		"other writes":  {"PUT", "/v2.0/lbaas/pools/1/members", 8},
		"deletes":       {"DELETE", "/v2.0/lbaas/loadbalancers/1", 8},
		"reads":         {"GET", "/v2.0/lbaas/loadbalancers", 8},
		"unknown reads": {"GET", "/somewhere", 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gate{leave: make(chan struct{})}
			limit := newLimitTransport(Limits{}.withDefaults(), g)
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					req, _ := http.NewRequestWithContext(context.Background(), test.method, "http://127.0.0.1"+test.path, nil)
					if _, err := limit.RoundTrip(req); err != nil {
						t.Error(err)
					}
				})
			}
			eventually(t, "all places are taken", func() bool { return g.now() == test.most })
			close(g.leave)
			all.Wait()
			if g.most != test.most {
				t.Errorf("%d in flight, want %d", g.most, test.most)
			}
		})
	}
}

// What is slow in one service must not hold up another, nor writes hold up reads.
func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	g := &gate{leave: make(chan struct{})}
	limit := newLimitTransport(Limits{Reads: 1, LoadBalancerCreates: 1, Writes: 1}, g)
	requests := [][2]string{
		{"GET", "/v2.0/lbaas/loadbalancers"}, {"POST", "/v2.0/lbaas/loadbalancers"}, {"POST", "/v2.0/lbaas/pools"},
		{"GET", "/v2.0/ports"}, {"POST", "/v2.0/floatingips"}, {"GET", "/v2.1/servers"},
		{"POST", "/v3/auth/tokens"}, {"POST", "/v3/auth/tokens"}, // tokens have no limit
	}
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(context.Background(), r[0], "http://127.0.0.1"+r[1], nil)
			_, _ = limit.RoundTrip(req)
		})
	}
	eventually(t, "all are in flight together", func() bool { return g.now() == len(requests) })
	close(g.leave)
	all.Wait()
}

func TestCancelledWhileWaitingForAPlace(t *testing.T) {
	t.Parallel()
	g := &gate{leave: make(chan struct{})}
	limit := newLimitTransport(Limits{Reads: 1, LoadBalancerCreates: 1, Writes: 1}, g)
	const url = "http://127.0.0.1/v2.0/lbaas/loadbalancers"
	var all sync.WaitGroup
	all.Go(func() {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url, nil)
		_, _ = limit.RoundTrip(req)
	})
	eventually(t, "the place is taken", func() bool { return g.now() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	all.Go(func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
		_, err := limit.RoundTrip(req)
		failed <- err
	})
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || IsUnsure(err) {
		t.Errorf("IsUnsure %t: %v", IsUnsure(err), err)
	}
	close(g.leave)
	all.Wait()
}
