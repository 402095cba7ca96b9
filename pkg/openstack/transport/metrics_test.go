package transport

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

//proves:99
func TestMetrics_CountByRequestAndCode(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics()
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	server := newScriptedServer(t, fakecloud.Answer(201), fakecloud.Answer(503), fakecloud.Answer(200), fakecloud.Answer(404), lose)
	retry, _ := newTestRetry(t, freshConnections(t))
	retry.metrics = m
	observe := &observeTransport{next: retry, metrics: m, clock: clock.RealClock{}}
	const lbs = "/v2.0/lbaas/loadbalancers"
	for _, r := range [][2]string{
		{http.MethodPost, lbs},
		{http.MethodGet, lbs},                           // 503, then 200
		{http.MethodGet, lbs + "/1"},                    // 404
		{http.MethodPut, "/v2.0/lbaas/pools/1/members"}, // lost
	} {
		if resp, err := send(t, observe, r[0], server.URL+r[1]); err == nil {
			resp.Body.Close()
		}
	}
	want := `
# HELP openstack_api_request_errors_total [ALPHA] Number of OpenStack API requests that were refused, failed or had no answer.
# TYPE openstack_api_request_errors_total counter
openstack_api_request_errors_total{code="404",request="loadbalancer_get"} 1
openstack_api_request_errors_total{code="<error>",request="loadbalancer_members_update"} 1
# HELP openstack_api_request_retries_total [ALPHA] Number of times that an OpenStack API request was repeated within one call.
# TYPE openstack_api_request_retries_total counter
openstack_api_request_retries_total{request="loadbalancer_list"} 1
# HELP openstack_api_requests_total [ALPHA] Number of OpenStack API requests by status code of the final answer.
# TYPE openstack_api_requests_total counter
openstack_api_requests_total{code="200",request="loadbalancer_list"} 1
openstack_api_requests_total{code="201",request="loadbalancer_create"} 1
openstack_api_requests_total{code="404",request="loadbalancer_get"} 1
openstack_api_requests_total{code="<error>",request="loadbalancer_members_update"} 1
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "openstack_api_requests_total",
		"openstack_api_request_errors_total", "openstack_api_request_retries_total")
	if err != nil {
		t.Error(err)
	}
	requireDurations(t, registry, "loadbalancer_create", "loadbalancer_list", "loadbalancer_get", "loadbalancer_members_update")
}

// requireDurations checks that the histogram has one observation of each request.
func requireDurations(t *testing.T, registry metrics.KubeRegistry, requests ...string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, family := range families {
		if family.GetName() != "openstack_api_request_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			counts[metric.GetLabel()[0].GetValue()] = metric.GetHistogram().GetSampleCount()
		}
	}
	for _, request := range requests {
		if counts[request] != 1 {
			t.Errorf("%d durations of %s, want 1", counts[request], request)
		}
	}
}

// Two sessions in one process must not share counters by accident.
func TestMetrics_AreNotGlobal(t *testing.T) {
	t.Parallel()
	for range 2 {
		if err := NewMetrics().Register(metrics.NewKubeRegistry().Register); err != nil {
			t.Fatal(err)
		}
	}
	registry := metrics.NewKubeRegistry()
	if err := NewMetrics().Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	if err := NewMetrics().Register(registry.Register); err == nil {
		t.Error("registered the same names twice and heard nothing of it")
	}
}

// What queries for cloud-provider-openstack ask for are these values of the label
// "request", with whatever code beside them, and these bounds of buckets.
func TestMetrics_HaveNamesOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	const octavia, neutron, nova, barbican, id = "/v2.0/lbaas/", "/v2.0/", "/v2.1/", "/v1/", "/3f3b4a3e-0000-4000-8000-000000000001"
	for name, call := range map[string]string{
		"flavor_get":                        "GET " + nova + "flavors" + id,
		"floating_ip_create":                "POST " + neutron + "floatingips",
		"floating_ip_delete":                "DELETE " + neutron + "floatingips" + id,
		"floating_ip_list":                  "GET " + neutron + "floatingips",
		"floating_ip_update":                "PUT " + neutron + "floatingips" + id,
		"loadbalancer_create":               "POST " + octavia + "loadbalancers",
		"loadbalancer_delete":               "DELETE " + octavia + "loadbalancers" + id,
		"loadbalancer_get":                  "GET " + octavia + "loadbalancers" + id,
		"loadbalancer_healthmonitor_create": "POST " + octavia + "healthmonitors",
		"loadbalancer_healthmonitor_delete": "DELETE " + octavia + "healthmonitors" + id,
		"loadbalancer_healthmonitor_get":    "GET " + octavia + "healthmonitors" + id,
		"loadbalancer_healthmonitor_update": "PUT " + octavia + "healthmonitors" + id,
		"loadbalancer_l7policy_create":      "POST " + octavia + "l7policies",
		"loadbalancer_l7policy_delete":      "DELETE " + octavia + "l7policies" + id,
		"loadbalancer_l7rule_create":        "POST " + octavia + "l7policies" + id + "/rules",
		"loadbalancer_list":                 "GET " + octavia + "loadbalancers",
		"loadbalancer_listener_create":      "POST " + octavia + "listeners",
		"loadbalancer_listener_delete":      "DELETE " + octavia + "listeners" + id,
		"loadbalancer_listener_list":        "GET " + octavia + "listeners",
		"loadbalancer_listener_update":      "PUT " + octavia + "listeners" + id,
		"loadbalancer_member_list":          "GET " + octavia + "pools" + id + "/members",
		"loadbalancer_members_update":       "PUT " + octavia + "pools" + id + "/members",
		"loadbalancer_pool_create":          "POST " + octavia + "pools",
		"loadbalancer_pool_delete":          "DELETE " + octavia + "pools" + id,
		"loadbalancer_pool_list":            "GET " + octavia + "pools",
		"loadbalancer_pool_update":          "PUT " + octavia + "pools" + id,
		"loadbalancer_update":               "PUT " + octavia + "loadbalancers" + id,
		"network_extension_list":            "GET " + neutron + "extensions",
		"network_list":                      "GET " + neutron + "networks",
		"port_list":                         "GET " + neutron + "ports",
		"port_tag_delete":                   "DELETE " + neutron + "ports" + id + "/tags/x",
		"port_update":                       "PUT " + neutron + "ports" + id,
		"router_get":                        "GET " + neutron + "routers" + id,
		"router_update":                     "PUT " + neutron + "routers" + id,
		"router_update, routes added":       "PUT " + neutron + "routers" + id + "/add_extraroutes",
		"router_update, routes removed":     "PUT " + neutron + "routers" + id + "/remove_extraroutes",
		"secret_create":                     "POST " + barbican + "secrets",
		"secret_delete":                     "DELETE " + barbican + "secrets" + id,
		"secret_list":                       "GET " + barbican + "secrets",
		"security_group_create":             "POST " + neutron + "security-groups",
		"security_group_delete":             "DELETE " + neutron + "security-groups" + id,
		"security_group_rule_create":        "POST " + neutron + "security-group-rules",
		"security_group_rule_delete":        "DELETE " + neutron + "security-group-rules" + id,
		"security_group_rule_list":          "GET " + neutron + "security-group-rules",
		"server_get":                        "GET " + nova + "servers" + id,
		"server_list":                       "GET " + nova + "servers/detail",
		"subnet_get":                        "GET " + neutron + "subnets" + id,
		"subnet_list":                       "GET " + neutron + "subnets",
		"version_list":                      "GET /load-balancer/",
	} {
		name, _, _ = strings.Cut(name, ",")
		method, path, _ := strings.Cut(call, " ")
		if got := rest.KindOf(method, path).Name; got != name {
			t.Errorf("%s is %s, want %s", call, got, name)
		}
	}
	registry, m := metrics.NewKubeRegistry(), NewMetrics()
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	m.observe(rest.Kind{Name: "server_get"}, http.StatusOK, time.Second)
	requireBuckets(t, registry, "openstack_api_request_duration_seconds", .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10)
}

// requireBuckets checks that a histogram has buckets up to these bounds.
func requireBuckets(t *testing.T, registry metrics.KubeRegistry, name string, bounds ...float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	has := map[float64]bool{}
	for _, family := range families {
		if family.GetName() == name {
			for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
				has[bucket.GetUpperBound()] = true
			}
		}
	}
	for _, bound := range bounds {
		if !has[bound] {
			t.Errorf("%s has no bucket up to %v", name, bound)
		}
	}
}
