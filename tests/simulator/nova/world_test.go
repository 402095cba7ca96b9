package nova_test

import (
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
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// world is a cloud of Keystone, Neutron and Nova behind one HTTP server, with
// a network for the servers and a signed-in client.
type world struct {
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

func newWorld(t *testing.T, options nova.Options) *world {
	t.Helper()
	w := &world{t: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))}
	options.Clock = w.clock
	identity := keystone.New(keystone.Options{Clock: w.clock})
	w.neutron = neutron.New(neutron.Options{Clock: w.clock})
	w.Nova = nova.New(options, w.neutron)
	w.projectID = identity.AddProject(keystone.Project{Name: "k8s"}).ID
	user := identity.AddUser(keystone.User{Name: "ccm", Password: "secret", Roles: map[string][]string{w.projectID: {"member"}}})
	w.addNetworks()

	mux := http.NewServeMux()
	mux.Handle("/identity/", http.StripPrefix("/identity", identity))
	for prefix, service := range map[string]http.Handler{"/network": w.neutron, "/compute": w.Nova} {
		mux.Handle(prefix+"/", identity.Authenticate(http.StripPrefix(prefix, service), func(r *http.Request) bool { return r.URL.Path == prefix+"/" }))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.url, w.http = server.URL, server.Client()

	provider, err := openstack.NewClient(server.URL + "/identity/v3")
	must(t, err)
	provider.HTTPClient = *server.Client()
	must(t, openstack.Authenticate(t.Context(), provider, gophercloud.AuthOptions{UserID: user.ID, Password: "secret", TenantID: w.projectID}))
	w.provider = provider
	w.compute, err = openstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	must(t, err)
	return w
}

func (w *world) addNetworks() {
	w.t.Helper()
	w.external = w.neutron.AddNetwork(neutron.NetworkSpec{ProjectID: "admin", Name: "ext-net", External: true})
	_, err := w.neutron.AddSubnet(neutron.SubnetSpec{NetworkID: w.external.ID, CIDR: "172.24.4.0/22"})
	must(w.t, err)
	w.network = w.neutron.AddNetwork(neutron.NetworkSpec{ProjectID: w.projectID, Name: "k8s-net"})
	var subnets []string
	for _, cidr := range []string{"10.6.0.0/16", "fd00:6::/64"} {
		subnet, err := w.neutron.AddSubnet(neutron.SubnetSpec{NetworkID: w.network.ID, CIDR: cidr})
		must(w.t, err)
		subnets = append(subnets, subnet.ID)
	}
	_, err = w.neutron.AddRouter(neutron.RouterSpec{ProjectID: w.projectID, ExternalNetworkID: w.external.ID, SubnetIDs: subnets})
	must(w.t, err)
}

// add adds a server on the network and lets a second pass.
func (w *world) add(spec nova.ServerSpec) nova.Server {
	w.t.Helper()
	if spec.ProjectID == "" {
		spec.ProjectID = w.projectID
	}
	if spec.NetworkID == "" {
		spec.NetworkID = w.network.ID
	}
	server, err := w.AddServer(spec)
	must(w.t, err)
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	return server
}

// get sends one GET to the compute service with this microversion, if any.
func (w *world) get(path, microversion string) (int, map[string]any, http.Header) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/compute"+path, nil)
	must(w.t, err)
	request.Header.Set("X-Auth-Token", w.provider.Token())
	if microversion != "" {
		request.Header.Set("OpenStack-API-Version", "compute "+microversion)
	}
	response, err := w.http.Do(request)
	must(w.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(w.t, err)
	answer := map[string]any{}
	must(w.t, json.Unmarshal(text, &answer))
	return response.StatusCode, answer, response.Header
}

// names lists the names of the servers that a query finds, in order.
func (w *world) names(path, microversion string) []string {
	w.t.Helper()
	status, answer, _ := w.get(path, microversion)
	if status != http.StatusOK {
		w.t.Fatalf("GET %s answered %d %v", path, status, answer)
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
