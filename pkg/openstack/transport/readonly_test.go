package transport

import (
	"errors"
	"net/http"
	"testing"
)

func TestReadOnly_SendsReadsAndSignsInOnly(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	carrier, err := New(TLS{}, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(carrier.CloseIdleConnections)
	for request, sent := range map[string]bool{
		"GET /v2.0/lbaas/loadbalancers":                true,
		"HEAD /v3/auth/tokens":                         true,
		"POST /v3/auth/tokens":                         true,
		"DELETE /v3/auth/tokens":                       false,
		"POST /v2.0/lbaas/loadbalancers":               false,
		"PUT /v2.0/lbaas/loadbalancers/lb/failover":    false,
		"PUT /v2.0/ports/p":                            false,
		"PATCH /v2.0/ports/p":                          false,
		"DELETE /v2.0/floatingips/f":                   false,
		"POST /v3/users/u/application_credentials":     false,
		"POST /anything/v3/auth/tokens/and/then/more":  false,
		"OPTIONS /v2.0/lbaas/loadbalancers":            true,
		"REPORT /v2.0/lbaas/loadbalancers":             false,
		"POST /identity/v3/auth/tokens":                true,
		"POST /load-balancer/v2.0/lbaas/auth/tokens":   false,
		"POST /v2.0/lbaas/pools/p/members/auth/tokens": false,
	} {
		var method, path string
		for i, r := range request {
			if r == ' ' {
				method, path = request[:i], request[i+1:]
				break
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		before := server.hits.Load()
		resp, err := carrier.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if got := server.hits.Load() > before; got != sent || !sent && !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: sent %v, want %v: %v", request, got, sent, err)
		}
	}
}
