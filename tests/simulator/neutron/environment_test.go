package neutron_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/exchange"
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

// environment is a Neutron behind HTTP with an external network, a tenant network
// with both IP versions and a router between them.
type environment struct {
	*neutron.Neutron
	t      *testing.T
	clock  *testingclock.FakePassiveClock
	server *httptest.Server

	external, inside            neutron.Network
	outside, subnet, subnetIPv6 neutron.Subnet
	router                      neutron.Router
}

func newEnvironment(t *testing.T, options neutron.Options) *environment {
	t.Helper()
	env := &environment{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = env.clock
	env.Neutron = neutron.New(options)
	env.external = env.AddNetwork(neutron.NetworkSpec{ProjectID: admin, Name: "ext-net", External: true})
	env.outside = env.addSubnet(neutron.SubnetSpec{
		NetworkID: env.external.ID, Name: "ext-subnet", CIDR: "172.24.4.0/22",
		Pools: []neutron.AddressRange{{Start: "172.24.5.10", End: "172.24.5.15"}},
	})
	env.inside = env.AddNetwork(neutron.NetworkSpec{ProjectID: project, Name: "k8s-net"})
	env.subnet = env.addSubnet(neutron.SubnetSpec{NetworkID: env.inside.ID, Name: "k8s-subnet", CIDR: "10.6.0.0/16"})
	env.subnetIPv6 = env.addSubnet(neutron.SubnetSpec{
		NetworkID: env.inside.ID, Name: "k8s-subnet6", CIDR: "fd00:6::/64", AddressMode: "dhcpv6-stateful",
	})
	router, err := env.AddRouter(neutron.RouterSpec{
		ProjectID: project, Name: "k8s-router", ExternalNetworkID: env.external.ID, SubnetIDs: []string{env.subnet.ID, env.subnetIPv6.ID},
	})
	must(t, err)
	env.router = router

	// The token of the tests is the project and the roles themselves.
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		id, roles, _ := strings.Cut(r.Header.Get("X-Auth-Token"), " ")
		caller := keystone.Caller{UserID: "user", ProjectID: id, Roles: strings.Fields(roles)}
		env.ServeHTTP(rw, r.WithContext(keystone.WithCaller(r.Context(), caller)))
	})
	mux := http.NewServeMux()
	mux.Handle("/network/", http.StripPrefix("/network", handler))
	env.server = httptest.NewServer(mux)
	t.Cleanup(env.server.Close)
	return env
}

func (env *environment) addSubnet(spec neutron.SubnetSpec) neutron.Subnet {
	env.t.Helper()
	subnet, err := env.AddSubnet(spec)
	must(env.t, err)
	return subnet
}

// client is gophercloud's client of the network service.
func (env *environment) client(projectID string, roles ...string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{HTTPClient: *env.server.Client()}
	provider.UseTokenLock()
	provider.SetToken(strings.Join(append([]string{projectID}, roles...), " "))
	return &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: env.server.URL + "/network/", ResourceBase: env.server.URL + "/network/v2.0/", Type: "network",
	}
}

func (env *environment) member() *gophercloud.ServiceClient { return env.client(project, "member") }

// call sends one request as a member of the project and returns the answer.
func (env *environment) call(method, path string, body any, headers ...string) (int, map[string]any) {
	env.t.Helper()
	status, text := env.send(method, path, body, headers...)
	answer := map[string]any{}
	if len(text) > 0 {
		must(env.t, json.Unmarshal(text, &answer))
	}
	return status, answer
}

// text sends a request with an answer that is not JSON.
func (env *environment) text(method, path string) (int, string) {
	env.t.Helper()
	status, text := env.send(method, path, nil)
	return status, string(text)
}

func (env *environment) send(method, path string, body any, headers ...string) (int, []byte) {
	env.t.Helper()
	headers = append([]string{"X-Auth-Token", project + " member"}, headers...)
	status, text, _ := exchange.Send(env.t, env.server.Client(), method, env.server.URL+"/network"+path, body, headers...)
	return status, text
}

// refused checks that a request is answered with this status and error type.
func (env *environment) refused(method, path string, body any, status int, kind string) string {
	env.t.Helper()
	code, answer := env.call(method, path, body)
	refusal, _ := answer["NeutronError"].(map[string]any)
	if code != status || refusal["type"] != kind {
		env.t.Errorf("%s %s answered %d %v, want %d %s", method, path, code, answer, status, kind)
	}
	if _, ok := refusal["detail"]; !ok {
		env.t.Errorf("%s %s: the error has no detail: %v", method, path, answer)
	}
	message, _ := refusal["message"].(string)
	return message
}

func (env *environment) port(spec neutron.PortSpec) neutron.Port {
	env.t.Helper()
	if spec.ProjectID == "" {
		spec.ProjectID = project
	}
	if spec.NetworkID == "" && spec.SubnetID == "" {
		spec.NetworkID = env.inside.ID
	}
	port, err := env.CreatePort(spec)
	must(env.t, err)
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
