package rest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
)

func TestKindOf_ClassifiesByMethodAndPath(t *testing.T) {
	t.Parallel()
	const id = "3f3b4a3e-0000-4000-8000-000000000001"
	tests := []struct{ method, path, want string }{
		{"POST", "/load-balancer/v2.0/lbaas/loadbalancers", "Octavia loadbalancer_create (loadbalancer_create)"},
		{"GET", "/load-balancer/v2.0/lbaas/loadbalancers", "Octavia loadbalancer_list (loadbalancer_read)"},
		{"GET", "/load-balancer/v2.0/lbaas/loadbalancers/" + id, "Octavia loadbalancer_get (loadbalancer_read)"},
		{"DELETE", "/v2/lbaas/loadbalancers/" + id, "Octavia loadbalancer_delete (loadbalancer_delete)"},
		{"GET", "/v2.0/lbaas/loadbalancers/" + id + "/status", "Octavia loadbalancer_status_get (loadbalancer_read)"},
		{"PUT", "/v2.0/lbaas/loadbalancers/" + id + "/failover", "Octavia loadbalancer_failover (loadbalancer_update)"},
		{"POST", "/v2.0/lbaas/listeners", "Octavia loadbalancer_listener_create (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/listeners/" + id, "Octavia loadbalancer_listener_update (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_members_update (loadbalancer_update)"},
		{"PUT", "/v2.0/lbaas/pools/" + id + "/members/" + id, "Octavia loadbalancer_member_update (loadbalancer_update)"},
		{"POST", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_member_create (loadbalancer_update)"},
		{"GET", "/v2.0/lbaas/pools/" + id + "/members", "Octavia loadbalancer_member_list (loadbalancer_read)"},
		{"DELETE", "/v2.0/lbaas/healthmonitors/" + id, "Octavia loadbalancer_healthmonitor_delete (loadbalancer_update)"},
		{"GET", "/v2.0/lbaas/" + id + "/whatever/else", "Octavia other_list (loadbalancer_read)"},
		{"POST", "/network/v2.0/floatingips", "Neutron floating_ip_create (network_write)"},
		{"PUT", "/v2.0/floatingips/" + id + "/tags", "Neutron floating_ip_tag_update (network_write)"},
		{"GET", "/v2.0/ports", "Neutron port_list (network_read)"},
		{"GET", "/v2.0/subnets/" + id, "Neutron subnet_get (network_read)"},
		{"PUT", "/v2.0/routers/" + id + "/add_extraroutes", "Neutron router_update (network_write)"},
		{"POST", "/v2.0/security-group-rules", "Neutron security_group_rule_create (network_write)"},
		{"GET", "/compute/v2.1/servers/detail", "Nova server_list (server_read)"},
		{"GET", "/compute/v2.1/servers/" + id, "Nova server_get (server_read)"},
		{"GET", "/v2.1/" + id + "/servers/" + id, "Nova server_get (server_read)"},
		{"GET", "/v2.1/servers/" + id + "/os-interface", "Nova server_os_interface_list (server_read)"},
		{"GET", "/v2.1/flavors/" + id, "Nova flavor_get (server_read)"},
		{"POST", "/v2.1/servers", "Nova server_create (other)"},
		{"GET", "/identity/v3/auth/catalog", "Keystone other_list (other)"},
		{"POST", "/identity/v3/auth/tokens", "Keystone token_create (token)"},
		{"GET", "/identity/v3/auth/tokens", "Keystone token_get (token)"},
		{"GET", "/identity/v3/users/1/application_credentials/2", "Keystone application_credential_get (other)"},
		{"GET", "/load-balancer/", "OpenStack version_list (other)"},
		{"GET", "/", "OpenStack version_list (other)"},
		{"GET", "/v2.0/", "OpenStack version_list (other)"},
		{"PUT", "/v1/AUTH_x/container/object", "OpenStack other_update (other)"},
		{"GET", "/v2.0/lbaas", "Octavia other_list (loadbalancer_read)"},
	}
	for _, test := range tests {
		kind := KindOf(test.method, test.path)
		got := fmt.Sprintf("%s %s (%s)", kind.Service, kind.Name, kind.Class)
		if got != test.want {
			t.Errorf("%s %s\n got %s\nwant %s", test.method, test.path, got, test.want)
		}
	}
}

func TestIsVersion_HasANumberOrTwo(t *testing.T) {
	t.Parallel()
	for segment, want := range map[string]bool{
		"v3": true, "v2.0": true, "v2.1": true, "v10.12": true,
		"": false, "v": false, "v.": false, "v2.": false, "v.1": false, "2.0": false, "v2.0.1": false, "v2a": false, "volumes": false, "V2": false,
	} {
		if got := IsVersion(segment); got != want {
			t.Errorf("%q: %t, want %t", segment, got, want)
		}
	}
}

func TestWith_LeavesGivenRequestAsItIs(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"no header": nil, "another": {"Accept": {"a", "b"}}, "the same": {"X-Auth-Token": {"old"}},
	} {
		given := &http.Request{Header: header.Clone()}
		got := With(t.Context(), given, "X-Auth-Token", "new")
		if !maps.EqualFunc(given.Header, header, slices.Equal) {
			t.Errorf("%s: the given request has %v, want %v", name, given.Header, header)
		}
		want := header.Clone()
		if want == nil {
			want = http.Header{}
		}
		want.Set("X-Auth-Token", "new")
		if !maps.EqualFunc(got.Header, want, slices.Equal) || got.Context() != t.Context() {
			t.Errorf("%s: %v, context %v, want %v and that of the test", name, got.Header, got.Context(), want)
		}
	}
}
