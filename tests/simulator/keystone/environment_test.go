package keystone_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/exchange"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// environment is a Keystone behind HTTP with a project, a user on it, and a service that returns
// its caller.
type environment struct {
	*keystone.Keystone
	t       *testing.T
	clock   *testingclock.FakePassiveClock
	server  *httptest.Server
	project keystone.Project
	user    keystone.User
}

func newEnvironment(t *testing.T, options keystone.Options) *environment {
	t.Helper()
	env := &environment{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = env.clock
	env.Keystone = keystone.New(options)
	env.project = env.AddProject(keystone.Project{Name: "k8s"})
	env.user = env.AddUser(keystone.User{
		Name: "ccm", Password: "secret", Roles: map[string][]string{env.project.ID: {"member", "load-balancer_member"}},
	})
	mux := http.NewServeMux()
	mux.Handle("/identity/", http.StripPrefix("/identity", env))
	mux.Handle("/identity", http.StripPrefix("/identity", env))
	whoami := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(rw).Encode(keystone.CallerFrom(r.Context()))
	})
	mux.Handle("/network/", env.Authenticate(whoami, func(r *http.Request) bool { return r.URL.Path == "/network/" }))
	env.server = httptest.NewServer(mux)
	t.Cleanup(env.server.Close)
	return env
}

// signIn authenticates as gophercloud does.
func (env *environment) signIn(options gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	env.t.Helper()
	if options.IdentityEndpoint == "" {
		options.IdentityEndpoint = env.server.URL + "/identity/v3"
	}
	client, err := openstack.NewClient(options.IdentityEndpoint)
	must(env.t, err)
	client.HTTPClient = *env.server.Client()
	return client, openstack.Authenticate(env.t.Context(), client, options)
}

func (env *environment) signedIn(options gophercloud.AuthOptions) *gophercloud.ProviderClient {
	env.t.Helper()
	client, err := env.signIn(options)
	must(env.t, err)
	return client
}

func (env *environment) password() gophercloud.AuthOptions {
	return gophercloud.AuthOptions{UserID: env.user.ID, Password: "secret", TenantID: env.project.ID}
}

// caller returns the caller that the service behind Authenticate gets.
func (env *environment) caller(token string) (int, keystone.Caller) {
	env.t.Helper()
	status, body, _ := env.call(http.MethodGet, "/network/v2.0/whoami", nil, "X-Auth-Token", token)
	var caller keystone.Caller
	if status == http.StatusOK {
		must(env.t, json.Unmarshal(body, &caller))
	}
	return status, caller
}

func (env *environment) call(method, path string, body any, headers ...string) (int, []byte, http.Header) {
	env.t.Helper()
	return exchange.Send(env.t, env.server.Client(), method, env.server.URL+path, body, headers...)
}

// failed checks the status and message of an error body.
func (env *environment) failed(status int, body []byte, wantStatus int, wantMessage string) {
	env.t.Helper()
	var answer struct {
		Error struct {
			Code           int
			Title, Message string
		}
	}
	must(env.t, json.Unmarshal(body, &answer))
	if status != wantStatus || answer.Error.Code != wantStatus || answer.Error.Title != http.StatusText(wantStatus) || answer.Error.Message != wantMessage {
		env.t.Errorf("answered %d %s, want %d %q", status, body, wantStatus, wantMessage)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
