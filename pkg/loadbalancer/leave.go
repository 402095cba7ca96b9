package loadbalancer

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// before names the load balancers that a Service is known to have had: what this
// process remembers, and what the last one wrote down.
func (r *Reconciler) before(svc *v1.Service) []string {
	var ids []string
	if known := r.store.Get(svc.UID).Applied; known != nil {
		ids = append(ids, known.LoadBalancer.ID)
	}
	if written, ok := writtenFor(svc); ok {
		ids = append(ids, written.LoadBalancerID)
	}
	return ids
}

// writtenFor gives what was written down of a Service; false where that is nothing, or
// a copy of another Service's.
func writtenFor(svc *v1.Service) (state.Fingerprint, bool) {
	written, ok := state.ParseFingerprint(svc.Annotations[annotation.Fingerprint])
	return written, ok && written.Service == svc.UID
}

// settledOn tells whether a Service surely has nothing on any load balancer but this
// one: what is remembered or written down of it, or its published address, is there.
// Both come after the old one has been left.
func settledOn(lb *model.LoadBalancer, svc *v1.Service, before []string) bool {
	if lb == nil {
		return len(before) == 0 && len(publishedAddresses(svc)) == 0
	}
	if len(before) > 0 {
		return !slices.ContainsFunc(before, func(id string) bool { return id != lb.ID })
	}
	published := publishedAddresses(svc)
	if len(published) == 0 {
		return lb.Shared == nil // it may have had its own before it came to this one
	}
	return slices.Contains(published, lb.VIP.Address) || lb.FloatingIP != nil && slices.Contains(published, lb.FloatingIP.Address)
}

// elsewhere looks for what a Service has left behind on load balancers other than
// the one that it is on now, which may be nil.
func (r *Reconciler) elsewhere(ctx context.Context, svc *v1.Service, id ownership.Identity, lb *model.LoadBalancer, before []string) ([]observe.Found, error) {
	if settledOn(lb, svc, before) {
		return nil, nil
	}
	except := ""
	if lb != nil {
		except = lb.ID
	}
	hints := r.hints(svc, "")
	hints.Before = before
	return r.observer.Elsewhere(ctx, id, hints, except)
}

// leave takes everything of a Service off the load balancers where it has been
// before, and deletes those that were its own.
func (r *Reconciler) leave(ctx context.Context, svc *v1.Service, all []observe.Found, opts plan.Options, h *holder, progress func(left time.Duration)) error {
	opts.Cascade = r.options.Config.LoadBalancer.CascadeDelete
	for _, found := range all {
		if _, err := h.hold(ctx, &r.locks, found.LoadBalancers[0].ID); err != nil {
			return err
		}
		observed, err := r.contents(ctx, found, r.outline(nil))
		if err != nil {
			return err
		}
		if observed.LoadBalancer == nil {
			continue
		}
		if err := r.observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
			return err
		}
		observed.Spare = nil // those belong to where the Service is now
		todo := plan.Delete(*observed, opts)
		r.events.Planned(svc, todo)
		if _, err := r.applier.Run(ctx, apply.Request{ID: found.As, Observed: *observed, Plan: todo, Progress: progress}); err != nil {
			return err
		}
	}
	return nil
}
