package transport

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

//proves:90,123
func TestReadOnly_SendsNoWrite(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	transport, err := New(TLS{}, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	trial, err := transport.Try(TLS{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "BREW"} {
		for _, path := range []string{
			"/v2.0/lbaas/loadbalancers", "/v2.0/lbaas/loadbalancers/1", "/v2.0/lbaas/loadbalancers/1/failover", "/v2.0/ports", "/v2.0/floatingips/1/tags",
			"/v2.0/routers/1/add_extraroutes", "/v2.1/servers/1/action", "/v1/secrets", "/v3/auth/tokens", "/",
		} {
			want := slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, method) || method == "POST" && path == "/v3/auth/tokens"
			for _, through := range []http.RoundTripper{transport, trial} {
				before := server.hits.Load()
				req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				response, err := through.RoundTrip(req)
				if err == nil {
					response.Body.Close()
				}
				if sent := server.hits.Load() > before; sent != want {
					t.Errorf("%s %s: sent %v, want %v", method, path, sent, want)
				}
				var noAnswer *apierror.NoAnswerError
				if !want && (!errors.Is(err, ErrReadOnly) || !errors.As(err, &noAnswer) || noAnswer.Sent) {
					t.Errorf("%s %s: error %v", method, path, err)
				}
			}
		}
	}
}
