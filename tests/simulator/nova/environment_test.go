package nova_test

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
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// environment is a cloud of Keystone, Neutron and Nova behind one HTTP server, with
// a network for the servers and a signed-in client.
type environment struct {
	*nova.Nova
	t         *testing.T
	clock     *testingclock.FakePassiveClock
	neutron   *neutron.Neutron
	url       string
	http      *http.Client
	provider  *gophercloud.ProviderClient
	compute   *gophercloud.ServiceClient
	projectID string
	network   neutron.Network
	external  neutron.Network
}

func newEnvironment(t *testing.T, options nova.Options) *environment {
	t.Helper()
	env := &environment{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = env.clock
	identity := keystone.New(keystone.Options{Clock: env.clock})
	env.neutron = neutron.New(neutron.Options{Clock: env.clock})
	env.Nova = nova.New(options, env.neutron)
	env.projectID = identity.AddProject(keystone.Project{Name: "k8s"}).ID
	user := identity.AddUser(keystone.User{Name: "ccm", Password: "secret", Roles: map[string][]string{env.projectID: {"member"}}})
	env.addNetworks()

	mux := http.NewServeMux()
	mux.Handle("/identity/", http.StripPrefix("/identity", identity))
	for prefix, service := range map[string]http.Handler{"/network": env.neutron, "/compute": env.Nova} {
		mux.Handle(prefix+"/", identity.Authenticate(http.StripPrefix(prefix, service), func(r *http.Request) bool { return r.URL.Path == prefix+"/" }))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	env.url, env.http = server.URL, server.Client()

	provider, err := openstack.NewClient(server.URL + "/identity/v3")
	must(t, err)
	provider.HTTPClient = *server.Client()
	must(t, openstack.Authenticate(t.Context(), provider, gophercloud.AuthOptions{UserID: user.ID, Password: "secret", TenantID: env.projectID}))
	env.provider = provider
	env.compute, err = openstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(t, err)
	return env
}

func (env *environment) addNetworks() {
	env.t.Helper()
	env.external = env.neutron.AddNetwork(neutron.NetworkSpec{ProjectID: "admin", Name: "ext-net", External: true})
	_, err := env.neutron.AddSubnet(neutron.SubnetSpec{NetworkID: env.external.ID, CIDR: "172.24.4.0/22"})
	must(env.t, err)
	env.network = env.neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.projectID, Name: "k8s-net"})
	var subnets []string
	for _, cidr := range []string{"10.6.0.0/16", "fd00:6::/64"} {
		subnet, err := env.neutron.AddSubnet(neutron.SubnetSpec{NetworkID: env.network.ID, CIDR: cidr})
		must(env.t, err)
		subnets = append(subnets, subnet.ID)
	}
	_, err = env.neutron.AddRouter(neutron.RouterSpec{ProjectID: env.projectID, ExternalNetworkID: env.external.ID, SubnetIDs: subnets})
	must(env.t, err)
}

// add adds a server on the network and lets a second pass.
func (env *environment) add(spec nova.ServerSpec) nova.Server {
	env.t.Helper()
	if spec.ProjectID == "" {
		spec.ProjectID = env.projectID
	}
	if spec.NetworkID == "" {
		spec.NetworkID = env.network.ID
	}
	server, err := env.AddServer(spec)
	must(env.t, err)
	env.clock.SetTime(env.clock.Now().Add(time.Second))
	return server
}

// get sends one GET to the compute service with this microversion, if any.
func (env *environment) get(path, microversion string) (int, map[string]any, http.Header) {
	env.t.Helper()
	headers := []string{"X-Auth-Token", env.provider.Token()}
	if microversion != "" {
		headers = append(headers, "OpenStack-API-Version", "compute "+microversion)
	}
	status, text, header := exchange.Send(env.t, env.http, http.MethodGet, env.url+"/compute"+path, nil, headers...)
	answer := map[string]any{}
	must(env.t, json.Unmarshal(text, &answer))
	return status, answer, header
}

// names returns the names of the servers that a query finds, in order.
func (env *environment) names(path, microversion string) []string {
	env.t.Helper()
	status, answer, _ := env.get(path, microversion)
	if status != http.StatusOK {
		env.t.Fatalf("GET %s answered %d %v", path, status, answer)
	}
	names := []string{}
	for _, server := range answer["servers"].([]any) {
		name, _ := server.(map[string]any)["name"].(string)
		names = append(names, name)
	}
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
