package goal

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// depth reads the contents of a load balancer: all, or only those that a deletion needs.
type depth func(context.Context, ownership.Identity, *reading) (*model.LoadBalancer, error)

// look is the progress of Engine.read between two calls. The zero value starts.
type look struct {
	found *observe.Found
	// locked is set once the load balancer is locked, and confirmed to be as found.
	waited, locked bool
	serving        reading
	replaced       reading
}

// reading is the progress of Engine.contents, for one load balancer, between two calls.
type reading struct {
	// next is the load balancer of the last read, settled is set once it is not PENDING.
	next    *octavia.LoadBalancer
	settled bool
	// resting, again and deadline are the progress of contentsAtRest.
	resting  bool
	again    *octavia.LoadBalancer
	deadline time.Time
	// lb has its contents, children waits until none is PENDING.
	lb       *model.LoadBalancer
	children *apply.Settling
	done     *model.Observed
}

// read finds the load balancers of a Service, locks the one that serves it, and reads its contents
// once it is not PENDING.
func (e *Engine) read(ctx context.Context, in Inputs, named string, inside depth, lock *async.Guard, at *look) (Observation, error) {
	have, err := e.readOn(ctx, in, named, inside, lock, at)
	if !async.IsWaiting(err) {
		*at = look{}
	}
	return have, err
}

func (e *Engine) readOn(ctx context.Context, in Inputs, named string, inside depth, lock *async.Guard, at *look) (Observation, error) {
	if at.found == nil {
		found, err := e.Cloud.Observer.Find(ctx, in.ID, e.hints(in.Service, named))
		if err != nil {
			return Observation{}, err
		}
		at.found = &found
	}
	found, all := at.found, at.found.LoadBalancers
	if len(all) == 0 {
		return nothing(in.ID), nil
	}
	switch there, err := e.lock(ctx, lock, at); {
	case err != nil:
		return Observation{}, err
	case !there:
		return nothing(in.ID), nil
	}
	observed, err := e.contents(ctx, observe.Found{LoadBalancers: all[:1], As: found.As}, inside, &at.serving)
	if err != nil {
		return Observation{}, err
	}
	rest := all[1:]
	if found.Replaces {
		if observed, err = e.readReplaced(ctx, observe.Found{LoadBalancers: rest[:1], As: found.As}, inside, &at.replaced, *observed); err != nil {
			return Observation{}, err
		}
		rest = rest[1:]
	}
	if err := e.readDuplicates(ctx, in.ID, *found, rest, observed); err != nil {
		return Observation{}, err
	}
	switch {
	case !found.As.Sharing.Is:
		e.Store.SetLoadBalancerID(in.Service.UID, all[0].ID)
	case found.As.Sharing.Served:
		e.Store.SetServedOn(in.Service.UID, all[0].ID)
	}
	return Observation{Observed: observed, As: found.As, Current: true}, nil
}

// lock locks the load balancer that was found first. After a wait for the lock it reads the load
// balancer again, because Services may have joined or left it. There is false if the load balancer
// is gone.
func (e *Engine) lock(ctx context.Context, lock *async.Guard, at *look) (there bool, err error) {
	first := &at.found.LoadBalancers[0]
	waited, err := lock.Acquire(ctx, e.Cloud.Locks, first.ID)
	at.waited = at.waited || waited
	if err != nil || at.locked || !at.waited {
		return true, err
	}
	again, err := e.readAgain(ctx, first.ID)
	if err != nil || again == nil {
		return false, err
	}
	*first, at.locked = *again, true
	return true, nil
}

// nothing returns the observation of a Service without load balancer.
func nothing(id ownership.Identity) Observation {
	return Observation{Observed: &model.Observed{}, As: id, Current: true}
}

// outline returns the depth for a load balancer to be deleted. With a cascading deletion, only
// foreign parts must be read; known are its known contents, nil for none.
func (e *Engine) outline(known *model.LoadBalancer) depth {
	return func(ctx context.Context, id ownership.Identity, at *reading) (*model.LoadBalancer, error) {
		if id.Sharing.Is || !e.Config.LoadBalancer.CascadeDelete {
			return e.Cloud.Observer.Contents(ctx, id, *at.next)
		}
		return e.Cloud.Observer.Outline(ctx, id, *at.next, known)
	}
}

// contents reads the contents of a load balancer, once it is not PENDING. The result is empty if
// the load balancer is gone; children whose deletion has finished are not in it.
func (e *Engine) contents(ctx context.Context, found observe.Found, inside depth, at *reading) (*model.Observed, error) {
	if at.next == nil {
		at.next = &found.LoadBalancers[0]
	}
	for at.done == nil {
		if err := e.readInside(ctx, found, inside, at); err != nil || at.done != nil {
			return at.done, err
		}
		settled, changed, err := e.settleChildren(ctx, at)
		if err != nil {
			return nil, err
		}
		if !changed || !slices.ContainsFunc(at.lb.Unsound(), func(c model.Child) bool { return c.Status.Leaving() }) {
			at.done = &model.Observed{LoadBalancer: settled}
			break
		}
		again, err := e.readAgain(ctx, at.lb.ID)
		if err != nil {
			return nil, err
		}
		if *at = (reading{next: again}); again == nil {
			at.done = &model.Observed{}
		}
	}
	return at.done, nil
}

// readInside waits until a load balancer is not PENDING, and reads its contents. It sets at.done if
// the load balancer is gone.
func (e *Engine) readInside(ctx context.Context, found observe.Found, inside depth, at *reading) error {
	if at.lb != nil {
		return nil
	}
	if !at.settled {
		chosen, err := e.settled(ctx, *at.next)
		if err != nil {
			return err
		}
		if chosen == nil {
			at.done = &model.Observed{}
			return nil
		}
		at.next, at.settled = chosen, true
	}
	lb, err := inside(ctx, found.As, at)
	at.lb = lb
	return err
}

// readReplaced reads the load balancer that another one replaces. It stays if the other one is
// gone.
func (e *Engine) readReplaced(ctx context.Context, found observe.Found, inside depth, at *reading, observed model.Observed) (*model.Observed, error) {
	there, err := e.contents(ctx, found, inside, at)
	if err != nil {
		return nil, err
	}
	if observed.LoadBalancer == nil {
		observed.LoadBalancer = there.LoadBalancer
	} else {
		observed.Outgoing = there.LoadBalancer
	}
	return &observed, nil
}

// readDuplicates reads further load balancers of the Service, as far as a deletion needs them.
func (e *Engine) readDuplicates(ctx context.Context, id ownership.Identity, found observe.Found, all []octavia.LoadBalancer, observed *model.Observed) error {
	for _, lb := range all {
		duplicate, err := e.Cloud.Observer.Outline(ctx, id, lb, nil)
		if err != nil {
			return err
		}
		found.Attach(duplicate)
		observed.Duplicates = append(observed.Duplicates, *duplicate)
	}
	return nil
}

// settleChildren waits for PENDING children of an ACTIVE load balancer, and reports whether the
// children have changed. The plan repairs children that are broken or stay PENDING. It does not
// wait for a load balancer from lists: that one is read in full before a change, with a wait.
func (e *Engine) settleChildren(ctx context.Context, at *reading) (settled *model.LoadBalancer, changed bool, err error) {
	lb := at.lb
	if e.Cloud.Observer.Listed || !lb.Status.Sound() || !model.AnyPending(lb.Unsound()) {
		return lb, false, nil
	}
	if at.children == nil {
		at.children = apply.NewSettling(lb)
	}
	settled, err = e.Cloud.Applier.Settle(ctx, at.children)
	var broken *apply.ChildrenError
	var other *apply.ChangedError
	if errors.As(err, &other) { // updated_at shows other changes
		return settled, true, nil
	}
	if errors.As(err, &broken) {
		return settled, false, nil
	}
	return settled, false, err
}

// longPending is the age after which a PENDING load balancer is polled ten times less often:
// Octavia takes that long only if it has lost the operation.
const longPending = 15 * time.Minute

// settled waits until a load balancer is not PENDING, and reads it again after a wait. It returns
// nil if the load balancer is gone.
func (e *Engine) settled(ctx context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	status := observe.Parts{LoadBalancer: lb}.Model(ownership.Identity{}).Status
	if !status.Pending() {
		return &lb, nil
	}
	timing := e.Drivers.Timing(lb.Provider)
	interval := timing.Update
	if status.Provisioning == model.StatusPendingCreate {
		interval = timing.Create
	}
	pace := watcher.Every(interval)
	if e.Clock.Since(lb.UpdatedAt.Time) > longPending {
		pace.First, pace.Step, pace.Cap = 0, 10*pace.Cap, 10*pace.Cap
	}
	token, err := e.Cloud.Watcher.Settled(ctx, lb.ID, pace)
	if err != nil || token.Gone {
		return nil, err
	}
	return e.readAgain(ctx, lb.ID)
}

// readAgain returns nil for a load balancer that is gone.
func (e *Engine) readAgain(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	again, err := e.Cloud.Octavia.LoadBalancer(ctx, id)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return again, err
}

// Unchanged reports whether a recalled observation is still true, with a request if that is
// unknown. It is false for one from lists.
func (e *Engine) Unchanged(ctx context.Context, have Observation) (bool, error) {
	if have.Unchanged || !have.Listed.IsZero() {
		return have.Unchanged, nil
	}
	lb := have.LoadBalancer
	return e.unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt)
}

// unchanged reports whether a load balancer still has this value of updated_at. Concurrent calls
// share a request.
func (e *Engine) unchanged(ctx context.Context, id, provider string, updatedAt time.Time) (bool, error) {
	interval := e.Drivers.Timing(provider).Update
	token, err := e.Cloud.Watcher.Settled(ctx, id, watcher.Pace{First: 0, Step: interval.First, Cap: interval.Cap})
	if err != nil {
		return false, err
	}
	return !token.Gone && token.Status.Provisioning == model.StatusActive && token.UpdatedAt.Equal(updatedAt), nil
}

// Verify calls the goal's Verify, and reads the rest of members that were read briefly.
func (e *Engine) Verify(ctx context.Context, g Goal, r Round) (have Observation, another bool, err error) {
	if have, another, err = g.Verify(ctx, r); err != nil || !have.Brief {
		return have, another, err
	}
	have.Brief = false
	return have, true, e.Cloud.Observer.ReadMembers(ctx, have.LoadBalancer)
}
