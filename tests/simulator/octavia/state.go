package octavia

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"
)

// job is work of a provider that ends at a given time.
type job struct {
	due          time.Time
	order        int // among those due at the same time
	loadBalancer string
	finish       func()
}

// jobs is a heap by time.
type jobs []job

func (j jobs) Len() int { return len(j) }
func (j jobs) Less(a, b int) bool {
	return cmp.Or(j[a].due.Compare(j[b].due), j[a].order-j[b].order) < 0
}
func (j jobs) Swap(a, b int) { j[a], j[b] = j[b], j[a] }

// Push and Pop are container/heap's.
func (j *jobs) Push(next any) { *j = append(*j, next.(job)) }

// Pop takes the last job.
func (j *jobs) Pop() any {
	all := *j
	last := all[len(all)-1]
	all[len(all)-1] = job{}
	*j = all[:len(all)-1]
	return last
}

func (j jobs) due(now time.Time) bool { return len(j) > 0 && !j[0].due.After(now) }

// after lets finish run once the delay has passed, at the latest when the
// next request comes. The clock's timer makes it happen without any request.
func (o *Octavia) after(lb *LoadBalancer, delay time.Duration, finish func()) {
	o.sequence++
	key := o.sequence
	heap.Push(&o.jobs, job{due: o.clock.Now().Add(delay), order: key, loadBalancer: lb.ID, finish: finish})
	if o.closed {
		return
	}
	o.wakes.Add(1)
	// A fake clock calls back with its own lock held, so the work that reads
	// the clock again needs its own goroutine.
	o.timers[key] = o.clock.AfterFunc(delay, func() { go o.wake(key) })
}

func (o *Octavia) wake(key int) {
	defer o.wakes.Done()
	o.locked(func() { delete(o.timers, key) })
}

// settle finishes all work that is due, in order of time.
func (o *Octavia) settle() {
	for o.jobs.due(o.clock.Now()) {
		next := heap.Pop(&o.jobs).(job)
		o.dirty, o.finished = true, next.due
		next.finish()
	}
}

// forget drops the unfinished work on a load balancer.
func (o *Octavia) forget(lb *LoadBalancer) {
	o.jobs = slices.DeleteFunc(o.jobs, func(j job) bool { return j.loadBalancer == lb.ID })
	heap.Init(&o.jobs)
}

func pending(status string) bool { return strings.HasPrefix(status, "PENDING_") }

// set changes a provisioning status, which bumps updated_at even when the
// status stays the same.
func (o *Octavia) set(thing object, status string) {
	meta := thing.meta()
	meta.ProvisioningStatus = status
	o.touch(thing)
}

func (o *Octavia) touch(thing object) {
	thing.meta().UpdatedAt = o.now()
	o.dirty = true
}

// lock moves a load balancer into a PENDING state and counts the cycle.
func (o *Octavia) lock(lb *LoadBalancer, status string) {
	o.countCycle(lb)
	o.set(lb, status)
}

func (o *Octavia) countCycle(lb *LoadBalancer) {
	if o.options.OnPending != nil {
		o.options.OnPending(lb.ID)
	}
}

// mutable refuses a call on a child unless the load balancer is ACTIVE.
func mutable(lb *LoadBalancer) *apiError {
	if lb.ProvisioningStatus != Active {
		return immutable("Load Balancer", lb.ID)
	}
	return nil
}

// mutablePool is for calls on members and monitors, which look at the pool
// first: a pool in ERROR refuses them although the load balancer is ACTIVE.
func mutablePool(lb *LoadBalancer, pool *Pool) *apiError {
	if pool.ProvisioningStatus != Active {
		return immutable("Pool", pool.ID)
	}
	return mutable(lb)
}

// update locks the load balancer and marks what the call touches
// PENDING_UPDATE. When the provider is done, finish runs, and everything
// touched and created becomes ACTIVE with the load balancer.
func (o *Octavia) update(lb *LoadBalancer, touched, created []object, finish func()) {
	o.lock(lb, PendingUpdate)
	for _, thing := range touched {
		o.set(thing, PendingUpdate)
	}
	done := func() {
		if o.fails(OperationUpdate) {
			o.revert(lb, touched, created)
			return
		}
		if finish != nil {
			finish()
		}
		for _, thing := range slices.Concat(touched, created) {
			o.activate(thing)
		}
		o.failUnreadable(lb)
		o.set(lb, Active)
		o.operate(lb)
	}
	if o.queued(lb) {
		o.enqueue(lb, o.delays(lb.Provider).Update, []ovnItem{{end: done}})
		return
	}
	o.after(lb, o.delays(lb.Provider).Update, done)
}

// failUnreadable puts listeners into ERROR that have a certificate which cannot be read any more: each change of a load
// balancer gives its amphorae all certificates anew.
func (o *Octavia) failUnreadable(lb *LoadBalancer) {
	if lb.Provider == ProviderOVN || o.options.Certificates == nil {
		return
	}
	for _, listener := range lb.Listeners {
		for _, ref := range append([]string{listener.TLS.DefaultContainerRef}, listener.TLS.SNIContainerRefs...) {
			if ref != "" && o.options.Certificates(ref) != nil {
				o.set(listener, Error)
			}
		}
	}
}

// activate ends a create or update. Objects that were deleted or set to ERROR meanwhile stay
// so.
func (o *Octavia) activate(thing object) {
	switch thing.meta().ProvisioningStatus {
	case PendingCreate, PendingUpdate:
		o.set(thing, o.outcome(thing))
	}
}

// outcome is ERROR for what a vendor's driver cannot do.
func (o *Octavia) outcome(thing object) string {
	entry := o.index[thing.meta().ID]
	if entry.lb == nil {
		return Active
	}
	if vendor, is := o.vendor(entry.lb); is && vendor.fails(thing) {
		return Error
	}
	return Active
}

// poolAndListeners is what calls on a pool and below it lock with it.
func poolAndListeners(lb *LoadBalancer, pool *Pool) []object {
	return append([]object{pool}, listenersOf(lb, pool)...)
}

func listenersOf(lb *LoadBalancer, pool *Pool) []object {
	var listeners []object
	leads := func(policy *L7Policy) bool { return policy.RedirectPoolID == pool.ID && policy.serves() }
	for _, listener := range lb.Listeners {
		if listener.DefaultPoolID == pool.ID || slices.ContainsFunc(listener.Policies, leads) {
			listeners = append(listeners, listener)
		}
	}
	return listeners
}

// children of a load balancer, in the order in which a full create makes them.
func children(lb *LoadBalancer) []object {
	var all []object
	for _, pool := range lb.Pools {
		all = append(all, pool)
		if pool.Monitor != nil {
			all = append(all, pool.Monitor)
		}
		for _, member := range pool.Members {
			all = append(all, member)
		}
	}
	for _, listener := range lb.Listeners {
		all = append(all, listener)
		for _, policy := range listener.Policies {
			all = append(all, policy)
			for _, rule := range policy.Rules {
				all = append(all, rule)
			}
		}
	}
	return all
}

// built is the end of a create. The amphora provider reports everything at
// once; ovn reports the load balancer first and its children as they come.
func (o *Octavia) built(lb *LoadBalancer) {
	if o.queued(lb) {
		o.queuedCreate(lb)
		return
	}
	o.rebuild(lb, OperationCreate)
}

// rebuild is built for any work that ends with new amphorae.
func (o *Octavia) rebuild(lb *LoadBalancer, work Operation) {
	delays := o.delays(lb.Provider)
	finishChildren := func() {
		for _, child := range children(lb) {
			if !o.staysPending(lb, child) {
				o.activate(child)
			}
		}
		o.operate(lb)
	}
	early := lb.Provider == ProviderOVN
	o.after(lb, delays.Create, func() {
		if o.fails(work) {
			o.forget(lb)
			o.set(lb, Error)
			return
		}
		o.set(lb, Active)
		o.boot(lb)
		if !early {
			finishChildren()
		}
		o.operate(lb)
	})
	if early {
		o.after(lb, delays.Create+delays.Children, finishChildren)
	}
}

func (o *Octavia) staysPending(lb *LoadBalancer, child object) bool {
	_, monitor := child.(*Monitor)
	switch child.(type) {
	case *L7Policy, *L7Rule:
		if lb.Provider == ProviderOVN {
			return true // the driver is not informed of them
		}
	}
	return o.options.Quirks.ChildrenStayPending || monitor && (o.options.Quirks.MonitorsStayPending || o.oldOVN(lb))
}

func (o *Octavia) delays(provider string) Delays {
	if delays, given := o.options.Delays[provider]; given {
		return delays
	}
	return o.options.Delays[""]
}

// remove takes a load balancer and its VIP port away.
func (o *Octavia) remove(lb *LoadBalancer) {
	o.forget(lb)
	o.balancers = slices.DeleteFunc(o.balancers, func(other *LoadBalancer) bool { return other == lb })
	o.unregister(append(children(lb), lb)...)
	o.dirty = true
	o.deleteVIPs(lb)
}
