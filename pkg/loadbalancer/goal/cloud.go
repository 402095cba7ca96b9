package goal

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// depth reads what is in a load balancer: all of it, or as much as it takes to delete it.
type depth func(context.Context, ownership.Identity, octavia.LoadBalancer) (*model.LoadBalancer, error)

// read finds the load balancers of a Service, takes the lock of the one that serves it, and
// reads what is in it once nothing works on it any more.
func (e *Engine) read(ctx context.Context, in Inputs, named string, inside depth, lock *async.Guard) (Observation, error) {
	found, err := e.Cloud.Observer.Find(ctx, in.ID, e.hints(in.Service, named))
	if err != nil {
		return Observation{}, err
	}
	all := found.LoadBalancers
	if len(all) == 0 {
		return nothing(in.ID), nil
	}
	waited, err := lock.Acquire(ctx, e.Cloud.Locks, all[0].ID)
	if err != nil {
		return Observation{}, err
	}
	if waited { // a Service may have come to it, or gone, in the meantime
		again, err := e.Cloud.Octavia.LoadBalancer(ctx, all[0].ID)
		if apierror.IsNotFound(err) {
			return nothing(in.ID), nil
		}
		if err != nil {
			return Observation{}, err
		}
		all[0] = *again
	}
	observed, err := e.contents(ctx, observe.Found{LoadBalancers: all[:1], As: found.As}, inside)
	if err != nil {
		return Observation{}, err
	}
	rest := all[1:]
	if found.Replaces {
		if err := e.readReplaced(ctx, observe.Found{LoadBalancers: rest[:1], As: found.As}, inside, observed); err != nil {
			return Observation{}, err
		}
		rest = rest[1:]
	}
	if err := e.readDuplicates(ctx, in.ID, found, rest, observed); err != nil {
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

// nothing is what is observed of a Service that has no load balancer.
func nothing(id ownership.Identity) Observation {
	return Observation{Observed: &model.Observed{}, As: id, Current: true}
}

// outline returns how to read a load balancer that is to be deleted. One that goes as a
// whole need not be read but for what is another's; known is what is known to be in it, nil
// for nothing.
func (e *Engine) outline(known *model.LoadBalancer) depth {
	if !e.Config.LoadBalancer.CascadeDelete {
		return e.Cloud.Observer.Contents
	}
	return func(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (*model.LoadBalancer, error) {
		if id.Sharing.Is {
			return e.Cloud.Observer.Contents(ctx, id, lb)
		}
		return e.Cloud.Observer.Outline(ctx, id, lb, known)
	}
}

// contents reads what is in a load balancer, once nothing works on it any more. It is
// empty where the load balancer has gone meanwhile. What was on its way out, and is gone at
// the end of that, is not in it.
func (e *Engine) contents(ctx context.Context, found observe.Found, inside depth) (*model.Observed, error) {
	next := &found.LoadBalancers[0]
	for {
		chosen, err := e.settled(ctx, *next)
		if err != nil || chosen == nil {
			return &model.Observed{}, err
		}
		lb, err := inside(ctx, found.As, *chosen)
		if err != nil {
			return nil, err
		}
		settled, changed, err := e.settleChildren(ctx, lb)
		if err != nil || !changed || !slices.ContainsFunc(lb.Unsound(), func(c model.Child) bool { return c.Status.Leaving() }) {
			return &model.Observed{LoadBalancer: settled}, err
		}
		if next, err = e.readAgain(ctx, lb.ID); err != nil || next == nil {
			return &model.Observed{}, err
		}
	}
}

// readReplaced reads the load balancer whose place another one takes. Where the other one
// is gone meanwhile, it stays.
func (e *Engine) readReplaced(ctx context.Context, found observe.Found, inside depth, observed *model.Observed) error {
	there, err := e.contents(ctx, found, inside)
	if err != nil {
		return err
	}
	if observed.LoadBalancer == nil {
		observed.LoadBalancer = there.LoadBalancer
	} else {
		observed.Outgoing = there.LoadBalancer
	}
	return nil
}

// readDuplicates reads of further load balancers of the Service as much as it takes to
// delete them.
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

// settleChildren waits for children that are still being made or removed below an ACTIVE
// load balancer, and reports whether there are others now. What is broken, or stays PENDING
// for ever, the plan brings back. One that was read from lists is returned as it is: it is read
// as a whole then, which is when to wait.
func (e *Engine) settleChildren(ctx context.Context, lb *model.LoadBalancer) (settled *model.LoadBalancer, changed bool, err error) {
	if e.Cloud.Observer.Listed || !lb.Status.Sound() || !model.AnyPending(lb.Unsound()) {
		return lb, false, nil
	}
	settled, err = e.Cloud.Applier.Settle(ctx, lb)
	var broken *apply.ChildrenError
	var other *apply.ChangedError
	if errors.As(err, &other) { // what else changed meanwhile, updated_at tells
		return settled, true, nil
	}
	if errors.As(err, &broken) {
		return settled, false, nil
	}
	return settled, false, err
}

// longPending is when a load balancer that is PENDING is asked for ten times less often: nothing
// takes Octavia that long, unless it has lost track.
const longPending = 15 * time.Minute

// settled waits until nothing works on a load balancer, and reads it again if it had to
// wait. It is nil when it has gone meanwhile.
func (e *Engine) settled(ctx context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	status := observe.Parts{LoadBalancer: lb}.Model(ownership.Identity{}).Status
	if !status.Pending() {
		return &lb, nil
	}
	timing := e.Drivers.Timing(lb.Provider)
	interval := timing.Update
	if status.Provisioning == octavia.StatusPendingCreate {
		interval = timing.Create
	}
	pace := watcher.Every(interval)
	if e.Clock.Since(lb.UpdatedAt) > longPending {
		pace.First, pace.Step, pace.Cap = 0, 10*pace.Cap, 10*pace.Cap
	}
	token, err := e.Cloud.Watcher.Settled(ctx, lb.ID, pace)
	if err != nil || token.Gone {
		return nil, err
	}
	return e.readAgain(ctx, lb.ID)
}

// readAgain is nil for a load balancer that has gone.
func (e *Engine) readAgain(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	again, err := e.Cloud.Octavia.LoadBalancer(ctx, id)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return again, err
}

// Unchanged asks whether what was recalled is still so, unless that is known. What was read
// from lists is not known well enough.
func (e *Engine) Unchanged(ctx context.Context, have Observation) (bool, error) {
	if have.Unchanged || !have.Listed.IsZero() {
		return have.Unchanged, nil
	}
	lb := have.LoadBalancer
	return e.unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt)
}

// unchanged reports whether a load balancer still has this value of updated_at. Calls at the same time share a request.
func (e *Engine) unchanged(ctx context.Context, id, provider string, updatedAt time.Time) (bool, error) {
	interval := e.Drivers.Timing(provider).Update
	token, err := e.Cloud.Watcher.Settled(ctx, id, watcher.Pace{First: 0, Step: interval.First, Cap: interval.Cap})
	if err != nil {
		return false, err
	}
	return !token.Gone && token.Status.Provisioning == octavia.StatusActive && token.UpdatedAt.Equal(updatedAt), nil
}

// Verify is that of the goal; of members of which little was read, the rest is.
func (e *Engine) Verify(ctx context.Context, g Goal, r Round) (have Observation, another bool, err error) {
	if have, another, err = g.Verify(ctx, r); err != nil || !have.Brief {
		return have, another, err
	}
	have.Brief = false
	return have, true, e.Cloud.Observer.ReadMembers(ctx, have.LoadBalancer)
}
