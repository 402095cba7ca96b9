package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authorization/path"
	apiserver "k8s.io/apiserver/pkg/server"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/healthz"

	componentconfig "k8s.io/component-base/config"
)

// A replica with refused credentials is not ready, leader or not, and is not killed for it.
func TestReadiness_FailsWhileCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	allowed, err := path.NewAuthorizer([]string{"/healthz", "/readyz", "/livez"}) // the default
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	auth := apiserver.AuthenticationInfo{Authenticator: anonymous.NewAuthenticator(nil)}
	addReadiness(&auth, func() error { return refused })
	server := genericapp.BuildHandlerChain(
		genericapp.NewBaseHandler(&componentconfig.DebuggingConfiguration{}, healthz.NewMutableHealthzHandler()),
		&apiserver.AuthorizationInfo{Authorizer: allowed}, &auth)
	status := func(path string) int {
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return answer.Code
	}
	for _, test := range []struct {
		refused error
		want    map[string]int
	}{
		{nil, map[string]int{"/readyz": 200, "/readyz?verbose": 200, "/healthz": 200, "/metrics": 403}},
		{errors.New("Keystone answered 401"), map[string]int{"/readyz": 401, "/healthz": 200, "/metrics": 403}},
		{nil, map[string]int{"/readyz": 200, "/healthz": 200}},
	} {
		refused = test.refused
		for path, want := range test.want {
			if got := status(path); got != want {
				t.Errorf("refused %v: %s answers %d, want %d", refused, path, got, want)
			}
		}
	}
}
