package keystone_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// world is a Keystone behind HTTP with a project, a user on it and a service
// that tells who calls it.
type world struct {
	*keystone.Keystone
	t       *testing.T
	clock   *testingclock.FakePassiveClock
	server  *httptest.Server
	project keystone.Project
	user    keystone.User
}

func newWorld(t *testing.T, options keystone.Options) *world {
	t.Helper()
	w := &world{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = w.clock
	w.Keystone = keystone.New(options)
	w.project = w.AddProject(keystone.Project{Name: "k8s"})
	w.user = w.AddUser(keystone.User{
		Name: "ccm", Password: "secret", Roles: map[string][]string{w.project.ID: {"member", "load-balancer_member"}},
	})
	mux := http.NewServeMux()
	mux.Handle("/identity/", http.StripPrefix("/identity", w))
	mux.Handle("/identity", http.StripPrefix("/identity", w))
	whoami := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(rw).Encode(keystone.CallerFrom(r.Context()))
	})
	mux.Handle("/network/", w.Authenticate(whoami, func(r *http.Request) bool { return r.URL.Path == "/network/" }))
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

// signIn authenticates as gophercloud does.
func (w *world) signIn(options gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	w.t.Helper()
	if options.IdentityEndpoint == "" {
		options.IdentityEndpoint = w.server.URL + "/identity/v3"
	}
	client, err := openstack.NewClient(options.IdentityEndpoint)
	must(w.t, err)
	client.HTTPClient = *w.server.Client()
	return client, openstack.Authenticate(w.t.Context(), client, options)
}

func (w *world) signedIn(options gophercloud.AuthOptions) *gophercloud.ProviderClient {
	w.t.Helper()
	client, err := w.signIn(options)
	must(w.t, err)
	return client
}

func (w *world) password() gophercloud.AuthOptions {
	return gophercloud.AuthOptions{UserID: w.user.ID, Password: "secret", TenantID: w.project.ID}
}

// caller is who the service behind Authenticate sees.
func (w *world) caller(token string) (int, keystone.Caller) {
	w.t.Helper()
	status, body, _ := w.call(http.MethodGet, "/network/v2.0/whoami", nil, "X-Auth-Token", token)
	var caller keystone.Caller
	if status == http.StatusOK {
		must(w.t, json.Unmarshal(body, &caller))
	}
	return status, caller
}

func (w *world) call(method, path string, body any, headers ...string) (int, []byte, http.Header) {
	w.t.Helper()
	encoded, err := json.Marshal(body)
	must(w.t, err)
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, bytes.NewReader(encoded))
	must(w.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.server.Client().Do(request)
	must(w.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(w.t, err)
	return response.StatusCode, text, response.Header
}

// failed checks the status and message of an error body.
func (w *world) failed(status int, body []byte, wantStatus int, wantMessage string) {
	w.t.Helper()
	var answer struct {
		Error struct {
			Code           int
			Title, Message string
		}
	}
	must(w.t, json.Unmarshal(body, &answer))
	if status != wantStatus || answer.Error.Code != wantStatus || answer.Error.Title != http.StatusText(wantStatus) || answer.Error.Message != wantMessage {
		w.t.Errorf("answered %d %s, want %d %q", status, body, wantStatus, wantMessage)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
