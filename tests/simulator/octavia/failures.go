package octavia

// Operation is a kind of work of a provider.
type Operation string

// Operations that can be made to fail.
const (
	OperationCreate Operation = "create" // of a load balancer
	OperationUpdate Operation = "update" // of a load balancer, or anything done to a child
	OperationDelete Operation = "delete" // of a load balancer
	// OperationFailover leaves the load balancer in ERROR, as its amphorae cannot be replaced.
	OperationFailover Operation = "failover"
)

// FailNext makes the next count operations of a kind end in ERROR, in the way
// the amphora provider's flows are reverted: a load balancer that cannot be
// created, changed or deleted is in ERROR itself; a failed change of a child
// leaves that child in ERROR under an ACTIVE load balancer.
func (o *Octavia) FailNext(operation Operation, count int) {
	o.locked(func() { o.failures[operation] += count })
}

func (o *Octavia) fails(operation Operation) bool {
	if o.failures[operation] == 0 {
		return false
	}
	o.failures[operation]--
	return true
}

// revert ends a failed update.
func (o *Octavia) revert(lb *LoadBalancer, touched, created []object) {
	broken := subjects(lb, touched, created)
	if len(broken) == 0 {
		o.set(lb, Error)
		return
	}
	for _, thing := range touched {
		o.activate(thing)
	}
	for _, thing := range broken {
		o.set(thing, Error)
	}
	o.set(lb, Active)
	o.operate(lb)
}

// subjects returns the children that a change is about: created and deleted objects, members
// and monitors, else the first locked listener or pool. None means the load balancer.
func subjects(lb *LoadBalancer, touched, created []object) []object {
	about := append([]object{}, created...)
	for _, thing := range touched {
		switch thing.(type) {
		case *Member, *Monitor:
			about = append(about, thing)
		}
	}
	for _, child := range children(lb) {
		if child.meta().ProvisioningStatus == PendingDelete {
			about = append(about, child)
		}
	}
	if len(about) == 0 && len(touched) > 0 {
		about = touched[:1]
	}
	return about
}
