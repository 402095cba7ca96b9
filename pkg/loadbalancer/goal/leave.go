package goal

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// leaver removes Services from load balancers that they leave.
type leaver struct {
	config   *config.Config
	cloud    Cloud
	observer *observer
	events   *events.Recorder
}

// departures are the load balancers that a Service leaves: those that have served it, and those of
// aborted moves. The zero value is not found yet.
type departures struct {
	found           bool
	served, entered departure
}

// leaveOthers removes the Service from its previous load balancers. Left keeps the progress.
func (l *leaver) leaveOthers(ctx context.Context, in Inputs, r Round, left *departures, lock *async.Guard) error {
	if !left.found {
		if err := l.findOthers(ctx, in, r, left); err != nil {
			return err
		}
	}
	options := plan.Options{KeepFloatingIP: in.Settings.Floating.Keep}
	if err := l.leave(ctx, in, &left.served, options, lock); err != nil {
		return err
	}
	switch err := l.leave(ctx, in, &left.entered, options, lock); {
	case async.IsWaiting(err):
		return err
	case err != nil: // the Service is served; its next change tries this again
		klog.FromContext(ctx).Error(err, "Cannot remove the remains of a move that was taken back", "loadBalancer", left.entered.all[0].LoadBalancers[0].ID)
		return nil
	}
	if err := l.deleteUnattached(ctx, in, r.Have.LoadBalancer); err != nil {
		return err
	}
	l.observer.Memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.Entered = nil })
	return nil
}

// findOthers finds the load balancers that the Service leaves.
func (l *leaver) findOthers(ctx context.Context, in Inputs, r Round, left *departures) error {
	others, err := l.observer.elsewhere(ctx, in, r.Have.LoadBalancer)
	if err != nil {
		return err
	}
	for _, found := range others {
		id := found.LoadBalancers[0].ID
		switch {
		case r.Have.Has(id): // it is part of the plan
		case slices.Contains(in.Entered, id) && !slices.Contains(in.Previous, id):
			left.entered.all = append(left.entered.all, found)
		default:
			left.served.all = append(left.served.all, found)
		}
	}
	left.found = true
	return nil
}

// deleteUnattached deletes the floating IPs from the Service's own load balancer that another
// client has detached, once the Service is on a shared one, where it needs none.
func (l *leaver) deleteUnattached(ctx context.Context, in Inputs, lb *model.LoadBalancer) error {
	if lb.Shared == nil || settledOn(lb, in) || len(in.Previous)+len(in.Published.addresses()) == 0 {
		return nil
	}
	own := nothing(in.ID)
	// For a guest, cloud-provider-openstack may have published the owner's address: a published
	// address proves something only if an own load balancer of the Service is known.
	asked, _ := in.Settings.AskedFloatingIP()
	if err := l.observer.leavingFloatingIPs(ctx, in, own, asked.Asked() || len(in.Previous) == 0); err != nil {
		return err
	}
	run := l.removal(in, own.As, *own.Observed, plan.Options{KeepFloatingIP: in.Settings.Floating.Keep})
	_, err := l.cloud.Applier.Continue(ctx, run)
	return err
}

// settledOn reports whether a Service certainly has parts on no other load balancer: all that are
// known or recorded, or its published address, are this one's. Both are written after the Service
// has left the old one. Neither shows a move that was begun and aborted.
func settledOn(lb *model.LoadBalancer, in Inputs) bool {
	published := in.Published.addresses()
	switch {
	case slices.ContainsFunc(in.Entered, func(id string) bool { return lb == nil || id != lb.ID }):
		return false
	case lb == nil:
		return len(in.Previous) == 0 && len(published) == 0
	case len(in.Previous) > 0:
		return !slices.ContainsFunc(in.Previous, func(id string) bool { return id != lb.ID })
	case len(published) == 0:
		return lb.Shared == nil // it may have had its own before
	}
	return slices.ContainsFunc(published, lb.HasAddress)
}

// departure is the progress of leaver.leave between two calls.
type departure struct {
	// all are the load balancers to leave. For the first, at reads the contents, and run removes
	// them.
	all []observe.Found
	at  reading.Progress
	run *apply.Run
}

// leave removes all parts of a Service from other load balancers, one after the other, and deletes
// those that it owns.
func (l *leaver) leave(ctx context.Context, in Inputs, d *departure, options plan.Options, lock *async.Guard) error {
	options.Cascade = l.config.LoadBalancer.CascadeDelete
	for len(d.all) > 0 {
		if d.run == nil {
			if err := l.startLeaving(ctx, in, d, options, lock); err != nil {
				return err
			}
		}
		if _, err := l.cloud.Applier.Continue(ctx, d.run); err != nil {
			return err
		}
		*d = departure{all: d.all[1:]}
	}
	return nil
}

// startLeaving reads the first load balancer of a departure, and plans the removal.
func (l *leaver) startLeaving(ctx context.Context, in Inputs, d *departure, options plan.Options, lock *async.Guard) error {
	found := d.all[0]
	if _, err := lock.Acquire(ctx, l.cloud.Locks, found.LoadBalancers[0].ID); err != nil {
		return err
	}
	observed, err := l.cloud.Contents(ctx, found, leaving(l.config, nil), &d.at)
	if err != nil {
		return err
	}
	if observed.LoadBalancer == nil {
		return fmt.Errorf("previous load balancer %s disappeared, retrying", found.LoadBalancers[0].ID)
	}
	if err := l.cloud.Observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
		return err
	}
	observed.UnattachedFloatingIPs = nil // those belong to the current load balancer
	d.run = l.removal(in, found.As, *observed, options)
	return nil
}

// removal returns the Run that deletes all observed parts of a Service.
func (l *leaver) removal(in Inputs, as ownership.Identity, observed model.Observed, options plan.Options) *apply.Run {
	todo := floatingIPsFirst(plan.Delete(observed, options))
	if !todo.Empty() {
		l.events.Planned(in.Object(), todo)
	}
	return apply.NewRun(apply.Request{ID: as, Observed: observed, Plan: todo})
}

// floatingIPsFirst moves deletions of floating IPs before those of their load balancers: after the
// load balancer is gone, the floating IP of a Service that needs none is not found again.
func floatingIPsFirst(p plan.Plan) plan.Plan {
	var first, others []plan.Step
	for _, step := range p.Steps {
		if _, is := step.(plan.DeleteFloatingIP); is {
			first = append(first, step)
		} else {
			others = append(others, step)
		}
	}
	p.Steps = append(first, others...)
	return p
}
