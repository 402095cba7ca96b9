package octavia_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const project = "0123456789abcdef0123456789abcdef"

const lbaas = "/v2.0/lbaas/"

// environment is an Octavia on a fake clock with a Neutron of one network.
type environment struct {
	*octavia.Octavia
	t       *testing.T
	clock   *clocktesting.FakeClock
	network *neutron.Neutron
	subnet  neutron.Subnet
	subnet6 neutron.Subnet
	caller  keystone.Caller
}

func newEnvironment(t *testing.T, options octavia.Options) *environment {
	t.Helper()
	env := &environment{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 8, 1, 12, 0, 0, 5000, time.UTC))}
	env.network = neutron.New(neutron.Options{Clock: env.clock})
	net := env.network.AddNetwork(neutron.NetworkSpec{Name: "net", ProjectID: project})
	env.subnet = env.addSubnet(neutron.SubnetSpec{Name: "v4", NetworkID: net.ID, CIDR: "10.6.0.0/16"})
	env.subnet6 = env.addSubnet(neutron.SubnetSpec{Name: "v6", NetworkID: net.ID, CIDR: "fd00:6::/64", AddressMode: "dhcpv6-stateful"})
	env.caller = keystone.Caller{ProjectID: project, Roles: []string{"member", "load-balancer_member"}}
	options.Clock, options.Network = env.clock, env.network
	env.Octavia = octavia.New(options)
	t.Cleanup(env.Close)
	return env
}

func (env *environment) addSubnet(spec neutron.SubnetSpec) neutron.Subnet {
	env.t.Helper()
	subnet, err := env.network.AddSubnet(spec)
	if err != nil {
		env.t.Fatal(err)
	}
	return subnet
}

// answer is what came back, with the fault string of an error.
type answer struct {
	status int
	fault  string
	text   string
	header http.Header
	json   map[string]any
}

// call sends a request. A body that is no string is sent as JSON.
func (env *environment) call(method, path string, body any) answer {
	env.t.Helper()
	text, is := body.(string)
	if !is && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			env.t.Fatal(err)
		}
		text = string(encoded)
	}
	if !strings.HasPrefix(path, "/") {
		path = lbaas + path
	}
	request := httptest.NewRequest(method, path, strings.NewReader(text))
	recorded := httptest.NewRecorder()
	env.ServeHTTP(recorded, request.WithContext(keystone.WithCaller(request.Context(), env.caller)))
	got := answer{status: recorded.Code, text: recorded.Body.String(), header: recorded.Header()}
	if json.Unmarshal(recorded.Body.Bytes(), &got.json) == nil {
		got.fault, _ = got.json["faultstring"].(string)
	}
	return got
}

// must wants the status and returns the object in the answer.
func (env *environment) must(status int, method, path string, body any) map[string]any {
	env.t.Helper()
	got := env.call(method, path, body)
	if got.status != status {
		env.t.Fatalf("%s %s %.300v: %d, want %d: %.300s", method, path, body, got.status, status, got.text)
	}
	for _, value := range got.json {
		if object, is := value.(map[string]any); is {
			return object
		}
	}
	return nil
}

// refused wants the status and a text in the error.
func (env *environment) refused(status int, text, method, path string, body any) {
	env.t.Helper()
	got := env.call(method, path, body)
	if got.status != status || !strings.Contains(got.text, text) {
		env.t.Errorf("%s %s %v: %d %s\nwant %d with %q", method, path, body, got.status, got.text, status, text)
	}
}

func (env *environment) get(path string) map[string]any {
	env.t.Helper()
	return env.must(http.StatusOK, http.MethodGet, path, nil)
}

// status of the object at the path.
func (env *environment) status(path string) string {
	env.t.Helper()
	return env.get(path)["provisioning_status"].(string)
}

func (env *environment) wantStatus(path, status string) {
	env.t.Helper()
	if got := env.status(path); got != status {
		env.t.Fatalf("%s is %s, want %s", path, got, status)
	}
}

type object = map[string]any

// balancer is the body of a full create: for each provider what it can do.
func (env *environment) balancer(provider string, more object) object {
	algorithm := "ROUND_ROBIN"
	if provider == octavia.ProviderOVN {
		algorithm = "SOURCE_IP_PORT"
	}
	body := object{
		"name": "lb", "provider": provider, "vip_subnet_id": env.subnet.ID, "tags": []string{"a", "b"},
		"listeners": []object{{
			"name": "listener", "protocol": "TCP", "protocol_port": 80,
			"default_pool": object{
				"name": "pool", "protocol": "TCP", "lb_algorithm": algorithm,
				"members":       []object{{"address": "10.6.0.10", "protocol_port": 30080}, {"address": "10.6.0.11", "protocol_port": 30080}},
				"healthmonitor": object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
			},
		}},
	}
	for key, value := range more {
		body[key] = value
	}
	return object{"loadbalancer": body}
}

// made is a load balancer with the IDs of its only children.
type made struct{ id, listener, pool, monitor, port string }

// create makes a load balancer and lets it become ACTIVE.
func (env *environment) create(provider string) made {
	env.t.Helper()
	lb := env.must(http.StatusCreated, http.MethodPost, "loadbalancers", env.balancer(provider, nil))
	env.clock.Step(time.Hour)
	pool := lb["pools"].([]any)[0].(object)
	return made{
		id: lb["id"].(string), port: lb["vip_port_id"].(string), pool: pool["id"].(string),
		listener: lb["listeners"].([]any)[0].(object)["id"].(string),
		monitor:  pool["healthmonitor"].(object)["id"].(string),
	}
}

func slow() map[string]octavia.Delays {
	return map[string]octavia.Delays{"": {Create: time.Minute, Update: 10 * time.Second, Delete: 20 * time.Second}}
}
