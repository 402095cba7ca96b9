package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/octavia"
)

// oldOVN is the provider ovn of Zed with a load balancer that has a listener, a
// pool with two members, and no monitor.
func oldOVN(t *testing.T) (*world, made) {
	t.Helper()
	w := newWorld(t, octavia.Options{Release: "zed"})
	body := w.balancer("ovn", nil)
	delete(body["loadbalancer"].(object)["listeners"].([]object)[0]["default_pool"].(object), "healthmonitor")
	lb := w.must(201, "POST", "loadbalancers", body)
	w.clock.Step(time.Hour)
	return w, made{
		id: lb["id"].(string), pool: lb["pools"].([]any)[0].(object)["id"].(string),
		listener: lb["listeners"].([]any)[0].(object)["id"].(string),
	}
}

// monitored gives a pool a monitor, and returns its ID.
func (w *world) monitored(pool string) string {
	w.t.Helper()
	monitor := w.must(201, "POST", "healthmonitors", object{"healthmonitor": object{
		"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2,
	}})
	w.clock.Step(time.Hour)
	return monitor["id"].(string)
}

// addPool makes a pool that no listener uses.
func (w *world) addPool(lb, protocol string) string {
	w.t.Helper()
	pool := w.must(201, "POST", "pools", object{"pool": object{
		"loadbalancer_id": lb, "protocol": protocol, "lb_algorithm": "SOURCE_IP_PORT",
	}})
	w.clock.Step(time.Hour)
	return pool["id"].(string)
}

// repaired lets a listener be ACTIVE again.
func (w *world) repaired(listener string) {
	w.t.Helper()
	w.must(200, "PUT", "listeners/"+listener, object{"listener": object{}})
	w.clock.Step(time.Hour)
	w.wantStatus("listeners/"+listener, "ACTIVE")
}

func TestOVNOfZedForgetsListenersWhenAMonitorChanges(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	monitor := w.monitored(m.pool)
	check := func(cause string) {
		t.Helper()
		w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
		w.wantStatus("pools/"+m.pool, "ACTIVE")
		if got := w.status("listeners/" + m.listener); got != "PENDING_UPDATE" {
			t.Errorf("listener after %s: %s", cause, got)
		}
		w.repaired(m.listener)
	}
	check("POST monitor")
	w.must(200, "PUT", "healthmonitors/"+monitor, object{"healthmonitor": object{"delay": 7}})
	w.clock.Step(time.Hour)
	w.wantStatus("healthmonitors/"+monitor, "ACTIVE")
	check("PUT monitor")
	w.must(204, "DELETE", "healthmonitors/"+monitor, nil)
	w.clock.Step(time.Hour)
	w.refused(404, "not found", "GET", "healthmonitors/"+monitor, nil)
	check("DELETE monitor")
	w.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"name": "renamed"}})
	w.clock.Step(time.Hour)
	check("PUT pool")
}

func TestOVNOfZedRemembersListenersOfMembersAndOfPoolsThatAreSwitchedOn(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(*world, made){
		"a member": func(w *world, m made) {
			w.must(201, "POST", "pools/"+m.pool+"/members", object{"member": object{"address": "10.6.0.12", "protocol_port": 30080}})
		},
		"members": func(w *world, m made) {
			w.call("PUT", "pools/"+m.pool+"/members", object{"members": []object{{"address": "10.6.0.12", "protocol_port": 30080}}})
		},
		"the pool": func(w *world, m made) {
			w.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"admin_state_up": true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m := oldOVN(t)
			w.monitored(m.pool)
			repair(w, m)
			w.clock.Step(time.Hour)
			w.wantStatus("listeners/"+m.listener, "ACTIVE")
			w.wantStatus("pools/"+m.pool, "ACTIVE")
		})
	}
}

func TestOVNOfZedTakesTheFirstPoolForThatOfADeletedMonitor(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	first, second := m.pool, w.addPool(m.id, "TCP")
	if second < first {
		first, second = second, first
	}
	ofFirst, ofSecond := w.monitored(first), w.monitored(second)
	w.must(204, "DELETE", "healthmonitors/"+ofFirst, nil)
	w.clock.Step(time.Hour)
	w.wantStatus("pools/"+first, "ACTIVE")
	w.must(204, "DELETE", "healthmonitors/"+ofSecond, nil)
	w.clock.Step(time.Hour)
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	w.wantStatus("pools/"+second, "PENDING_UPDATE")
	w.refused(409, "Pool "+second+" is immutable", "PUT", "pools/"+second+"/members", object{"members": []object{}})
	w.must(200, "PUT", "pools/"+second, object{"pool": object{}})
	w.clock.Step(time.Hour)
	w.wantStatus("pools/"+second, "ACTIVE")
}

func TestOVNOfZedHangsWhenAListenerIsMadeBesideAMonitorOfItsProtocol(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	listen := func(protocol string, port int) {
		t.Helper()
		w.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": protocol, "protocol_port": port}})
		w.clock.Step(time.Hour)
	}
	monitor := w.monitored(m.pool)
	listen("UDP", 81)
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	w.must(204, "DELETE", "healthmonitors/"+monitor, nil)
	w.clock.Step(time.Hour)
	listen("TCP", 81)
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	pool := w.addPool(m.id, "TCP")
	w.monitored(pool)
	w.must(204, "DELETE", "pools/"+pool, nil) // the health check stays in OVN
	w.clock.Step(time.Hour)
	listen("TCP", 82)
	w.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
}

func TestOVNOfZedNeverHearsOfTheMonitorsOfAFullCreate(t *testing.T) {
	t.Parallel()
	full := func() (*world, made) {
		w := newWorld(t, octavia.Options{Release: "zed"})
		lb := w.must(201, "POST", "loadbalancers", w.balancer("ovn", nil))
		w.clock.Step(time.Hour)
		m := made{id: lb["id"].(string), pool: lb["pools"].([]any)[0].(object)["id"].(string)}
		m.monitor = w.get("pools/" + m.pool)["healthmonitor_id"].(string)
		w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
		w.wantStatus("pools/"+m.pool, "ACTIVE")
		w.wantStatus("healthmonitors/"+m.monitor, "PENDING_CREATE")
		return w, m
	}
	w, m := full()
	w.must(200, "PUT", "healthmonitors/"+m.monitor, object{"healthmonitor": object{"delay": 7}})
	w.clock.Step(time.Hour)
	w.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	w.wantStatus("healthmonitors/"+m.monitor, "ERROR")

	w, m = full()
	w.must(204, "DELETE", "healthmonitors/"+m.monitor, nil)
	w.clock.Step(time.Hour)
	w.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	w.refused(404, "not found", "GET", "healthmonitors/"+m.monitor, nil)

	w, m = full()
	w.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81}})
	w.clock.Step(time.Hour)
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE") // OVN has no health check
	w.must(204, "DELETE", "pools/"+m.pool, nil)
	w.clock.Step(time.Hour)
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

func TestOVNOfLaterReleasesForgetsNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]octavia.Options{
		"2024.1": {Release: "2024.1"}, "a repaired zed": {Release: "zed", Quirks: octavia.Quirks{OVNWorks: true}},
	} {
		w := newWorld(t, options)
		lb := w.must(201, "POST", "loadbalancers", w.balancer("ovn", nil))
		w.clock.Step(time.Hour)
		pool := lb["pools"].([]any)[0].(object)["id"].(string)
		w.must(204, "DELETE", "healthmonitors/"+w.get("pools/" + pool)["healthmonitor_id"].(string), nil)
		w.clock.Step(time.Hour)
		w.monitored(pool)
		w.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": lb["id"], "protocol": "TCP", "protocol_port": 81}})
		w.clock.Step(time.Hour)
		if unsettled := w.Unsettled(); len(unsettled) > 0 {
			t.Errorf("%s: pending: %v", name, unsettled)
		}
	}
}

func TestOVNOfZedHasOneVIP(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]bool{"zed": false, "2024.1": true} {
		w := newWorld(t, octavia.Options{Release: release})
		lb := w.must(201, "POST", "loadbalancers", object{"loadbalancer": object{
			"provider": "ovn", "vip_subnet_id": w.subnet.ID, "additional_vips": []object{{"subnet_id": w.subnet6.ID}},
		}})
		got := lb["additional_vips"].([]any)[0].(object)["ip_address"]
		if (got != nil) != want {
			t.Errorf("%s: additional VIP %v", release, got)
		}
	}
}
