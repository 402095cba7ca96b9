package octavia_test

import (
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestFailedCreateIsAnErrorThatOnlyDeleteLeaves(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		w := newWorld(t, octavia.Options{Delays: slow()})
		w.FailNext(octavia.OperationCreate, 1)
		m := w.create(provider)
		w.wantStatus("loadbalancers/"+m.id, "ERROR")
		w.wantStatus("pools/"+m.pool, "PENDING_CREATE")
		w.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
		w.clock.Step(20 * time.Second)
		w.Settle()
		if left := w.vipPorts(); len(left) != 0 {
			t.Errorf("%s: ports left %+v", provider, left)
		}
	}
}

func TestFailedDeleteCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{Delays: slow()})
	m := w.create("amphora")
	w.FailNext(octavia.OperationDelete, 1)
	for _, status := range []string{"ERROR", ""} {
		w.must(204, "DELETE", "loadbalancers/"+m.id+"?cascade=true", nil)
		w.clock.Step(20 * time.Second)
		if status != "" {
			w.wantStatus("loadbalancers/"+m.id, status)
		}
	}
	w.refused(404, "not found", "GET", "loadbalancers/"+m.id, nil)
}

// A failed change shows at the object that it was about, and the load balancer
// is ACTIVE all the same.
func TestFailedUpdateBreaksItsSubject(t *testing.T) {
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
			w := newWorld(t, octavia.Options{Delays: slow()})
			m := w.create("amphora")
			w.FailNext(octavia.OperationUpdate, 1)
			if got := w.call(c.method, c.path(m), c.body); got.status >= 300 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			w.clock.Step(10 * time.Second)
			w.wantStatus("loadbalancers/"+m.id, c.balancer)
			w.wantStatus("listeners/"+m.listener, c.listener)
			w.wantStatus("pools/"+m.pool, c.pool)
			w.wantStatus("healthmonitors/"+m.monitor, c.monitor)
			for _, member := range w.Snapshot()[0].Pools[0].Members {
				if member.ProvisioningStatus != c.member {
					t.Errorf("member %s is %s, want %s", member.Address, member.ProvisioningStatus, c.member)
				}
			}
		})
	}
}

func TestWritingAgainRepairs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, octavia.Options{Delays: slow()})
	m := w.create("amphora")
	w.FailNext(octavia.OperationUpdate, 1)
	for _, want := range []string{"ERROR", "ACTIVE"} {
		w.must(200, "PUT", "listeners/"+m.listener, object{"listener": object{"connection_limit": 5}})
		w.clock.Step(10 * time.Second)
		w.wantStatus("listeners/"+m.listener, want)
		w.wantStatus("loadbalancers/"+m.id, "ACTIVE")
	}
}
