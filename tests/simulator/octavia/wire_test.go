package octavia_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestVersions_NameRelease(t *testing.T) {
	t.Parallel()
	for release, current := range map[string]string{"zed": "v2.26", "2024.1": "v2.28", "2026.1": "v2.30"} {
		env := newEnvironment(t, octavia.Options{Release: release})
		versions := env.call("GET", "/", nil).json["versions"].([]any)
		for i, version := range versions {
			got := version.(object)
			wanted := "SUPPORTED"
			if i == len(versions)-1 {
				wanted = "CURRENT"
			}
			if got["id"] != fmt.Sprintf("v2.%d", i) || got["status"] != wanted {
				t.Errorf("%s: %v", release, got)
			}
		}
		last := versions[len(versions)-1].(object)
		if last["id"] != current || last["links"].([]any)[0].(object)["href"] != "http://example.com/v2" {
			t.Errorf("%s: %v", release, last)
		}
	}
}

func TestVersions_LeadToSameByBothMajorPaths(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	id := env.named("one")
	for _, path := range []string{"/v2/lbaas/loadbalancers/", "/v2.0/lbaas/loadbalancers/"} {
		if got := env.get(path + id)["name"]; got != "one" {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := env.call("GET", "/v2.0", nil); got.text != `"v2"` {
		t.Errorf("GET /v2.0: %s", got.text)
	}
}

func TestRequests_AreAnsweredWithID(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	for _, path := range []string{"loadbalancers", "loadbalancers/none", "bogus"} {
		if got := env.call("GET", path, nil).header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(got, "req-") {
			t.Errorf("%s: request ID %q", path, got)
		}
	}
}

func TestRequests_AreRefusedWhenMalformed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	listener := func(key string, value any) object {
		return object{"listener": object{"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81, key: value}}
	}
	monitor := func(key string, value any) object {
		return object{"healthmonitor": object{key: value}}
	}
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		text         string
	}{
		{"POST", "loadbalancers", `{"loadbalancer":`, 400, "Request is not in valid JSON format"},
		{"POST", "loadbalancers", "", 400, `Missing argument: \"load_balancer\"`},
		{"POST", "listeners", "", 400, `Missing argument: \"listener_\"`},
		{"POST", "pools", object{}, 500, "'UnsetType' object has no attribute 'loadbalancer_id'"},
		{"POST", "loadbalancers", object{"loadbalancer": object{"one": 1, "two": 2}}, 400, "Unknown attributes for argument load_balancer.loadbalancer: one, two"},
		{"POST", "loadbalancers", env.balancer("amphora", object{"listeners": []object{{"bogus": 1}}}), 400, "Unknown attribute for argument load_balancer.loadbalancer.listeners: bogus"},
		{"POST", "listeners", listener("connection_limit", -2), 400, "Invalid input for field/attribute connection_limit. Value: '-2'. Value should be greater or equal to -1"},
		{"POST", "listeners", listener("protocol_port", 65536), 400, "Value: '65536'. Value should be lower or equal to 65535"},
		{"POST", "listeners", listener("name", 7), 400, "field/attribute name. Value: '7'. Value should be string"},
		{"POST", "listeners", listener("admin_state_up", "perhaps"), 400, "'protocol_port': 81}}'. Value not an unambiguous boolean: perhaps"},
		{"POST", "listeners", listener("tags", "t"), 400, "field/attribute listener_. Value: '{'listener': {"},
		{"POST", "listeners", listener("default_pool", object{"name": "p"}), 500, "_sa_instance_state"},
		{"PUT", "healthmonitors/" + m.monitor, monitor("max_retries", 0), 400, "Value should be greater or equal to 1"},
		{"PUT", "healthmonitors/" + m.monitor, monitor("url_path", "x"), 400, "field/attribute url_path"},
		{"PUT", "healthmonitors/" + m.monitor, monitor("type", "HTTP"), 400, "Unknown attribute for argument health_monitor_.healthmonitor: type"},
	} {
		env.refused(c.status, c.text, c.method, c.path, c.body)
	}
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

func TestRequests_ConvertNullsAndNumbersInText(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	got := env.must(201, "POST", "listeners", object{"listener": object{
		"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": "81", "insert_headers": nil, "admin_state_up": nil,
	}})
	if got["admin_state_up"] != false || got["protocol_port"] != 81.0 || len(got["insert_headers"].(object)) != 0 {
		t.Errorf("listener %v", got)
	}
}

func TestRequests_AreRefusedOverSizeLimitSince14(t *testing.T) {
	t.Parallel()
	large := object{"loadbalancer": object{"name": strings.Repeat("x", 114688)}}
	for release, want := range map[string]int{"zed": 400, "2024.1": 413, "2026.1": 413} {
		env := newEnvironment(t, octavia.Options{Release: release})
		got := env.call("POST", "loadbalancers", large)
		if got.status != want {
			t.Errorf("%s: %d, want %d", release, got.status, want)
		}
		if want == 413 && (!strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") ||
			!strings.Contains(got.text, "Larger than max_request_body_size (114688).")) {
			t.Errorf("%s: %s %q", release, got.header, got.text)
		}
	}
}

func TestRequests_AreRefusedForUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	id := env.named("one")
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/v3/lbaas/loadbalancers", 404, `"title":"Not Found"`},
		{"GET", "/v2.0/octavia/amphorae", 403, "Policy does not allow this request to be performed."},
		{"GET", "bogus/" + id, 404, `"title":"Not Found"`},
		{"GET", "listeners/x/members", 404, "Listener x not found."},
		{"PATCH", "loadbalancers/" + id, 405, `"title":"Method Not Allowed"`},
		{"DELETE", "loadbalancers", 400, `Missing argument: \"id\"`},
		{"GET", "l7policies/x", 404, "L7 Policy x not found."},
		{"GET", "listeners/x", 404, "Listener x not found."},
		{"GET", "pools/x/members/y", 404, `"title":"Bad Request"`},
	} {
		env.refused(c.status, c.text, c.method, c.path, nil)
	}
	for _, collection := range []string{"flavors", "availabilityzones", "providers", "l7policies"} {
		if got := env.call("GET", collection, nil); got.status != http.StatusOK {
			t.Errorf("GET %s: %d", collection, got.status)
		}
	}
}

func TestRequests_AreRefusedByRulesOfSingleCalls(t *testing.T) {
	t.Parallel()
	pool := func(m made, more object) object {
		body := object{"loadbalancer_id": m.id, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
		for key, value := range more {
			body[key] = value
		}
		return object{"pool": body}
	}
	env := newEnvironment(t, octavia.Options{})
	m, ovn := env.create("amphora"), env.create("ovn")
	for _, c := range []struct {
		path   string
		body   object
		status int
		text   string
	}{
		{"listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "HTTP", "protocol_port": 80}}, 409, "is already using protocol TCP and protocol_port 80"},
		{"listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 80, "default_pool_id": m.pool}}, 400, "pool protocol 'TCP' is invalid while the listener protocol is 'UDP'"},
		{"listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81, "default_pool_id": ovn.pool}}, 404, "Pool " + ovn.pool},
		{"listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81, "allowed_cidrs": []string{"fd00::/8"}}}, 400, "incompatible with all VIPs ['10.6."},
		{"listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "TERMINATED_HTTPS", "protocol_port": 81}}, 400, "An SNI or default certificate"},
		{"listeners", object{"listener": object{"loadbalancer_id": ovn.id, "protocol": "HTTPS", "protocol_port": 81}}, 501, "OVN provider does not support HTTPS protocol"},
		{"pools", pool(m, object{"lb_algorithm": "SOURCE_IP_PORT"}), 501, "Amphora provider does not support SOURCE_IP_PORT algorithm."},
		{"pools", pool(ovn, nil), 501, "OVN provider does not support ROUND_ROBIN algorithm"},
		{"pools", pool(ovn, object{"lb_algorithm": "SOURCE_IP"}), 501, "OVN provider does not support SOURCE_IP algorithm"},
		{"pools", pool(m, object{"session_persistence": object{"type": "SOURCE_IP", "persistence_timeout": 3}}), 400, "only for UDP and SCTP protocol pools"},
		{"pools", pool(m, object{"protocol": "UDP", "session_persistence": object{"type": "HTTP_COOKIE"}}), 400, "not supported"},
		{"pools", pool(m, object{"members": []object{{"address": "10.6.0.9", "protocol_port": 1}}}), 500, "_sa_instance_state"},
		{"healthmonitors", object{"healthmonitor": object{"pool_id": m.pool, "type": "TCP", "delay": 1, "timeout": 1, "max_retries": 1}}, 409, "This pool already has a health monitor"},
		{"healthmonitors", object{"healthmonitor": object{"pool_id": ovn.pool, "type": "PING", "delay": 1, "timeout": 1, "max_retries": 1}}, 409, "already has"},
	} {
		env.refused(c.status, c.text, "POST", c.path, c.body)
	}
	env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "UDP", "protocol_port": 80}})
}

func TestOVN_AcceptsSourceIPSince2026(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Release: "2026.2"})
	m := env.create("ovn")
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"lb_algorithm": "SOURCE_IP"}})
}

// Many clients at once on the real clock: every call is answered, all objects
// settle, and no lock is lost.
func TestRequests_AreServedForManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	busy := octavia.New(octavia.Options{Network: env.network, Delays: map[string]octavia.Delays{"": {Update: time.Millisecond}}})
	t.Cleanup(busy.Close)
	env.Octavia = busy
	cancel := busy.Subscribe(func() { busy.Snapshot() })
	defer cancel()
	body := env.balancer("amphora", nil)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			lb := env.call("POST", "loadbalancers", body).json["loadbalancer"].(object)
			path := "loadbalancers/" + lb["id"].(string)
			pool := lb["pools"].([]any)[0].(object)["id"].(string)
			for i := range 20 {
				env.call("PUT", "pools/"+pool+"/members", batchOf(fmt.Sprintf("10.6.0.%d", 20+i)))
				env.call("GET", path+"/status", nil)
				env.call("GET", "loadbalancers", nil)
			}
			eventually(t, func() bool { return env.call("DELETE", path+"?cascade=true", nil).status == http.StatusNoContent })
		})
	}
	clients.Wait()
	eventually(t, func() bool { return len(busy.Snapshot()) == 0 })
	if left := env.vipPorts(); len(left) != 0 {
		t.Errorf("ports left: %+v", left)
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(await.Patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("it is never done")
			return
		}
	}
}
