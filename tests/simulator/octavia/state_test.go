package octavia_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestCreate_IsPendingForItsDelay(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	lb := env.must(http.StatusCreated, "POST", "loadbalancers", env.balancer("amphora", nil))
	path := "loadbalancers/" + lb["id"].(string)
	env.clock.Step(time.Minute - 1)
	env.wantStatus(path, "PENDING_CREATE")
	env.clock.Step(1)
	env.wantStatus(path, "ACTIVE")
	got := env.get(path)
	if got["operating_status"] != "ONLINE" || got["updated_at"] != "2026-08-01T12:01:00.000005" || got["created_at"] != "2026-08-01T12:00:00.000005" {
		t.Errorf("built: %v", got)
	}
	for _, pool := range env.Snapshot()[0].Pools {
		for _, member := range pool.Members {
			if member.ProvisioningStatus != octavia.Active || member.OperatingStatus != octavia.Online {
				t.Errorf("member %+v", member)
			}
		}
	}
}

// Every call that changes something locks the load balancer, and what else the
// reference names for it, until the provider is done.
func TestWrites_LockUntilProviderIsDone(t *testing.T) {
	t.Parallel()
	member := object{"member": object{"address": "10.6.0.99", "protocol_port": 1}}
	for name, c := range map[string]struct {
		method string
		path   func(made) string
		body   any
		want   int
		// pool and listener during the call; "" for gone once it is done
		pool, listener string
	}{
		"load balancer": {"PUT", func(m made) string { return "loadbalancers/" + m.id }, object{"loadbalancer": object{}}, 200, "ACTIVE", "ACTIVE"},
		"listener":      {"PUT", func(m made) string { return "listeners/" + m.listener }, object{"listener": object{}}, 200, "ACTIVE", "PENDING_UPDATE"},
		"listener gone": {"DELETE", func(m made) string { return "listeners/" + m.listener }, nil, 204, "ACTIVE", "PENDING_DELETE"},
		"pool":          {"PUT", func(m made) string { return "pools/" + m.pool }, object{"pool": object{}}, 200, "PENDING_UPDATE", "PENDING_UPDATE"},
		"pool gone":     {"DELETE", func(m made) string { return "pools/" + m.pool }, nil, 204, "PENDING_DELETE", "PENDING_UPDATE"},
		"batch":         {"PUT", func(m made) string { return "pools/" + m.pool + "/members" }, object{"members": []object{}}, 202, "PENDING_UPDATE", "PENDING_UPDATE"},
		"member":        {"POST", func(m made) string { return "pools/" + m.pool + "/members" }, member, 201, "PENDING_UPDATE", "PENDING_UPDATE"},
		"monitor":       {"PUT", func(m made) string { return "healthmonitors/" + m.monitor }, object{"healthmonitor": object{}}, 200, "PENDING_UPDATE", "PENDING_UPDATE"},
		"monitor gone":  {"DELETE", func(m made) string { return "healthmonitors/" + m.monitor }, nil, 204, "PENDING_UPDATE", "PENDING_UPDATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Delays: slow()})
			m := env.create("amphora")
			env.must(c.want, c.method, c.path(m), c.body)
			env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
			env.wantStatus("pools/"+m.pool, c.pool)
			env.wantStatus("listeners/"+m.listener, c.listener)
			env.refused(409, "Invalid state PENDING_UPDATE of loadbalancer resource "+m.id, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
			env.refused(409, "is immutable and cannot be updated.", "PUT", "pools/"+m.pool+"/members", object{"members": []object{}})
			env.refused(409, "Load Balancer "+m.id+" is immutable", "POST", "pools",
				object{"pool": object{"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": m.id}})
			env.clock.Step(10 * time.Second)
			env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
			if unsettled := env.Unsettled(); len(unsettled) != 0 {
				t.Errorf("still pending: %v", unsettled)
			}
		})
	}
}

func TestDelete_RemovesPoolWithMonitorAndFreesListenerAtEnd(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	env.must(204, "DELETE", "pools/"+m.pool, nil)
	if got := env.get("listeners/" + m.listener)["default_pool_id"]; got != m.pool {
		t.Errorf("default_pool_id at once: %v", got)
	}
	env.clock.Step(10 * time.Second)
	if got := env.get("listeners/" + m.listener)["default_pool_id"]; got != nil {
		t.Errorf("default_pool_id once done: %v", got)
	}
	env.refused(404, "Pool "+m.pool+" not found.", "GET", "pools/"+m.pool, nil)
	env.refused(404, "Health Monitor "+m.monitor+" not found.", "GET", "healthmonitors/"+m.monitor, nil)
}

func TestDelete_KeepsObjectForItsDelayThenAnswers404(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	path := "loadbalancers/" + m.id
	env.refused(400, "Validation failure: Cannot delete Load Balancer "+m.id+" - it has children", "DELETE", path, nil)
	env.must(204, "DELETE", path+"?cascade=true", nil)
	env.wantStatus(path, "PENDING_DELETE")
	env.refused(409, "Invalid state PENDING_DELETE", "DELETE", path+"?cascade=true", nil)
	env.clock.Step(20 * time.Second)
	env.refused(404, "Load Balancer "+m.id+" not found.", "GET", path, nil)
	if _, err := env.network.Port(m.port); err == nil {
		t.Error("the VIP port is still there")
	}
}

func TestStatus_AllowsDeleteAndFailoverInError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	if err := env.SetProvisioningStatus(m.id, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.refused(409, "Invalid state ERROR", "PUT", "loadbalancers/"+m.id, object{"loadbalancer": object{}})
	env.refused(403, "Policy does not allow", "PUT", "loadbalancers/"+m.id+"/failover", nil)
	env.caller.Roles = []string{"admin"}
	env.must(202, "PUT", "loadbalancers/"+m.id+"/failover", nil)
	env.clock.Step(time.Minute)
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	if err := env.SetProvisioningStatus(m.id, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
}

func TestStatus_BlocksMembersOfPoolInErrorUntilItIsWritten(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	if err := env.SetChildStatus(m.pool, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	env.refused(409, "Pool "+m.pool+" is immutable", "PUT", "pools/"+m.pool+"/members", object{"members": []object{}})
	env.must(200, "PUT", "pools/"+m.pool, object{"pool": object{}})
	env.clock.Step(10 * time.Second)
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": []object{}})
}

func TestStatus_StaysWhenSetByHand(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	env.must(200, "PUT", "loadbalancers/"+m.id, object{"loadbalancer": object{}})
	if err := env.SetProvisioningStatus(m.id, octavia.PendingUpdate); err != nil {
		t.Fatal(err)
	}
	env.clock.Step(time.Hour)
	env.wantStatus("loadbalancers/"+m.id, "PENDING_UPDATE")
}

func TestStatus_FollowsMonitors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members      [2]string
		pool, parent string
	}{
		"all well":    {[2]string{"ONLINE", "ONLINE"}, "ONLINE", "ONLINE"},
		"one failed":  {[2]string{"ONLINE", "ERROR"}, "DEGRADED", "DEGRADED"},
		"all failed":  {[2]string{"ERROR", "ERROR"}, "ERROR", "ERROR"},
		"one drained": {[2]string{"DRAINING", "ONLINE"}, "ONLINE", "ONLINE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{})
			m := env.create("amphora")
			for i, member := range env.Snapshot()[0].Pools[0].Members {
				if err := env.SetMemberOperatingStatus(member.ID, c.members[i]); err != nil {
					t.Fatal(err)
				}
			}
			if got := env.get("pools/" + m.pool)["operating_status"]; got != c.pool {
				t.Errorf("pool %v, want %s", got, c.pool)
			}
			if got := env.get("loadbalancers/" + m.id)["operating_status"]; got != c.parent {
				t.Errorf("load balancer %v, want %s", got, c.parent)
			}
			if got := env.get("listeners/" + m.listener)["operating_status"]; got != "ONLINE" {
				t.Errorf("listener %v", got)
			}
		})
	}
}

func TestStatus_IsNoMonitorForMembersWithoutMonitor(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	m := env.create("amphora")
	env.must(204, "DELETE", "healthmonitors/"+m.monitor, nil)
	for _, member := range env.Snapshot()[0].Pools[0].Members {
		if member.OperatingStatus != octavia.NoMonitor {
			t.Errorf("member %+v", member)
		}
	}
}

func TestWrites_CountOneCyclePerLock(t *testing.T) {
	t.Parallel()
	cycles := map[string]int{}
	env := newEnvironment(t, octavia.Options{OnPending: func(id string) { cycles[id]++ }})
	m := env.create("amphora")
	env.must(200, "PUT", "loadbalancers/"+m.id, object{"loadbalancer": object{}})
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": []object{}})
	env.refused(400, "Unknown attribute", "PUT", "pools/"+m.pool, object{"pool": object{"bogus": 1}})
	env.must(202, "PUT", "pools/"+m.pool+"/members", object{"members": []object{}}) // nothing to do: no lock
	env.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
	if cycles[m.id] != 4 {
		t.Errorf("%d cycles, want 4: create, PUT, batch, delete", cycles[m.id])
	}
}

func TestQuirks_ShowTimesInWholeSeconds(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Quirks: octavia.Quirks{SecondResolution: true}})
	m := env.create("amphora")
	if got := env.get("loadbalancers/" + m.id)["created_at"]; got != "2026-08-01T12:00:00" {
		t.Errorf("created_at %v", got)
	}
}

func TestSubscribe_ReportsFinishedWorkWithoutRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	var calls atomic.Int32
	changed := make(chan struct{}, 10)
	cancel := env.Subscribe(func() {
		calls.Add(1)
		changed <- struct{}{}
	})
	env.must(http.StatusCreated, "POST", "loadbalancers", env.balancer("amphora", nil))
	<-changed
	env.clock.Step(time.Minute)
	<-changed // the timer alone caused it
	cancel()
	told := calls.Load()
	env.must(204, "DELETE", "loadbalancers/"+env.Snapshot()[0].ID+"?cascade=true", nil)
	if calls.Load() != told {
		t.Error("told after cancel")
	}
}

func TestRemove_TakesLoadBalancerAwayAtOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	if err := env.Remove(m.id); err != nil {
		t.Fatal(err)
	}
	env.refused(404, "not found", "GET", "loadbalancers/"+m.id, nil)
	if _, err := env.network.Port(m.port); err == nil {
		t.Error("the VIP port is still there")
	}
	if err := env.Remove(m.id); err == nil {
		t.Error("removed twice")
	}
}

func TestSnapshot_IsACopy(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{})
	env.create("amphora")
	lb := env.Snapshot()[0]
	lb.Tags[0], lb.Pools[0].Members[0].Address, lb.Listeners[0].Name = "changed", "changed", "changed"
	again := env.Snapshot()[0]
	if again.Tags[0] == "changed" || again.Pools[0].Members[0].Address == "changed" || again.Listeners[0].Name == "changed" {
		t.Errorf("the snapshot reaches into the simulator: %+v", again)
	}
}
