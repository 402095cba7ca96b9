package neutron_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// The two projects of the tests, beside that of the administrator.
const (
	project = "21fee4ba01c64bd7ad971596b0335541"
	other   = "5e0aa36ff84a46f08acb6ac1b4c0e2c6"
	admin   = "9c6ebd18906944faa170b9ea7af5f7a6"
	nobody  = "deadbeef-dead-beef-dead-beefdeadbeef" // the ID of nothing
)

// world is a Neutron behind HTTP with an external network, a tenant network
// with both IP versions and a router between them.
type world struct {
	*neutron.Neutron
	t      *testing.T
	clock  *testingclock.FakePassiveClock
	server *httptest.Server

	external, inside            neutron.Network
	outside, subnet, subnetIPv6 neutron.Subnet
	router                      neutron.Router
}

func newWorld(t *testing.T, options neutron.Options) *world {
	t.Helper()
	w := &world{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = w.clock
	w.Neutron = neutron.New(options)
	w.external = w.AddNetwork(neutron.NetworkSpec{ProjectID: admin, Name: "ext-net", External: true})
	w.outside = w.addSubnet(neutron.SubnetSpec{
		NetworkID: w.external.ID, Name: "ext-subnet", CIDR: "172.24.4.0/22",
		Pools: []neutron.AddressRange{{Start: "172.24.5.10", End: "172.24.5.15"}},
	})
	w.inside = w.AddNetwork(neutron.NetworkSpec{ProjectID: project, Name: "k8s-net"})
	w.subnet = w.addSubnet(neutron.SubnetSpec{NetworkID: w.inside.ID, Name: "k8s-subnet", CIDR: "10.6.0.0/16"})
	w.subnetIPv6 = w.addSubnet(neutron.SubnetSpec{
		NetworkID: w.inside.ID, Name: "k8s-subnet6", CIDR: "fd00:6::/64", AddressMode: "dhcpv6-stateful",
	})
	router, err := w.AddRouter(neutron.RouterSpec{
		ProjectID: project, Name: "k8s-router", ExternalNetworkID: w.external.ID, SubnetIDs: []string{w.subnet.ID, w.subnetIPv6.ID},
	})
	must(t, err)
	w.router = router

	// The token of the tests is the project and the roles themselves.
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		id, roles, _ := strings.Cut(r.Header.Get("X-Auth-Token"), " ")
		caller := keystone.Caller{UserID: "user", ProjectID: id, Roles: strings.Fields(roles)}
		w.ServeHTTP(rw, r.WithContext(keystone.WithCaller(r.Context(), caller)))
	})
	mux := http.NewServeMux()
	mux.Handle("/network/", http.StripPrefix("/network", handler))
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) addSubnet(spec neutron.SubnetSpec) neutron.Subnet {
	w.t.Helper()
	subnet, err := w.AddSubnet(spec)
	must(w.t, err)
	return subnet
}

// client is gophercloud's client of the network service.
func (w *world) client(projectID string, roles ...string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: *w.server.Client()}
	provider.UseTokenLock()
	provider.SetToken(strings.Join(append([]string{projectID}, roles...), " "))
	return &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: w.server.URL + "/network/", ResourceBase: w.server.URL + "/network/v2.0/", Type: "network",
	}
}

func (w *world) member() *gophercloud.ServiceClient { return w.client(project, "member") }

// call sends one request as a member of the project and returns the answer.
func (w *world) call(method, path string, body any, headers ...string) (int, map[string]any) {
	w.t.Helper()
	encoded, err := json.Marshal(body)
	must(w.t, err)
	if body == nil {
		encoded = nil
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+"/network"+path, bytes.NewReader(encoded))
	must(w.t, err)
	request.Header.Set("X-Auth-Token", project+" member")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.server.Client().Do(request)
	must(w.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(w.t, err)
	answer := map[string]any{}
	if len(text) > 0 {
		must(w.t, json.Unmarshal(text, &answer))
	}
	return response.StatusCode, answer
}

// text sends a request whose answer is no JSON.
func (w *world) text(method, path string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+"/network"+path, nil)
	must(w.t, err)
	request.Header.Set("X-Auth-Token", project+" member")
	response, err := w.server.Client().Do(request)
	must(w.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(w.t, err)
	return response.StatusCode, string(text)
}

// refused checks that a request is answered with this status and error type.
func (w *world) refused(method, path string, body any, status int, kind string) string {
	w.t.Helper()
	code, answer := w.call(method, path, body)
	refusal, _ := answer["NeutronError"].(map[string]any)
	if code != status || refusal["type"] != kind {
		w.t.Errorf("%s %s answered %d %v, want %d %s", method, path, code, answer, status, kind)
	}
	if _, ok := refusal["detail"]; !ok {
		w.t.Errorf("%s %s: the error has no detail: %v", method, path, answer)
	}
	message, _ := refusal["message"].(string)
	return message
}

func (w *world) port(spec neutron.PortSpec) neutron.Port {
	w.t.Helper()
	if spec.ProjectID == "" {
		spec.ProjectID = project
	}
	if spec.NetworkID == "" && spec.SubnetID == "" {
		spec.NetworkID = w.inside.ID
	}
	port, err := w.CreatePort(spec)
	must(w.t, err)
	return port
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refusal checks that an error of the Go side is a *neutron.Error of a type.
func refusal(t *testing.T, err error, status int, kind string) {
	t.Helper()
	var refused *neutron.Error
	if !errors.As(err, &refused) || refused.Status != status || refused.Type != kind {
		t.Errorf("error is %v, want %d %s", err, status, kind)
	}
}
