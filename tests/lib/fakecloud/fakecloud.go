// Package fakecloud is a Keystone and services with answers that a test chooses, for tests of
// failures below the level of the simulator.
package fakecloud

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// Cloud is a Keystone and, behind it, whatever services a test wants, on one
// listener. It checks the token of every request but that for a root document.
type Cloud struct {
	*httptest.Server
	// Clock is what the life of tokens is counted on.
	Clock clock.Clock

	mu sync.Mutex
	// Life is that of the tokens.
	Life time.Duration
	// Region of all endpoints.
	Region string
	// Before is a region with endpoints before those in the catalog; "" is none.
	Before string
	// Paths of the services in the catalog, by type.
	Paths map[string]string
	// Keystone answers token requests when not nil. The lock is held.
	Keystone http.HandlerFunc
	// Services answers everything else when not nil.
	Services http.HandlerFunc

	// Issued counts the tokens, Valid has those that are taken.
	Issued int
	Valid  map[string]bool
	// SignIns are the bodies of the token requests.
	SignIns []map[string]any
	served  []Request
}

// Request is what a service got.
type Request struct {
	Method, Path, Token, UserAgent, Body string
}

// New starts a cloud that ends with the test.
func New(t *testing.T) *Cloud {
	t.Helper()
	c := &Cloud{
		Clock:  clock.RealClock{},
		Life:   time.Hour,
		Region: "RegionOne",
		Valid:  map[string]bool{},
		Paths: map[string]string{
			"load-balancer": "/load-balancer", "network": "/network", "compute": "/compute/v2.1",
		},
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Server.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Openstack-Request-Id", "req-7a1f2b5c")
	if strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		c.serveToken(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	token := r.Header.Get("X-Auth-Token")
	c.mu.Lock()
	c.served = append(c.served, Request{r.Method, r.URL.Path, token, r.Header.Get("User-Agent"), string(body)})
	known := c.Valid[token] || r.URL.Path == "/load-balancer/"
	services := c.Services
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

func (c *Cloud) serveToken(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body := map[string]any{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	c.SignIns = append(c.SignIns, body)
	if c.Keystone != nil {
		c.Keystone(w, r)
		return
	}
	id := r.Header.Get("X-Subject-Token")
	if r.Method == http.MethodPost {
		c.Issued++
		id = fmt.Sprintf("token-%d", c.Issued)
	}
	c.Valid[id] = true
	w.Header().Set("X-Subject-Token", id)
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	now := c.Clock.Now()
	var catalog []map[string]any
	for service, path := range c.Paths {
		endpoints := []map[string]any{
			{"interface": "internal", "region": c.Region, "url": "http://internal.invalid" + path},
			{"interface": "public", "region": c.Region, "region_id": c.Region, "url": c.URL + path},
		}
		if c.Before != "" {
			endpoints = append([]map[string]any{
				{"interface": "public", "region": c.Before, "region_id": c.Before, "url": "http://elsewhere.invalid" + path},
			}, endpoints...)
		}
		catalog = append(catalog, map[string]any{"type": service, "endpoints": endpoints})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
		"issued_at":  now.UTC().Format(time.RFC3339Nano),
		"expires_at": now.Add(c.Life).UTC().Format(time.RFC3339Nano),
		"project":    map[string]any{"id": "project-1"},
		"catalog":    catalog,
	}})
}

// Set changes the cloud under its lock.
func (c *Cloud) Set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// RevokeAll makes all tokens invalid.
func (c *Cloud) RevokeAll() { c.Set(func() { clear(c.Valid) }) }

// SignInCount returns the number of token requests.
func (c *Cloud) SignInCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.SignIns)
}

// Requests returns what the services got.
func (c *Cloud) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Request(nil), c.served...)
}

// Config returns a cloud.conf for the cloud.
func (c *Cloud) Config() config.Global {
	return config.Global{
		AuthURL: c.URL + "/identity", Username: "ccm", UserDomainID: "default",
		Password: "pa55word", TenantID: "project-1", Region: "RegionOne",
	}
}

// Answer returns a handler that answers a status and headers, given as name and value
// in turn.
func Answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{}`)
	}
}

// AnswerBody returns a handler that answers a status and a body.
func AnswerBody(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}
