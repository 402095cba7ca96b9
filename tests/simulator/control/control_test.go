package control_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// steered is a cloud with its control API for a test.
type steered struct {
	*simulator.Cloud
	handler http.Handler
}

func start(t *testing.T) *steered {
	t.Helper()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return &steered{Cloud: cloud, handler: control.For(cloud)}
}

// ask sends a request from an address and returns the answer.
func (s *steered) ask(from, method, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, control.Prefix+path, strings.NewReader(body))
	request.RemoteAddr = from
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	return answer
}

// do sends a request, wants the status and decodes the answer into result if that is not nil.
func (s *steered) do(t *testing.T, method, path, body string, status int, result any) {
	t.Helper()
	answer := s.ask("127.0.0.1:1024", method, path, body)
	if answer.Code != status {
		t.Fatalf("%s %s %s: status %d, want %d\n%s", method, path, body, answer.Code, status, answer.Body)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Body.Bytes(), result); err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, answer.Body)
	}
}

func TestHandler_AnswersLoopbackCallersOnly(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	for from, want := range map[string]int{
		"127.0.0.1:1024": http.StatusOK, "127.9.9.9:1024": http.StatusOK, "[::1]:1024": http.StatusOK,
		"[::ffff:127.0.0.1]:1024": http.StatusOK,
		"192.0.2.1:1024":          http.StatusForbidden, "[2001:db8::1]:1024": http.StatusForbidden,
		"@": http.StatusForbidden,
	} {
		if got := cloud.ask(from, http.MethodGet, "servers", "").Code; got != want {
			t.Errorf("caller %s: status %d, want %d", from, got, want)
		}
	}
}

type server struct{ ID, Name, Status, Address string }

func TestServers_AreAddedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	var given, chosen server
	cloud.do(t, "POST", "servers", `{"name":"node-1","address":"127.100.0.77","flavor":"m1.small","zone":"az1"}`, 201, &given)
	cloud.do(t, "POST", "servers", `{"name":"node-2"}`, 201, &chosen)
	if given.Address != "127.100.0.77" || given.Status != "ACTIVE" || chosen.Address == "" {
		t.Errorf("made %+v and %+v", given, chosen)
	}
	cloud.do(t, "POST", "servers/"+given.ID+"/status", `{"status":"SHUTOFF"}`, 204, nil)

	var list struct{ Servers []server }
	cloud.do(t, "GET", "servers", "", 200, &list)
	given.Status = "SHUTOFF"
	if len(list.Servers) != 2 || list.Servers[0] != given || list.Servers[1] != chosen {
		t.Errorf("listed %+v, want %+v and %+v", list.Servers, given, chosen)
	}

	cloud.do(t, "DELETE", "servers/"+given.ID, "", 204, nil)
	cloud.do(t, "GET", "servers", "", 200, &list)
	if len(list.Servers) != 1 || list.Servers[0].ID != chosen.ID {
		t.Errorf("after deleting one: %+v", list.Servers)
	}
}

func TestHandler_ExplainsBadRequests(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.do(t, "POST", "servers", `{"name":"node-1","address":"127.100.0.77"}`, 201, nil)
	tests := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "servers", `{"name":"node-2","address":"127.100.0.77"}`, 409, "already allocated"},
		{"POST", "servers", `{"name":"node-2","address":"10.0.0.1"}`, 400, "10.0.0.1"},
		{"POST", "servers", `{"address":"127.100.0.78"}`, 400, "name"},
		{"POST", "servers", `{"nmae":"node-2"}`, 400, "nmae"},
		{"POST", "servers", `node-2`, 400, "JSON"},
		{"POST", "servers/none/status", `{"status":"SHUTOFF"}`, 404, "none"},
		{"POST", "servers/none/status", `{}`, 400, "status"},
		{"DELETE", "servers/none", "", 404, "none"},
		{"POST", "loadbalancers/none/status", `{"provisioning_status":"ERROR"}`, 404, "none"},
		{"POST", "loadbalancers/none/status", `{"provisioning_status":"BROKEN"}`, 400, "PENDING_UPDATE"},
		{"POST", "loadbalancers/none/status", ``, 400, "JSON"},
		{"DELETE", "loadbalancers/none", "", 404, "none"},
		{"POST", "members/none/status", `{"operating_status":"ERROR"}`, 404, "none"},
		{"POST", "members/none/status", `{"operating_status":"ILL"}`, 400, "DRAINING"},
		{"POST", "faults", `{}`, 400, "a status, drop or a delay"},
		{"POST", "faults", `{"status":42}`, 400, "42"},
		{"POST", "faults", `{"status":500,"from":-1}`, 400, "0 or more"},
		{"POST", "faults", `{"delay":"soon"}`, 400, "soon"},
		{"POST", "faults", `{"drop":true,"route":"["}`, 400, "pattern"},
		{"POST", "faults", `{"likelihood":0.5}`, 400, "likelihood"},
		{"POST", "faults", `{"drop":true,"probability":2}`, 400, "probability"},
		{"POST", "faults", `{"kind":"smile"}`, 400, "smile"},
		{"POST", "conditions", `{"kind":"smile"}`, 400, "smile"},
		{"POST", "conditions", `{"kind":"held","load_balancer":"x","provisioning_status":"ACTIVE"}`, 404, "x"},
		{"POST", "conditions", `{"kind":"subnet-exhausted","subnet":"x"}`, 404, "x"},
		{"POST", "conditions", `{"kind":"connections-refused"}`, 400, "how long"},
		{"POST", "conditions", `{"kind":"quota"}`, 400, "resource"},
		{"POST", "conditions", `{"kind":"catalog"}`, 400, "url"},
		{"POST", "conditions", `{"kind":"foreign"}`, 400, "method"},
		{"POST", "failures", `{"operation":"smile"}`, 400, "smile"},
		{"POST", "children/x/status", `{"provisioning_status":"ERROR"}`, 404, "x"},
		{"DELETE", "faults/x", ``, 404, "x"},
	}
	for _, test := range tests {
		var refusal struct{ Error string }
		cloud.do(t, test.method, test.path, test.body, test.status, &refusal)
		if !strings.Contains(refusal.Error, test.want) {
			t.Errorf("%s %s %s: %q does not say %q", test.method, test.path, test.body, refusal.Error, test.want)
		}
	}
}

func TestHandler_RefusesUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.do(t, "GET", "nothing", "", 404, nil)
	cloud.do(t, "PUT", "servers", "", 405, nil)
}

func TestLeftovers_AreWhatServersAndNetworksDoNotExplain(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	cloud.do(t, "POST", "servers", `{"name":"node-1"}`, 201, nil)
	type object struct{ ID, Name, Detail string }
	var left struct {
		Count          int
		LoadBalancers  []object `json:"load_balancers"`
		FloatingIPs    []object `json:"floating_ips"`
		Ports          []object
		SecurityGroups []object `json:"security_groups"`
	}
	cloud.do(t, "GET", "leftovers", "", 200, &left)
	if left.Count != 0 {
		t.Fatalf("a fresh cloud has leftovers: %+v", left)
	}

	tenant := cloud.Account.ProjectID
	port, err := cloud.Neutron.CreatePort(neutron.PortSpec{ProjectID: tenant, NetworkID: cloud.Network.ID, Name: "forgotten"})
	if err != nil {
		t.Fatal(err)
	}
	floatingIP, err := cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
		ProjectID: tenant, NetworkID: cloud.ExternalNetwork.ID, Description: "for web",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Neutron.CreateSecurityGroup(neutron.SecurityGroupSpec{ProjectID: tenant, Name: "lb-sg"}); err != nil {
		t.Fatal(err)
	}
	lb := cloud.balance(t)
	cloud.do(t, "GET", "leftovers", "", 200, &left)

	if len(left.LoadBalancers) != 1 || left.LoadBalancers[0].ID != lb.ID {
		t.Errorf("load balancers %+v, want %s", left.LoadBalancers, lb.ID)
	}
	if len(left.FloatingIPs) != 1 || left.FloatingIPs[0].ID != floatingIP.ID || left.FloatingIPs[0].Detail != "for web" {
		t.Errorf("floating IPs %+v, want %s", left.FloatingIPs, floatingIP.ID)
	}
	if len(left.SecurityGroups) != 1 || left.SecurityGroups[0].Name != "lb-sg" {
		t.Errorf("security groups %+v, want lb-sg", left.SecurityGroups)
	}
	if len(left.Ports) != 2 || left.Ports[0].ID != port.ID { // the other is the VIP's
		t.Errorf("ports %+v, want %s and the VIP's", left.Ports, port.ID)
	}
	if left.Count != 5 {
		t.Errorf("count %d, want 5", left.Count)
	}
}
