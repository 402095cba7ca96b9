package octavia

// operate sets the operating statuses of all created objects as the health manager
// reports them. Objects that are still being created keep their first status.
func (o *Octavia) operate(lb *LoadBalancer) {
	worst, pools := Online, map[string]string{}
	for _, pool := range lb.Pools {
		pools[pool.ID] = o.operatePool(lb, pool)
		worst = worse(worst, pools[pool.ID])
	}
	for _, listener := range lb.Listeners {
		status := Online
		if o.queued(lb) { // recorded from 2025.1: as bad as its pool
			status = worse(status, pools[listener.DefaultPoolID])
		}
		o.report(listener, upOrDown(listener.AdminStateUp, status))
	}
	o.report(lb, upOrDown(lb.AdminStateUp, worst))
}

// operatePool is ERROR when all members are, DEGRADED when some are.
func (o *Octavia) operatePool(lb *LoadBalancer, pool *Pool) string {
	failed := 0
	for _, member := range pool.Members {
		o.report(member, o.memberStatus(lb, pool, member))
		if member.OperatingStatus == Error {
			failed++
		}
	}
	if pool.Monitor != nil {
		o.report(pool.Monitor, upOrDown(pool.Monitor.AdminStateUp, Online))
	}
	status := Online
	switch {
	case failed > 0 && failed == len(pool.Members):
		status = Error
	case failed > 0:
		status = Degraded
	}
	o.report(pool, upOrDown(pool.AdminStateUp, status))
	return pool.OperatingStatus
}

func (o *Octavia) memberStatus(lb *LoadBalancer, pool *Pool, member *Member) string {
	switch {
	case o.oldOVN(lb):
		return lb.ovnMemberStatus(pool, member)
	case !member.AdminStateUp:
		return Offline
	case pool.Monitor == nil:
		return NoMonitor
	case o.unseen(lb, pool, member):
		return Error
	case member.reported != "":
		return member.reported
	case member.Weight == 0 && !o.queued(lb):
		return Draining
	default:
		return Online
	}
}

func (o *Octavia) report(thing object, status string) {
	meta := thing.meta()
	if pending(meta.ProvisioningStatus) && meta.ProvisioningStatus != PendingUpdate {
		return
	}
	if meta.OperatingStatus != status {
		meta.OperatingStatus = status
		o.touch(thing)
	}
}

func upOrDown(up bool, status string) string {
	if !up {
		return Offline
	}
	return status
}

func worse(a, b string) string {
	for _, status := range []string{Error, Degraded} {
		if a == status || b == status {
			return status
		}
	}
	return a
}
