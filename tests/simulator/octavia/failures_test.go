package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestFailNext_LeavesCreateInErrorUntilDeleted(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		env := newEnvironment(t, octavia.Options{Delays: slow()})
		env.FailNext(octavia.OperationCreate, 1)
		m := env.create(provider)
		env.wantStatus("loadbalancers/"+m.id, "ERROR")
		env.wantStatus("pools/"+m.pool, "PENDING_CREATE")
		env.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
		env.clock.Step(20 * time.Second)
		env.Settle()
		if left := env.vipPorts(); len(left) != 0 {
			t.Errorf("%s: ports left %+v", provider, left)
		}
	}
}

func TestFailNext_LetsDeleteBeRepeated(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	env.FailNext(octavia.OperationDelete, 1)
	for _, status := range []string{"ERROR", ""} {
		env.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
		env.clock.Step(20 * time.Second)
		if status != "" {
			env.wantStatus("loadbalancers/"+m.id, status)
		}
	}
	env.refused(404, "not found", "GET", "loadbalancers/"+m.id, nil)
}

// A failed change shows at the object that it was about, and the load balancer
// is ACTIVE all the same.
func TestFailNext_BreaksSubjectOfUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		path   func(made) string
		body   any
		// statuses afterwards
		balancer, listener, pool, monitor, member string
	}{
		"load balancer": {"PUT", func(m made) string { return "loadbalancers/" + m.id }, object{"loadbalancer": object{}}, "ERROR", "ACTIVE", "ACTIVE", "ACTIVE", "ACTIVE"},
		"listener":      {"PUT", func(m made) string { return "listeners/" + m.listener }, object{"listener": object{}}, "ACTIVE", "ERROR", "ACTIVE", "ACTIVE", "ACTIVE"},
		"pool":          {"PUT", func(m made) string { return "pools/" + m.pool }, object{"pool": object{}}, "ACTIVE", "ACTIVE", "ERROR", "ACTIVE", "ACTIVE"},
		"monitor":       {"PUT", func(m made) string { return "healthmonitors/" + m.monitor }, object{"healthmonitor": object{}}, "ACTIVE", "ACTIVE", "ACTIVE", "ERROR", "ACTIVE"},
		"monitor gone":  {"DELETE", func(m made) string { return "healthmonitors/" + m.monitor }, nil, "ACTIVE", "ACTIVE", "ACTIVE", "ERROR", "ACTIVE"},
		"listener gone": {"DELETE", func(m made) string { return "listeners/" + m.listener }, nil, "ACTIVE", "ERROR", "ACTIVE", "ACTIVE", "ACTIVE"},
		"batch":         {"PUT", func(m made) string { return "pools/" + m.pool + "/members" }, batchOf("10.6.0.10", "10.6.0.77"), "ACTIVE", "ACTIVE", "ACTIVE", "ACTIVE", "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, octavia.Options{Delays: slow()})
			m := env.create("amphora")
			env.FailNext(octavia.OperationUpdate, 1)
			if got := env.call(c.method, c.path(m), c.body); got.status >= 300 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			env.clock.Step(10 * time.Second)
			env.wantStatus("loadbalancers/"+m.id, c.balancer)
			env.wantStatus("listeners/"+m.listener, c.listener)
			env.wantStatus("pools/"+m.pool, c.pool)
			env.wantStatus("healthmonitors/"+m.monitor, c.monitor)
			for _, member := range env.Snapshot()[0].Pools[0].Members {
				if member.ProvisioningStatus != c.member {
					t.Errorf("member %s is %s, want %s", member.Address, member.ProvisioningStatus, c.member)
				}
			}
		})
	}
}

func TestFailNext_IsRepairedByWritingAgain(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, octavia.Options{Delays: slow()})
	m := env.create("amphora")
	env.FailNext(octavia.OperationUpdate, 1)
	for _, want := range []string{"ERROR", "ACTIVE"} {
		env.must(200, "PUT", "listeners/"+m.listener, object{"listener": object{"connection_limit": 5}})
		env.clock.Step(10 * time.Second)
		env.wantStatus("listeners/"+m.listener, want)
		env.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	}
}
