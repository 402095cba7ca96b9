package octavia_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// oldOVN is the provider ovn of Zed with a load balancer that has a listener, a
// pool with two members, and no monitor.
func oldOVN(t *testing.T) (*environment, made) {
	t.Helper()
	env := newEnvironment(t, octavia.Options{Release: "zed"})
	body := env.balancer("ovn", nil)
	delete(body["loadbalancer"].(object)["listeners"].([]object)[0]["default_pool"].(object), "healthmonitor")
	lb := env.must(201, "POST", "loadbalancers", body)
	env.clock.Step(time.Hour)
	return env, made{
		id: lb["id"].(string), pool: lb["pools"].([]any)[0].(object)["id"].(string),
		listener: lb["listeners"].([]any)[0].(object)["id"].(string),
	}
}

// monitored gives a pool a monitor, and returns its ID.
func (env *environment) monitored(pool string) string {
	env.t.Helper()
	monitor := env.must(201, "POST", "healthmonitors", object{"healthmonitor": object{
		"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2,
	}})
	env.clock.Step(time.Hour)
	return monitor["id"].(string)
}

// addPool makes a pool that no listener uses.
func (env *environment) addPool(lb, protocol string) string {
	env.t.Helper()
	pool := env.must(201, "POST", "pools", object{"pool": object{
		"loadbalancer_id": lb, "protocol": protocol, "lb_algorithm": "SOURCE_IP_PORT",
	}})
	env.clock.Step(time.Hour)
	return pool["id"].(string)
}

// repaired lets a listener be ACTIVE again.
func (env *environment) repaired(listener string) {
	env.t.Helper()
	env.must(200, "PUT", "listeners/"+listener, object{"listener": object{}})
	env.clock.Step(time.Hour)
	env.wantStatus("listeners/"+listener, "ACTIVE")
}

func TestOVN_LeavesListenersPendingInZedWhenMonitorChanges(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	monitor := env.monitored(m.pool)
	check := func(cause string) {
		t.Helper()
		env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
		env.wantStatus("pools/"+m.pool, "ACTIVE")
		if got := env.status("listeners/" + m.listener); got != "PENDING_UPDATE" {
			t.Errorf("listener after %s: %s", cause, got)
		}
		env.repaired(m.listener)
	}
	check("POST monitor")
	env.must(200, "PUT", "healthmonitors/"+monitor, object{"healthmonitor": object{"delay": 7}})
	env.clock.Step(time.Hour)
	env.wantStatus("healthmonitors/"+monitor, "ACTIVE")
	check("PUT monitor")
	env.must(204, "DELETE", "healthmonitors/"+monitor, nil)
	env.clock.Step(time.Hour)
	env.refused(404, "not found", "GET", "healthmonitors/"+monitor, nil)
	check("DELETE monitor")
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"name": "renamed"}})
	env.clock.Step(time.Hour)
	check("PUT pool")
}

func TestOVN_SettlesListenersInZedWhenMembersChangeOrPoolIsEnabled(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(*environment, made){
		"a member": func(env *environment, m made) {
			env.must(201, "POST", "pools/"+m.pool+"/members", object{"member": object{"address": "10.6.0.12", "protocol_port": 30080}})
		},
		"members": func(env *environment, m made) {
			env.call("PUT", "pools/"+m.pool+"/members", object{"members": []object{{"address": "10.6.0.12", "protocol_port": 30080}}})
		},
		"the pool": func(env *environment, m made) {
			env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"admin_state_up": true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, m := oldOVN(t)
			env.monitored(m.pool)
			repair(env, m)
			env.clock.Step(time.Hour)
			env.wantStatus("listeners/"+m.listener, "ACTIVE")
			env.wantStatus("pools/"+m.pool, "ACTIVE")
		})
	}
}

func TestOVN_TakesFirstPoolForThatOfDeletedMonitorInZed(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	first, second := m.pool, env.addPool(m.id, "TCP")
	if second < first {
		first, second = second, first
	}
	ofFirst, ofSecond := env.monitored(first), env.monitored(second)
	env.must(204, "DELETE", "healthmonitors/"+ofFirst, nil)
	env.clock.Step(time.Hour)
	env.wantStatus("pools/"+first, "ACTIVE")
	env.must(204, "DELETE", "healthmonitors/"+ofSecond, nil)
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.wantStatus("pools/"+second, "PENDING_UPDATE")
	env.refused(409, "Pool "+second+" is immutable", "PUT", "pools/"+second+"/members", object{"members": []object{}})
	env.must(200, "PUT", "pools/"+second, object{"pool": object{}})
	env.clock.Step(time.Hour)
	env.wantStatus("pools/"+second, "ACTIVE")
}

func TestOVN_HangsInZedOnListenerBesideMonitorOfItsProtocol(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	listen := func(protocol string, port int) {
		t.Helper()
		env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": protocol, "protocol_port": port}})
		env.clock.Step(time.Hour)
	}
	monitor := env.monitored(m.pool)
	listen("UDP", 81)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.must(204, "DELETE", "healthmonitors/"+monitor, nil)
	env.clock.Step(time.Hour)
	listen("TCP", 81)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	pool := env.addPool(m.id, "TCP")
	env.monitored(pool)
	env.must(204, "DELETE", "pools/"+pool, nil) // the health check stays in OVN
	env.clock.Step(time.Hour)
	listen("TCP", 82)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
}

func TestOVN_IgnoresMonitorsOfFullCreateInZed(t *testing.T) {
	t.Parallel()
	full := func() (*environment, made) {
		env := newEnvironment(t, octavia.Options{Release: "zed"})
		lb := env.must(201, "POST", "loadbalancers", env.balancer("ovn", nil))
		env.clock.Step(time.Hour)
		m := made{id: lb["id"].(string), pool: lb["pools"].([]any)[0].(object)["id"].(string)}
		m.monitor = env.get("pools/" + m.pool)["healthmonitor_id"].(string)
		env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
		env.wantStatus("pools/"+m.pool, "ACTIVE")
		env.wantStatus("healthmonitors/"+m.monitor, "PENDING_CREATE")
		return env, m
	}
	env, m := full()
	env.must(200, "PUT", "healthmonitors/"+m.monitor, object{"healthmonitor": object{"delay": 7}})
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	env.wantStatus("healthmonitors/"+m.monitor, "ERROR")

	env, m = full()
	env.must(204, "DELETE", "healthmonitors/"+m.monitor, nil)
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
	env.refused(404, "not found", "GET", "healthmonitors/"+m.monitor, nil)

	env, m = full()
	env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": m.id, "protocol": "TCP", "protocol_port": 81}})
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE") // OVN has no health check
	env.must(204, "DELETE", "pools/"+m.pool, nil)
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

func TestOVN_LeavesNothingPendingInLaterReleases(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]octavia.Options{
		"2024.1": {Release: "2024.1"}, "a repaired zed": {Release: "zed", Quirks: octavia.Quirks{OVNWorks: true}},
	} {
		env := newEnvironment(t, options)
		lb := env.must(201, "POST", "loadbalancers", env.balancer("ovn", nil))
		env.clock.Step(time.Hour)
		pool := lb["pools"].([]any)[0].(object)["id"].(string)
		env.must(204, "DELETE", "healthmonitors/"+env.get("pools/" + pool)["healthmonitor_id"].(string), nil)
		env.clock.Step(time.Hour)
		env.monitored(pool)
		env.must(201, "POST", "listeners", object{"listener": object{"loadbalancer_id": lb["id"], "protocol": "TCP", "protocol_port": 81}})
		env.clock.Step(time.Hour)
		if unsettled := env.Unsettled(); len(unsettled) > 0 {
			t.Errorf("%s: pending: %v", name, unsettled)
		}
	}
}

func TestOVN_HasOneVIPInZed(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]bool{"zed": false, "2024.1": true} {
		env := newEnvironment(t, octavia.Options{Release: release})
		lb := env.must(201, "POST", "loadbalancers", object{"loadbalancer": object{
			"provider": "ovn", "vip_subnet_id": env.subnet.ID, "additional_vips": []object{{"subnet_id": env.subnet6.ID}},
		}})
		got := lb["additional_vips"].([]any)[0].(object)["ip_address"]
		if (got != nil) != want {
			t.Errorf("%s: additional VIP %v", release, got)
		}
	}
}

func TestOVN_RefusesMembersInItsOwnWords(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	path := "pools/" + m.pool + "/members"
	subnet := func(what string) string {
		return "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member " + what +
			" with OVN Provider Driver if it is not the same as LB VIP subnet"
	}
	far := object{"address": "192.0.2.1", "protocol_port": 1}
	env.refused(501, subnet("creation"), "POST", path, object{"member": far})
	env.refused(501, subnet("batch update"), "PUT", path, object{"members": []object{far}})
	env.refused(501, "OVN Load Balancer does not support different member monitor address or port.", "POST", path,
		object{"member": object{"address": "10.6.0.40", "protocol_port": 1, "monitor_port": 2}})
	env.refused(501, "does not support mixing IPv4/IPv6", "POST", path,
		object{"member": object{"address": "fd00:6::9", "protocol_port": 1, "subnet_id": env.subnet6.ID}})
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
}

// A full create is carried out listeners first. The driver of Zed looks neither at
// monitors nor at the subnets of members.
func TestOVN_RefusesUnsupportedPartsOfFullCreate(t *testing.T) {
	t.Parallel()
	create := func(release string, change func(listener, pool object)) answer {
		env := newEnvironment(t, octavia.Options{Release: release})
		body := env.balancer("ovn", nil)
		listener := body["loadbalancer"].(object)["listeners"].([]object)[0]
		change(listener, listener["default_pool"].(object))
		return env.call("POST", "loadbalancers", body)
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

func TestOVN_KeepsStatusOfMembersBesideHealthCheckInZed(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	path := "pools/" + m.pool + "/members"
	statuses := func() (all string) {
		for _, member := range env.Snapshot()[0].Pools[0].Members {
			all += member.Address + " " + member.OperatingStatus + " "
		}
		return strings.TrimSpace(all)
	}
	batch := object{"members": []object{{"address": "10.6.0.10", "protocol_port": 30080}, {"address": "10.6.0.12", "protocol_port": 30080}}}
	env.monitored(m.pool)
	env.repaired(m.listener)
	env.must(202, "PUT", path, batch)
	env.clock.Step(time.Hour)
	if got := statuses(); got != "10.6.0.10 ONLINE 10.6.0.12 ONLINE" {
		t.Errorf("beside a health check: %s", got)
	}
	env.must(204, "DELETE", "healthmonitors/"+env.get("pools/" + m.pool)["healthmonitor_id"].(string), nil)
	env.clock.Step(time.Hour)
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{"admin_state_up": true}})
	env.clock.Step(time.Hour)
	env.must(202, "PUT", path, batch)
	env.clock.Step(time.Hour)
	if got := statuses(); got != "10.6.0.10 NO_MONITOR 10.6.0.12 NO_MONITOR" {
		t.Errorf("without: %s", got)
	}
}

func TestOVN_BlindsAllMonitorsInZedWhenOneIsDeleted(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	other := env.addPool(m.id, "TCP")
	env.monitored(m.pool)
	member := env.Snapshot()[0].Pools[0].Members[0].ID
	finds := func(status string) string {
		t.Helper()
		if err := env.SetMemberOperatingStatus(member, status); err != nil {
			t.Fatal(err)
		}
		return env.get("pools/" + m.pool + "/members/" + member)["operating_status"].(string)
	}
	if got := finds(octavia.Error); got != "ERROR" {
		t.Errorf("with one monitor: %s", got)
	}
	finds(octavia.Online)
	env.must(204, "DELETE", "healthmonitors/"+env.monitored(other), nil)
	env.clock.Step(time.Hour)
	if got := finds(octavia.Error); got != "ONLINE" {
		t.Errorf("after another is gone: %s", got)
	}
	env.must(200, "PUT", "pools/"+other, object{"pool": object{}})
	env.clock.Step(time.Hour)
	env.monitored(other)
	if got := finds(octavia.Error); got != "ERROR" {
		t.Errorf("after one is new: %s", got)
	}
}

func TestOVN_SettlesListenersInZedWhenMonitorFindsSomething(t *testing.T) {
	t.Parallel()
	env, m := oldOVN(t)
	env.monitored(m.pool)
	if got := env.status("listeners/" + m.listener); got != "PENDING_UPDATE" {
		t.Errorf("listener after POST monitor: %s", got)
	}
	if err := env.SetMemberOperatingStatus(env.Snapshot()[0].Pools[0].Members[0].ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.wantStatus("listeners/"+m.listener, "ACTIVE")
}

func TestOVN_KeepsClientsOnlyWithTimeout(t *testing.T) {
	t.Parallel()
	for release, kept := range map[string]map[string]bool{
		"zed":    {"without": false, "with": false},
		"2025.1": {"without": false, "with": true},
	} {
		env := newEnvironment(t, octavia.Options{Release: release})
		lb := env.must(201, "POST", "loadbalancers", env.balancer("ovn", nil))["id"].(string)
		env.clock.Step(time.Hour)
		for name, persistence := range map[string]object{"without": {"type": "SOURCE_IP"}, "with": {"type": "SOURCE_IP", "persistence_timeout": 60}} {
			id := env.must(201, "POST", "pools", object{"pool": object{
				"loadbalancer_id": lb, "protocol": "UDP", "lb_algorithm": "SOURCE_IP_PORT", "session_persistence": persistence,
			}})["id"].(string)
			env.clock.Step(time.Hour)
			for _, pool := range env.Snapshot()[0].Pools {
				if pool.ID == id && pool.Persistence.Ignored == kept[name] {
					t.Errorf("%s, a pool %s a timeout: ignored %v", release, name, pool.Persistence.Ignored)
				}
			}
		}
	}
}
