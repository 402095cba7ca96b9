package plan_test

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
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
