package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// operations are the changes that Octavia has accepted and may not have finished.
type operations struct {
	*cloud
	// working is the operation that the last change has started in the load balancer; "" for none.
	working watcher.Operation
	// written are the members written since the load balancer was read.
	written written
	// deleting are the load balancers with an accepted deletion, leaving the pools.
	deleting []*deletion
	leaving  []*poolDeletion
	// waited is set if time has passed since the load balancers were read.
	waited bool
	// membersTook is how long the changes of the members of a pool took, 0 if there were none so far.
	membersTook time.Duration
	// created is set from a creation until its parts are settled, verifying while the last change
	// is verified.
	created, verifying bool
	// settling is the progress of settleChildren; nil: it is not running.
	settling *Settling
}

// accepted records an accepted step for the load balancer, or for a part of it, before it changes the model.
func (o *operations) accepted(step plan.Step) {
	pool := ""
	if found := poolOf(step).Find(o.observed.LoadBalancer); found != nil {
		pool = found.ID
	}
	o.written.note(step, pool, o.Clock.Now())
	o.working = watcher.Updating
	switch s := step.(type) {
	case plan.FailOver:
		o.working = watcher.FailingOver
	case plan.DeletePool:
		if driver.QuirksOf(o.observed.LoadBalancer.Provider).MemberByMember {
			o.leaving = append(o.leaving, &poolDeletion{id: s.ID, name: s.Name})
		}
	}
}

// deleted records an accepted deletion of a load balancer, before it changes the model.
func (o *operations) deleted(id string) {
	gone := &deletion{id: id}
	if lb := o.known(id); lb != nil {
		gone.provider = lb.Provider
	}
	o.deleting = append(o.deleting, gone)
}

// ready waits until the cloud can accept a step: one change of a load balancer at a time. Most floating
// IPs do not need to wait.
func (o *operations) ready(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.MoveFloatingIP:
		return o.verify(ctx)
	case plan.AssociateFloatingIP:
		return o.listenersReady(ctx)
	case plan.CreateFloatingIP:
		if s.Beside {
			return nil
		}
		return o.listenersReady(ctx)
	case plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP,
		plan.CreateVIP, plan.LeadVIP, plan.DeleteVIP:
		return nil
	case plan.SetForwardings:
		if lb := o.observed.LoadBalancer; lb != nil && len(s.To) == 0 && lb.ID != s.FloatingIP.ID {
			return o.verify(ctx) // it takes their place
		}
		return nil
	case plan.DeleteLoadBalancer:
		if s.Replaced {
			return o.verify(ctx)
		}
		if s.Cascade {
			return nil
		}
		if err := o.settle(ctx); err != nil { // its last children must be gone
			return err
		}
		return o.poolsGone(ctx)
	case plan.CreateLoadBalancer:
		return o.gone(ctx)
	}
	o.created = o.created || o.working == watcher.Creating
	if err := o.settle(ctx); err != nil {
		return err
	}
	quirks := driver.QuirksOf(o.observed.LoadBalancer.Provider)
	switch {
	case o.created && quirks.ActiveBeforeChildren:
		if err := o.settleChildren(ctx, false); err != nil {
			return err
		}
		o.created = false
		return nil
	case o.written.batch && quirks.MemberByMember:
		return o.settleChildren(ctx, true)
	}
	return nil
}

// listenersReady waits until a floating IP can be associated with the VIP: see
// driver.Quirks.FloatingIPAfterListeners.
func (o *operations) listenersReady(ctx context.Context) error {
	lb := o.observed.LoadBalancer
	if lb == nil || !driver.QuirksOf(lb.Provider).FloatingIPAfterListeners {
		return nil
	}
	transports := map[model.Protocol]bool{}
	for _, l := range lb.Listeners {
		transports[l.Protocol.Transport()] = true
	}
	if len(transports) < 2 {
		return nil
	}
	return o.verify(ctx)
}

// settle waits until the operation of the last change has finished.
func (o *operations) settle(ctx context.Context) error {
	if o.working == "" {
		return nil
	}
	lb := o.observed.LoadBalancer
	id, name, of := lb.ID, lb.Name, watcher.Kind{Provider: lb.Provider, Operation: o.working}
	token, err := o.wait(ctx, id, of)
	if err != nil {
		return fmt.Errorf("wait for load balancer %s (%s): %w", name, id, err)
	}
	o.working = ""
	lb.Status, lb.UpdatedAt = token.Status, token.UpdatedAt
	switch {
	case token.Gone:
		return &LoadBalancerError{id, name, "gone"}
	case token.Status.Failed():
		return &LoadBalancerError{id, name, token.Status.Provisioning}
	}
	return nil
}

// gone waits until the deleted load balancers are gone.
func (o *operations) gone(ctx context.Context) error {
	for len(o.deleting) > 0 {
		if err := o.awaitDeletion(ctx, o.deleting[0]); err != nil {
			return err
		}
		o.deleting = o.deleting[1:]
	}
	return nil
}

// awaitDeletion waits until a load balancer is gone. ACTIVE does not yet mean that the deletion was
// refused: a driver with a queue may report the end of an earlier operation. After ChildTimeout it
// does.
func (o *operations) awaitDeletion(ctx context.Context, d *deletion) error {
	timing := o.Drivers.Timing(d.provider)
	return poll(ctx, o.Clock, &d.pausing, "deleted "+d.id, timing.ChildInterval, func() (done bool, err error) {
		token, err := o.wait(ctx, d.id, watcher.Kind{Operation: watcher.Deleting})
		switch {
		case err != nil:
			return false, fmt.Errorf("wait for the end of load balancer %s: %w", d.id, err)
		case token.Gone:
			return true, nil
		case token.Status.Failed(), !d.until.IsZero() && o.Clock.Now().After(d.until):
			return false, &LoadBalancerError{ID: d.id, Status: token.Status.Provisioning + " after its deletion"}
		}
		if d.until.IsZero() {
			d.until = o.Clock.Now().Add(timing.ChildTimeout)
		}
		return false, nil
	})
}

// deletion is an accepted deletion of a load balancer.
type deletion struct {
	id, provider string
	// until is the time at which ACTIVE becomes an error, zero before the first poll. pausing is set
	// before the next poll.
	until   time.Time
	pausing bool
}

// verify waits until the last change has finished, and reads the status of all parts: an ACTIVE
// load balancer can have children that failed or, with ovn, are still being created.
func (o *operations) verify(ctx context.Context) error {
	if o.working == "" && !o.verifying || o.observed.LoadBalancer == nil {
		return nil
	}
	o.verifying = true
	if err := o.settle(ctx); err != nil {
		return err
	}
	if err := o.poolsGone(ctx); err != nil {
		return err
	}
	if err := o.settleChildren(ctx, false); err != nil {
		return err
	}
	o.verifying = false
	return nil
}

// settleChildren calls Settle for the load balancer of the run, or for its members only.
func (o *operations) settleChildren(ctx context.Context, members bool) error {
	if o.settling == nil {
		o.settling = NewSettling(o.observed.LoadBalancer)
		o.settling.wrote, o.settling.members = o.written, members
	}
	lb, err := o.Settle(ctx, o.settling)
	if async.IsWaiting(err) {
		return err
	}
	o.settling = nil
	if o.observed.LoadBalancer = lb; err == nil {
		if took := o.written.settled(o.Clock.Now()); took > 0 {
			o.membersTook = took
			o.Watcher.Record(watcher.Kind{Provider: lb.Provider, Operation: watcher.ChangingMembers}, took)
		}
	}
	return err
}

func (o *operations) wait(ctx context.Context, id string, of watcher.Kind) (watcher.Token, error) {
	o.waited = true
	timing := o.Drivers.Timing(of.Provider)
	pace := watcher.Every(map[watcher.Operation]driver.PollInterval{
		watcher.Creating: timing.Create, watcher.Updating: timing.Update, watcher.Deleting: timing.Delete, watcher.FailingOver: timing.Create,
	}[of.Operation])
	pace.Kind, pace.Pending = of, map[watcher.Operation]string{
		watcher.Creating: model.StatusPendingCreate, watcher.Updating: model.StatusPendingUpdate,
		watcher.Deleting: model.StatusPendingDelete, watcher.FailingOver: model.StatusPendingUpdate,
	}[of.Operation]
	return o.Watcher.Settled(ctx, id, pace)
}

// poll calls check until it is done or fails, with pauses in between. Pausing is true during a pause, so that the
// next call of poll goes on with it.
func poll(ctx context.Context, clk clock.WithDelayedExecution, pausing *bool, what string, pause time.Duration, check func() (done bool, err error)) error {
	for {
		if !*pausing {
			if done, err := check(); done || err != nil {
				return err
			}
			*pausing = true
		}
		if err := async.Sleep(ctx, clk, telemetry.Octavia, what, pause); err != nil {
			return err
		}
		*pausing = false
	}
}
