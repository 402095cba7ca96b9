package octavia_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
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

func TestOVNRefusesMembersOneByOneInItsWords(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	path := "pools/" + m.pool + "/members"
	subnet := func(what string) string {
		return "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member " + what +
			" with OVN Provider Driver if it is not the same as LB VIP subnet"
	}
	far := object{"address": "192.0.2.1", "protocol_port": 1}
	w.refused(501, subnet("creation"), "POST", path, object{"member": far})
	w.refused(501, subnet("batch update"), "PUT", path, object{"members": []object{far}})
	w.refused(501, "OVN Load Balancer does not support different member monitor address or port.", "POST", path,
		object{"member": object{"address": "10.6.0.40", "protocol_port": 1, "monitor_port": 2}})
	w.refused(501, "does not support mixing IPv4/IPv6", "POST", path,
		object{"member": object{"address": "fd00:6::9", "protocol_port": 1, "subnet_id": w.subnet6.ID}})
	w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

// A full create is carried out listeners first. The driver of Zed looks neither at
// monitors nor at the subnets of members.
func TestWhatOVNRefusesOfAFullCreate(t *testing.T) {
	t.Parallel()
	create := func(release string, change func(listener, pool object)) answer {
		w := newWorld(t, octavia.Options{Release: release})
		body := w.balancer("ovn", nil)
		listener := body["loadbalancer"].(object)["listeners"].([]object)[0]
		change(listener, listener["default_pool"].(object))
		return w.call("POST", "loadbalancers", body)
	}
	for name, test := range map[string]struct {
		change      func(listener, pool object)
		zed, latest string // in the error
	}{
		"nothing": {func(object, object) {}, "", ""},
		"listener before pool": {func(listener, pool object) {
			listener["allowed_cidrs"], pool["lb_algorithm"] = []string{"10.0.0.0/8"}, "ROUND_ROBIN"
		}, "does not support allowed_cidrs", "does not support allowed_cidrs"},
		"a monitor's type": {func(_, pool object) {
			pool["healthmonitor"] = object{"type": "PING", "delay": 5, "timeout": 3, "max_retries": 2}
		}, "", "does not support PING health monitor type"},
		"a member's subnet": {func(_, pool object) {
			pool["members"] = []object{{"address": "192.0.2.1", "protocol_port": 1}}
		}, "", "Subnet is required"},
	} {
		for release, want := range map[string]string{"zed": test.zed, "2026.1": test.latest} {
			got := create(release, test.change)
			if refused := got.status == 501; refused != (want != "") || !strings.Contains(got.fault, want) {
				t.Errorf("%s, %s: %d %s, want %q", name, release, got.status, got.fault, want)
			}
		}
	}
}

func TestMembersBesideAHealthCheckOfOVNOfZedKeepTheirStatus(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	path := "pools/" + m.pool + "/members"
	statuses := func() (all string) {
		for _, member := range w.Snapshot()[0].Pools[0].Members {
			all += member.Address + " " + member.OperatingStatus + " "
		}
		return strings.TrimSpace(all)
	}
	batch := object{"members": []object{{"address": "10.6.0.10", "protocol_port": 30080}, {"address": "10.6.0.12", "protocol_port": 30080}}}
	w.monitored(m.pool)
	w.repaired(m.listener)
	w.must(202, "PUT", path, batch)
	w.clock.Step(time.Hour)
	if got := statuses(); got != "10.6.0.10 ONLINE 10.6.0.12 ONLINE" {
		t.Errorf("beside a health check: %s", got)
	}
	w.must(204, "DELETE", "healthmonitors/"+w.get("pools/" + m.pool)["healthmonitor_id"].(string), nil)
	w.clock.Step(time.Hour)
	w.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"admin_state_up": true}})
	w.clock.Step(time.Hour)
	w.must(202, "PUT", path, batch)
	w.clock.Step(time.Hour)
	if got := statuses(); got != "10.6.0.10 NO_MONITOR 10.6.0.12 NO_MONITOR" {
		t.Errorf("without: %s", got)
	}
}

func TestMonitorsOfOVNOfZedGoBlindWithAnyOfThem(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	other := w.addPool(m.id, "TCP")
	w.monitored(m.pool)
	member := w.Snapshot()[0].Pools[0].Members[0].ID
	finds := func(status string) string {
		t.Helper()
		if err := w.SetMemberOperatingStatus(member, status); err != nil {
			t.Fatal(err)
		}
		return w.get("pools/" + m.pool + "/members/" + member)["operating_status"].(string)
	}
	if got := finds(octavia.Error); got != "ERROR" {
		t.Errorf("with one monitor: %s", got)
	}
	finds(octavia.Online)
	w.must(204, "DELETE", "healthmonitors/"+w.monitored(other), nil)
	w.clock.Step(time.Hour)
	if got := finds(octavia.Error); got != "ONLINE" {
		t.Errorf("after another is gone: %s", got)
	}
	w.must(200, "PUT", "pools/"+other, object{"pool": object{}})
	w.clock.Step(time.Hour)
	w.monitored(other)
	if got := finds(octavia.Error); got != "ERROR" {
		t.Errorf("after one is new: %s", got)
	}
}

func TestOVNOfZedRemembersListenersWhenAMonitorFindsSomething(t *testing.T) {
	t.Parallel()
	w, m := oldOVN(t)
	w.monitored(m.pool)
	if got := w.status("listeners/" + m.listener); got != "PENDING_UPDATE" {
		t.Errorf("listener after POST monitor: %s", got)
	}
	if err := w.SetMemberOperatingStatus(w.Snapshot()[0].Pools[0].Members[0].ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	w.wantStatus("listeners/"+m.listener, "ACTIVE")
}
