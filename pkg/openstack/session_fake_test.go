package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// fakeCloud is a Keystone and, behind it, whatever services a test wants, on one
// listener. It checks the token of every request but that for a root document.
type fakeCloud struct {
	*httptest.Server
	clock clock.Clock

	mu sync.Mutex
	// life is that of the tokens.
	life time.Duration
	// skew is how far Keystone's clock is before ours.
	skew time.Duration
	// region of all endpoints.
	region string
	// before is a region whose endpoints stand before those; "" is none.
	before string
	// paths of the services in the catalog, by type.
	paths map[string]string
	// keystone answers token requests when not nil.
	keystone http.HandlerFunc
	// services answers everything else when not nil.
	services http.HandlerFunc

	issued  int
	valid   map[string]bool
	signIns []map[string]any
	served  []servedRequest
}

type servedRequest struct {
	Method, Path, Token, UserAgent, Body string
}

func newFakeCloud(t *testing.T) *fakeCloud {
	t.Helper()
	c := &fakeCloud{
		clock:  clock.RealClock{},
		life:   time.Hour,
		region: "RegionOne",
		valid:  map[string]bool{},
		paths: map[string]string{
			"load-balancer": "/load-balancer", "network": "/network", "compute": "/compute/v2.1",
		},
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Server.Close)
	return c
}

func (c *fakeCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Openstack-Request-Id", "req-7a1f2b5c")
	if strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		c.serveToken(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	token := r.Header.Get("X-Auth-Token")
	c.mu.Lock()
	c.served = append(c.served, servedRequest{r.Method, r.URL.Path, token, r.Header.Get("User-Agent"), string(body)})
	known := c.valid[token] || r.URL.Path == "/load-balancer/"
	services := c.services
	c.mu.Unlock()
	switch {
	case !known:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`)
	case services != nil:
		services(w, r)
	default:
		fmt.Fprint(w, `{}`)
	}
}

func (c *fakeCloud) serveToken(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body := map[string]any{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	c.signIns = append(c.signIns, body)
	if c.keystone != nil {
		c.keystone(w, r)
		return
	}
	id := r.Header.Get("X-Subject-Token")
	if r.Method == http.MethodPost {
		c.issued++
		id = fmt.Sprintf("token-%d", c.issued)
	}
	c.valid[id] = true
	w.Header().Set("X-Subject-Token", id)
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	now := c.clock.Now().Add(-c.skew)
	var catalog []map[string]any
	for service, path := range c.paths {
		endpoints := []map[string]any{
			{"interface": "internal", "region": c.region, "url": "http://internal.invalid" + path},
			{"interface": "public", "region": c.region, "region_id": c.region, "url": c.URL + path},
		}
		if c.before != "" {
			endpoints = append([]map[string]any{
				{"interface": "public", "region": c.before, "region_id": c.before, "url": "http://elsewhere.invalid" + path},
			}, endpoints...)
		}
		catalog = append(catalog, map[string]any{"type": service, "endpoints": endpoints})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
		"issued_at":  now.UTC().Format(time.RFC3339Nano),
		"expires_at": now.Add(c.life).UTC().Format(time.RFC3339Nano),
		"project":    map[string]any{"id": "project-1"},
		"catalog":    catalog,
	}})
}

// set changes the cloud under its lock.
func (c *fakeCloud) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// revokeAll makes all tokens invalid.
func (c *fakeCloud) revokeAll() { c.set(func() { clear(c.valid) }) }

func (c *fakeCloud) signInCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.signIns)
}

// requests gives what the services got.
func (c *fakeCloud) requests() []servedRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]servedRequest(nil), c.served...)
}

// config is a cloud.conf for the cloud.
func (c *fakeCloud) config() config.Global {
	return config.Global{
		AuthURL: c.URL + "/identity", Username: "ccm", UserDomainID: "default",
		Password: "pa55word", TenantID: "project-1", Region: "RegionOne",
	}
}

// session signs in and ends with the test.
func (c *fakeCloud) session(t *testing.T, cfg config.Global, opts SessionOptions) *Session {
	t.Helper()
	silent := klog.NewContext(context.Background(), klog.Logger{})
	s, err := NewSession(silent, cfg, opts)
	if err != nil {
		t.Fatalf("NewSession: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// getServer is a request like any other.
func getServer(s *Session) error {
	client, err := s.Compute(context.Background())
	if err != nil {
		return err
	}
	_, err = client.Get(context.Background(), client.ServiceURL("servers", "1"), nil, nil)
	return err
}

// eventually polls for a condition; only a broken program reaches the deadline.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

// instantClock is a real clock that does not wait, but remembers what it was asked
// to wait for.
type instantClock struct {
	clock.RealClock
	mu    sync.Mutex
	waits []time.Duration
}

func (c *instantClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, d)
	return c.RealClock.NewTimer(0)
}

func (c *instantClock) asked() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.waits...)
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}
