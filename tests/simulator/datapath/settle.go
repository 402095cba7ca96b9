package datapath

// settle merges the present state of the source into the configuration in force, and returns the
// new configuration by load balancer ID:
//
//	now              before   in force
//	settled          any      now
//	not settled      yes      before, with the present addresses and member statuses
//	not settled      no       nothing (it is still being created)
//	absent           any      nothing
//
// It does not change its inputs.
func settle(before map[string]LoadBalancer, now []LoadBalancer) map[string]LoadBalancer {
	inForce := make(map[string]LoadBalancer, len(now))
	for _, lb := range now {
		if lb.Settled {
			inForce[lb.ID] = lb
			continue
		}
		if old, ok := before[lb.ID]; ok {
			inForce[lb.ID] = refresh(old, lb)
		}
	}
	return inForce
}

// refresh returns old with what changes outside of a load balancer's configuration taken
// from now: its addresses (floating IPs come and go in Neutron) and operating statuses.
func refresh(old, now LoadBalancer) LoadBalancer {
	statuses := map[string]string{}
	for _, pool := range now.Pools {
		for _, member := range pool.Members {
			statuses[member.ID] = member.Status
		}
	}
	fresh := old
	fresh.Addresses, fresh.Fixed = now.Addresses, now.Fixed
	fresh.Pools = make([]Pool, len(old.Pools))
	for i, pool := range old.Pools {
		members := make([]Member, len(pool.Members))
		for j, member := range pool.Members {
			if status, ok := statuses[member.ID]; ok {
				member.Status = status
			}
			members[j] = member
		}
		pool.Members = members
		fresh.Pools[i] = pool
	}
	return fresh
}
