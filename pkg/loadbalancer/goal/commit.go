package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// remember stores the current state, so that nothing must be read until a change. Reported are the
// steps that were only reported.
func (e *Engine) remember(in Inputs, r Round, address, named string, reported map[string]bool) {
	svc, lb := in.Service, r.Have.LoadBalancer
	now := e.Clock.Now()
	read := now
	if r.Have.Source == model.Lists {
		read = r.Have.ListedAt
	}
	applied := &state.Applied{
		Service:  in.Owner.Key(),
		Identity: r.Have.As,
		Digests:  state.Digests{Full: e.digest(in, r.Want), Nodeless: nodeless(r.Want, lb, in.Settings)},
		Address:  address,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIP.PortID, Named: named,
			Shared: lb.Shared, Adopted: lb.Adopted, Unmonitored: lb.Unmonitored(), AllNodes: r.Want.Followed.Forbidden, Duplicates: idsOf(r.Have.Duplicates),
		},
		Contents:  lb,
		Knowledge: model.Knowledge{Depth: r.Have.Depth, Confirmed: !r.Wrote && read.Sub(lb.UpdatedAt) > state.AtRest},
		Seen: state.Seen{
			UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Status.Operating, Since: now,
			ChangedByOthers: r.Have.Contended,
		},
		Persisted: state.Persisted{Address: addressWritten(svc, lb.ID, address)},
		Reported:  reported,
	}
	if lb.FloatingIP != nil {
		applied.LoadBalancer.FloatingIPID = lb.FloatingIP.ID
	}
	if applied.Depth == model.Settings {
		applied.Digests.Nodeless = "" // it does not cover members that are out of service
	}
	e.Store.SetApplied(svc.UID, applied)
	e.Store.RebaseOthers(svc.UID, r.Before, r.Have.LoadBalancer, now)
}

// addressWritten reports whether the annotations of a Service have ID and address of its load
// balancer, and its own UID.
func addressWritten(svc *v1.Service, loadBalancerID, address string) bool {
	all := svc.Annotations
	return all[annotation.LoadBalancerID] == loadBalancerID && all[annotation.LoadBalancerAddress] == address &&
		all[annotation.WrittenFor] == annotation.WrittenForText(loadBalancerID, svc.UID)
}

// digest returns the hash of the desired state, computed once for each Desired.
func (e *Engine) digest(in Inputs, want *Desired) string {
	if want.digest != "" {
		return want.digest
	}
	want.digest = digest.Of(want.LoadBalancer, in.Settings, e.spec(in, want, want.Facts.Driver.Quirks.PreservesClientIP))
	return want.digest
}

// nodeless returns the hash of the desired state without nodes; "" if it does not cover the
// existing parts.
func nodeless(want *Desired, have *model.LoadBalancer, settings *settings.Settings) string {
	if !digest.Covers(want.LoadBalancer, have, settings) {
		return ""
	}
	return digest.Nodeless(want.LoadBalancer, settings)
}

func idsOf(all []model.LoadBalancer) []string {
	var ids []string
	for _, lb := range all {
		ids = append(ids, lb.ID)
	}
	return ids
}

// leaveOthers removes the Service from its previous load balancers.
func (a *Asked) leaveOthers(ctx context.Context, r Round, lock *async.Guard) error {
	if a.left == nil {
		left, err := a.departures(ctx, r)
		if err != nil {
			return err
		}
		a.left = left
	}
	options := plan.Options{KeepFloatingIP: a.in.Settings.Floating.Keep}
	if err := a.e.leave(ctx, a.in, &a.left.served, options, lock); err != nil {
		return err
	}
	switch err := a.e.leave(ctx, a.in, &a.left.entered, options, lock); {
	case async.IsWaiting(err):
		return err
	case err != nil: // the Service is served; its next change tries this again
		klog.FromContext(ctx).Error(err, "Cannot remove the remains of a move that was taken back", "loadBalancer", a.left.entered.all[0].LoadBalancers[0].ID)
		return nil
	}
	if err := a.deleteUnattached(ctx, r.Have.LoadBalancer); err != nil {
		return err
	}
	a.e.Store.LeaveOthers(a.in.Owner.UID)
	return nil
}

// deleteUnattached deletes the floating IPs from the Service's own load balancer that another
// client has detached, once the Service is on a shared one, where it needs none.
func (a *Asked) deleteUnattached(ctx context.Context, lb *model.LoadBalancer) error {
	if lb.Shared == nil || settledOn(lb, a.in) || len(a.in.Previous)+len(publishedAddresses(a.in.Service)) == 0 {
		return nil
	}
	own := nothing(a.in.ID)
	// For a guest, cloud-provider-openstack may have published the owner's address: a published
	// address proves something only if an own load balancer of the Service is known.
	asked, _ := a.in.Settings.AskedFloatingIP()
	if err := a.e.leavingFloatingIPs(ctx, a.in.Service, own, asked.Asked() || len(a.in.Previous) == 0); err != nil {
		return err
	}
	run := a.e.removal(a.in, own.As, *own.Observed, plan.Options{KeepFloatingIP: a.in.Settings.Floating.Keep})
	_, err := a.e.Cloud.Applier.Continue(ctx, run)
	return err
}

// departures are the load balancers that a Service leaves: those that have served it, and those of
// aborted moves.
type departures struct{ served, entered departure }

func (a *Asked) departures(ctx context.Context, r Round) (*departures, error) {
	left, err := a.e.elsewhere(ctx, a.in, r.Have.LoadBalancer)
	if err != nil {
		return nil, err
	}
	var all departures
	for _, found := range left {
		id := found.LoadBalancers[0].ID
		switch {
		case r.Have.Has(id): // it is part of the plan
		case slices.Contains(a.in.Entered, id) && !slices.Contains(a.in.Previous, id):
			all.entered.all = append(all.entered.all, found)
		default:
			all.served.all = append(all.served.all, found)
		}
	}
	return &all, nil
}

// settledOn reports whether a Service certainly has parts on no other load balancer: all that are
// known or recorded, or its published address, are this one's. Both are written after the Service
// has left the old one. Neither shows a move that was begun and aborted.
func settledOn(lb *model.LoadBalancer, in Inputs) bool {
	published := publishedAddresses(in.Service)
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
	return slices.Contains(published, lb.VIP.Address) || lb.FloatingIP != nil && slices.Contains(published, lb.FloatingIP.Address)
}

// elsewhere finds remains of a Service on load balancers other than its current one, which may be
// nil.
func (e *Engine) elsewhere(ctx context.Context, in Inputs, lb *model.LoadBalancer) ([]observe.Found, error) {
	if settledOn(lb, in) {
		return nil, nil
	}
	except := ""
	if lb != nil {
		except = lb.ID
	}
	hints := e.hints(in.Service, "")
	hints.Before = slices.Concat(in.Previous, in.Entered)
	return e.Cloud.Observer.Elsewhere(ctx, in.ID, hints, except)
}

// departure is the progress of Engine.leave between two calls.
type departure struct {
	// all are the load balancers to leave. For the first, at reads the contents, and run removes
	// them.
	all []observe.Found
	at  reading.Progress
	run *apply.Run
}

// leave removes all parts of a Service from other load balancers, one after the other, and deletes
// those that it owns.
func (e *Engine) leave(ctx context.Context, in Inputs, d *departure, options plan.Options, lock *async.Guard) error {
	options.Cascade = e.Config.LoadBalancer.CascadeDelete
	for len(d.all) > 0 {
		if d.run == nil {
			if err := e.startLeaving(ctx, in, d, options, lock); err != nil {
				return err
			}
		}
		if _, err := e.Cloud.Applier.Continue(ctx, d.run); err != nil {
			return err
		}
		*d = departure{all: d.all[1:]}
	}
	return nil
}

// startLeaving reads the first load balancer of a departure, and plans the removal.
func (e *Engine) startLeaving(ctx context.Context, in Inputs, d *departure, options plan.Options, lock *async.Guard) error {
	found := d.all[0]
	if _, err := lock.Acquire(ctx, e.Cloud.Locks, found.LoadBalancers[0].ID); err != nil {
		return err
	}
	observed, err := e.Cloud.Contents(ctx, found, e.leaving(nil), &d.at)
	if err != nil {
		return err
	}
	if observed.LoadBalancer == nil {
		return fmt.Errorf("previous load balancer %s disappeared, retrying", found.LoadBalancers[0].ID)
	}
	if err := e.Cloud.Observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
		return err
	}
	observed.UnattachedFloatingIPs = nil // those belong to the current load balancer
	d.run = e.removal(in, found.As, *observed, options)
	return nil
}

// removal returns the Run that deletes all observed parts of a Service.
func (e *Engine) removal(in Inputs, as ownership.Identity, observed model.Observed, options plan.Options) *apply.Run {
	todo := floatingIPsFirst(plan.Delete(observed, options))
	if !todo.Empty() {
		e.Events.Planned(in.Service, todo)
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
