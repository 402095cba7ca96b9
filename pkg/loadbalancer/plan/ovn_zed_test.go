package plan_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// checkStaleMonitors refuses what hangs a driver with the quirk StaleMonitors.
func (c *cloud) checkStaleMonitors(lb *model.LoadBalancer, step plan.Step) error {
	if !c.driver.Quirks.StaleMonitors {
		return nil
	}
	switch s := step.(type) {
	case plan.CreateListener:
		transport := s.Listener.Protocol.Transport()
		return refuse(c.stale[transport] || c.checked(lb, transport), "the provider hangs: there is a monitor, or was one whose pool is gone")
	case plan.UpdateMonitor:
		return refuse(lost(s.Pool.Find(lb)), "the provider hangs: it never heard of the monitor")
	case plan.DeleteMonitor:
		return refuse(lost(s.Pool.Find(lb)), "the provider hangs: it never heard of the monitor")
	case plan.DeletePool:
		for _, pool := range lb.Orphans {
			if pool.ID == s.ID && pool.Monitor != nil && !lost(&pool) {
				c.stale = map[model.Protocol]bool{pool.Protocol.Transport(): true}
				return refuse(len(lb.Foreign) > 0, "no listener can be made any more by the others")
			}
		}
	}
	return nil
}

func lost(pool *model.Pool) bool {
	return pool != nil && pool.Monitor != nil && pool.Monitor.Status.Provisioning == "PENDING_CREATE"
}

// checked reports whether a pool of the transport has a monitor that the provider knows.
func (c *cloud) checked(lb *model.LoadBalancer, transport model.Protocol) bool {
	pools := append([]model.Pool{}, lb.Orphans...)
	for _, l := range lb.Listeners {
		pools = append(pools, l.Pool)
	}
	for _, pool := range pools {
		if pool.Protocol.Transport() == transport && pool.Monitor != nil && !lost(&pool) {
			return true
		}
	}
	return false
}

// makeStale sets the statuses that a driver with the quirk StaleMonitors does not report. Which
// pool it reports when a monitor is deleted is unknown.
func (c *cloud) makeStale(step plan.Step) {
	lb := c.observed.LoadBalancer
	if !c.driver.Quirks.StaleMonitors || lb == nil {
		return
	}
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		for i := range lb.Listeners {
			if monitor := lb.Listeners[i].Pool.Monitor; monitor != nil {
				monitor.Status.Provisioning = "PENDING_CREATE"
			}
		}
	case plan.CreateMonitor:
		leave(lb, s.Pool, "ACTIVE", "PENDING_UPDATE")
	case plan.UpdateMonitor:
		leave(lb, s.Pool, "ACTIVE", "PENDING_UPDATE")
	case plan.DeleteMonitor:
		leave(lb, s.Pool, "PENDING_UPDATE", "PENDING_UPDATE")
	case plan.UpdatePool:
		leave(lb, s.Pool, "ACTIVE", "ACTIVE")
	case plan.SetMembers:
		leave(lb, s.Pool, "ACTIVE", "ACTIVE")
	case plan.AddMember:
		leave(lb, s.Pool, "ACTIVE", "ACTIVE")
	case plan.RemoveMember:
		leave(lb, s.Pool, "ACTIVE", "ACTIVE")
	}
}

func leave(lb *model.LoadBalancer, ref plan.PoolRef, pool, listener string) {
	found := ref.Find(lb)
	found.Status.Provisioning = pool
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; &l.Pool == found {
			l.Status.Provisioning = listener
		}
	}
}

// A monitor of another owner, which the Service cannot delete, keeps it from new listeners of the same transport.
func TestDiff_BlocksListenersBesideMonitorsOfOthersWhereTheProviderHangs(t *testing.T) {
	t.Parallel()
	zed := driver.Driver{Quirks: driver.Quirks{StaleMonitors: true}}
	http, dns := listener(0, model.TCP, 80), listener(1, model.UDP, 53)
	proxied := http
	proxied.Protocol, proxied.Pool.Protocol = model.HTTP, model.HTTP
	for name, test := range map[string]struct {
		driver    driver.Driver
		monitored model.Protocol
		desired   []model.Listener
		blocked   string
	}{
		"no new listener":              {zed, model.TCP, []model.Listener{http}, ""},
		"a new one":                    {zed, model.TCP, []model.Listener{http, listener(1, model.TCP, 443)}, "TCP/443"},
		"a new one of its transport":   {zed, model.UDP, []model.Listener{http, dns}, "UDP/53"},
		"a new one of another":         {zed, model.TCP, []model.Listener{http, dns}, ""},
		"one that is created again":    {zed, model.TCP, []model.Listener{proxied}, "TCP/80"},
		"another driver":               {driver.Driver{}, model.TCP, []model.Listener{http, listener(1, model.TCP, 443)}, ""},
		"a pool of others, no monitor": {zed, "", []model.Listener{http, listener(1, model.TCP, 443)}, ""},
	} {
		observed := made(t, web(ports(http)))
		observed.LoadBalancer.Foreign = []model.Foreign{{Kind: "listener", ID: "l", Key: model.ListenerKey{Transport: model.TCP, Port: 9000}, Monitored: test.monitored}}
		todo := plan.Diff(web(ports(test.desired...)), observed, plan.Options{Driver: test.driver})
		if (todo.Blocked != "") != (test.blocked != "") || !strings.Contains(todo.Blocked, test.blocked) || todo.Blocked != "" && len(todo.Steps) > 0 {
			t.Errorf("%s: blocked %q, want %q\n%s", name, todo.Blocked, test.blocked, todo)
		}
	}
}

// The monitors of a transport go blind when another of them is deleted: then one of them is recreated. Unused pools
// without a monitor that the provider knows do not matter, nor do those of another transport.
func TestDiff_RecreatesAMonitorWhereAnotherIsDeleted(t *testing.T) {
	t.Parallel()
	probe := func(status string) *model.Monitor {
		return &model.Monitor{ID: "m-9", Type: model.MonitorTCP, Status: model.Status{Provisioning: status}}
	}
	for name, test := range map[string]struct {
		orphan    model.Pool
		recreates bool
	}{
		"without a monitor": {model.Pool{Protocol: model.TCP}, false},
		"with a monitor":    {model.Pool{Protocol: model.TCP, Monitor: probe("ACTIVE")}, true},
		"of UDP":            {model.Pool{Protocol: model.UDP, Monitor: probe("ACTIVE")}, false},
		"with a lost one":   {model.Pool{Protocol: model.TCP, Monitor: probe("PENDING_CREATE")}, false},
	} {
		first := func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.Monitor = nil } // which has none to recreate
		observed := made(t, web(monitor(model.MonitorTCP), first))
		test.orphan.ID, test.orphan.Name = "p-9", "unused"
		observed.LoadBalancer.Orphans = []model.Pool{test.orphan}
		todo := plan.Diff(web(monitor(model.MonitorTCP), first), observed, plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{StaleMonitors: true}}})
		deleted, created := 0, 0
		for _, step := range todo.Steps {
			switch s := step.(type) {
			case plan.DeleteMonitor:
				if s.Pool.ID != "p-9" {
					deleted++
				}
			case plan.CreateMonitor:
				created++
			}
		}
		if want := map[bool]int{true: 1}[test.recreates]; deleted != want || created != want {
			t.Errorf("%s: %d monitors are deleted and %d created, want %d\n%s", name, deleted, created, want, todo)
		}
	}
}

// Monitors of pools go first only where the load balancer stays: it would hang for its other owner.
func TestDelete_DeletesMonitorsByThemselvesOnlyWhereTheLoadBalancerStays(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string][]model.Foreign{"its own": nil, "with parts of others": {{Kind: "pool", ID: "p"}}} {
		observed := made(t, web(monitor(model.MonitorTCP)))
		observed.LoadBalancer.Foreign = foreign
		todo := plan.Delete(observed, plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{StaleMonitors: true}}})
		monitors := 0
		for _, step := range todo.Steps {
			if _, is := step.(plan.DeleteMonitor); is {
				monitors++
			}
		}
		if want := 2 * len(foreign); monitors != want || todo.DeletesLoadBalancer() != (foreign == nil) {
			t.Errorf("%s: %d monitors are deleted, want %d\n%s", name, monitors, want, todo)
		}
	}
}

// The deletion of a monitor may leave its pool PENDING_UPDATE: an update ends that before members change.
func TestDiff_RepairsAPoolBetweenItsMonitorAndItsMembers(t *testing.T) {
	t.Parallel()
	zed := driver.Driver{Quirks: driver.Quirks{StaleMonitors: true}}
	one := func(lb *model.LoadBalancer) { lb.Listeners = []model.Listener{listener(0, model.TCP, 80)} }
	for name, test := range map[string]struct {
		driver driver.Driver
		change func(*model.LoadBalancer)
		want   string
	}{
		"no change":     {zed, nodes(1, 2, 3), "1×DeleteMonitor 1×UpdatePool"},
		"one more":      {zed, nodes(1, 2, 3, 4), "1×DeleteMonitor 1×UpdatePool 1×AddMember"},
		"one less":      {zed, nodes(1, 2), "1×DeleteMonitor 1×UpdatePool 1×RemoveMember"},
		"others":        {zed, nodes(4, 5), "1×DeleteMonitor 1×UpdatePool 1×SetMembers"},
		"other setting": {zed.Without(driver.MemberBatches), onPools(func(pool *model.Pool) { fixture.EditMember(pool, 0, func(m *model.Member) { m.Weight = 5 }) }), "1×DeleteMonitor 1×UpdatePool 1×UpdateMember"},
	} {
		observed := made(t, web(one, monitor(model.MonitorTCP)))
		if got := kinds(plan.Diff(web(one, test.change), observed, plan.Options{Driver: test.driver}).Steps); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
