package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Get tells whether anything that was made for the Service is left. Upstream asks
// before it deletes, and never deletes once the answer is no; so it is yes until
// load balancer, floating IP and security groups are gone, and no load balancer can
// appear any more that was asked for without an answer.
//
// Upstream also asks when an Update failed, and gives up on a no. For a Service
// that wants a load balancer the answer then is yes, so that it is made anew.
//
// While something is being done for the Service, which may make a load balancer, the
// answer is yes, at once.
func (r *Reconciler) Get(ctx context.Context, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if r.actors.Busy(string(svc.UID)) {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	if r.deleted(svc) {
		return &v1.LoadBalancerStatus{}, false, nil
	}
	if r.store.Get(svc.UID).Applied != nil || !r.store.CreationUntil(svc).IsZero() {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	version, err := r.facts.Version(ctx)
	if err != nil {
		return nil, false, err
	}
	id := r.identity(svc, version)
	leaving := leavingSettings(svc)
	found, err := r.observer.Find(ctx, id, r.hints(svc, leaving.loadBalancerID))
	if notOurs(err) {
		found, err = r.observer.Find(ctx, id, r.hints(svc, "")) // its own one, whatever it names
	}
	if err != nil && !notOurs(err) {
		return nil, false, err
	}
	if len(found.LoadBalancers) > 0 && len(svc.Status.LoadBalancer.Ingress) > 0 {
		return svc.Status.LoadBalancer.DeepCopy(), true, nil
	}
	if all := found.LoadBalancers; len(all) > 0 {
		observed := &model.Observed{LoadBalancer: observe.Parts{LoadBalancer: all[0]}.Model(found.As)}
		if err := r.observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
			return nil, false, err
		}
		return status(observed, settings.Settings{Family: v1.IPv4Protocol}), true, nil
	}
	if wanted(svc) {
		return &v1.LoadBalancerStatus{}, true, nil
	}
	left, err := r.elsewhere(ctx, svc, id, nil, r.before(svc))
	if err != nil {
		return nil, false, err
	}
	observed := &model.Observed{}
	if err := r.floatingIPsOf(ctx, svc, id, leaving, observed); err != nil {
		return nil, false, err
	}
	if len(left) > 0 || !plan.Delete(*observed, leaving.options).Empty() {
		return &v1.LoadBalancerStatus{}, true, nil
	}
	exists, err := r.groups.Exists(ctx, id)
	if !exists && err == nil {
		r.store.Forget(svc) // upstream never asks for it again, and calls Delete only for those that had something
	}
	return &v1.LoadBalancerStatus{}, exists, err
}

// wanted tells whether the Service is to have a load balancer of ours.
func wanted(svc *v1.Service) bool {
	return svc.DeletionTimestamp == nil && svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
}

// Delete removes everything that was made for the Service, and returns when it is
// gone. Where the creation of its load balancer had no answer it waits until that can
// have none any more. Upstream does not heed what an error of this call asks for: it calls again
// after five seconds, then ten, and so on.
func (r *Reconciler) Delete(ctx context.Context, svc *v1.Service) error {
	_, err := r.call(ctx, request{operation: operationDelete, svc: svc})
	return err
}

// deleted reports whether a deletion that nobody waited for has ended well.
func (r *Reconciler) deleted(svc *v1.Service) bool {
	if wanted(svc) {
		return false
	}
	left, _, err, ok := r.actors.Left(string(svc.UID))
	return ok && left.operation == operationDelete && err == nil
}

func (r *Reconciler) delete(ctx context.Context, svc *v1.Service, progress func(left time.Duration)) error {
	before, known := r.before(svc), r.store.Get(svc.UID).Applied
	r.store.StartDeletion(svc.UID)
	for {
		if err := r.remove(ctx, svc, before, known, progress); err != nil {
			return refusal.Retry(err, r.expired(ctx))
		}
		appeared, err := r.await(ctx, svc)
		if err != nil {
			return refusal.Retry(err, r.expired(ctx))
		}
		if !appeared {
			r.store.Uncount(svc.UID)
			if !wanted(svc) {
				r.store.Forget(svc)
			}
			return nil
		}
	}
}

// outline gives how to read a load balancer that is to be deleted. One that goes as a
// whole need not be read but for what is somebody else's; known is what is remembered
// of it, if anything.
func (r *Reconciler) outline(known *state.Applied) depth {
	if !r.options.Config.LoadBalancer.CascadeDelete {
		return r.observer.Contents
	}
	var had *model.LoadBalancer
	if known != nil && known.Contents != nil {
		had = known.Contents.Outline()
	}
	return func(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (*model.LoadBalancer, error) {
		if id.Sharing.Is {
			return r.observer.Contents(ctx, id, lb)
		}
		return r.observer.Outline(ctx, id, lb, had)
	}
}

func (r *Reconciler) remove(ctx context.Context, svc *v1.Service, before []string, known *state.Applied, progress func(left time.Duration)) error {
	version, err := r.facts.Version(ctx)
	if err != nil {
		return err
	}
	id := r.identity(svc, version)
	leaving := leavingSettings(svc)
	var h holder
	defer h.letGo()
	observed, as, err := r.read(ctx, svc, id, leaving.loadBalancerID, r.outline(known), &h)
	if notOurs(err) { // its own one, whatever it names
		observed, as, err = r.read(ctx, svc, id, "", r.outline(known), &h)
	}
	if notOurs(err) {
		r.events.NotDeleted(svc, err)
		observed, as, err = &model.Observed{}, id, nil
	}
	if err != nil {
		return err
	}
	if err := r.floatingIPsOf(ctx, svc, as, leaving, observed); err != nil {
		return err
	}
	left, err := r.elsewhere(ctx, svc, id, observed.LoadBalancer, before)
	left = slices.DeleteFunc(left, func(f observe.Found) bool { return observed.Has(f.LoadBalancers[0].ID) })
	if err != nil {
		return err
	}
	r.noteKept(svc, leaving, observed)
	leaving.options.Cascade = r.options.Config.LoadBalancer.CascadeDelete
	if lb := observed.LoadBalancer; lb != nil {
		leaving.options.Driver = r.drivers.For(lb.Provider, version)
	}
	todo := plan.Delete(*observed, leaving.options)
	r.events.Planned(svc, todo)
	if _, err := r.applier.Run(ctx, apply.Request{ID: as, Observed: *observed, Plan: todo, Progress: progress}); err != nil {
		return err
	}
	if todo.DeletesLoadBalancer() {
		r.store.CreationFound(svc)
	}
	if err := r.leave(ctx, svc, left, leaving.options, &h, progress); err != nil {
		return err
	}
	if err := r.groups.Remove(ctx, id); err != nil {
		return err
	}
	r.store.MarkRemoved(svc.UID, leaving.options.KeepFloatingIP)
	return nil
}

func notOurs(err error) bool {
	var other *observe.NotOursError
	return errors.As(err, &other)
}

// leaving is what a Service that goes says of what it leaves behind.
type leaving struct {
	loadBalancerID string
	// asks tells that the Service asks for a certain floating IP, which was there
	// before.
	asks    bool
	options plan.Options
}

// leavingSettings reads it. A Service that says something wrong can be deleted all
// the same; a floating IP that it perhaps means to keep is kept.
func leavingSettings(svc *v1.Service) leaving {
	d := settings.ParseDeletion(svc)
	l := leaving{loadBalancerID: d.LoadBalancerID, asks: d.AsksFloatingIP}
	l.options.KeepFloatingIP = d.KeepFloatingIP
	return l
}
