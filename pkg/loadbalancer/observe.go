package loadbalancer

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// observe reads what the cloud has for a Service.
func (r *Reconciler) observe(ctx context.Context, svc *v1.Service, id ownership.Identity, settings settings.Settings, h *holder) (*model.Observed, ownership.Identity, error) {
	observed, as, err := r.read(ctx, svc, id, settings.LoadBalancer.ID, r.observer.Contents, h)
	if err != nil {
		return nil, as, err
	}
	if !settings.FloatingIP() && observed.LoadBalancer == nil {
		return observed, as, nil
	}
	return observed, as, r.readFloatingIPs(ctx, svc, as, settings.On(observed.LoadBalancer), observed)
}

// unchanged asks whether the load balancer is still as it is remembered. Who asks
// at the same time shares a request.
func (r *Reconciler) unchanged(ctx context.Context, observed *model.Observed) (bool, error) {
	lb := observed.LoadBalancer
	interval := r.drivers.Timing(lb.Provider).Update
	token, err := r.watcher.Settled(ctx, lb.ID, watcher.Pace{First: 0, Step: interval.First, Cap: interval.Cap})
	if err != nil {
		return false, err
	}
	return !token.Gone && token.Status.Provisioning == octavia.StatusActive && token.UpdatedAt.Equal(lb.UpdatedAt), nil
}

// depth reads what is in a load balancer: all of it, or as much as it takes to delete
// it.
type depth func(context.Context, ownership.Identity, octavia.LoadBalancer) (*model.LoadBalancer, error)

// read finds the Service's load balancer and reads what is in it, once nothing works
// on it any more. It also gives who the Service is there.
func (r *Reconciler) read(ctx context.Context, svc *v1.Service, id ownership.Identity, lbID string, inside depth, h *holder) (*model.Observed, ownership.Identity, error) {
	found, err := r.observer.Find(ctx, id, r.hints(svc, lbID))
	if err != nil {
		return nil, id, err
	}
	all := found.LoadBalancers
	if len(all) == 0 {
		return &model.Observed{}, id, nil
	}
	waited, err := h.hold(ctx, &r.locks, all[0].ID)
	if err != nil {
		return nil, id, err
	}
	if waited { // a Service may have come to it, or gone, in the meantime
		again, err := r.octavia.LoadBalancer(ctx, all[0].ID)
		if apierror.IsNotFound(err) {
			return &model.Observed{}, id, nil
		}
		if err != nil {
			return nil, id, err
		}
		all[0] = *again
	}
	observed, err := r.contents(ctx, observe.Found{LoadBalancers: all[:1], As: found.As}, inside)
	if err != nil {
		return nil, id, err
	}
	rest := all[1:]
	if found.Replaces {
		if err := r.retiring(ctx, observe.Found{LoadBalancers: rest[:1], As: found.As}, inside, observed); err != nil {
			return nil, id, err
		}
		rest = rest[1:]
	}
	for _, lb := range rest {
		surplus, err := r.observer.Outline(ctx, id, lb, nil)
		if err != nil {
			return nil, id, err
		}
		found.Attach(surplus)
		observed.Surplus = append(observed.Surplus, *surplus)
	}
	if !found.As.Sharing.Is {
		r.store.SetLoadBalancerID(svc.UID, all[0].ID)
	}
	return observed, found.As, nil
}

// retiring reads the load balancer whose place another one takes. Where the other
// one is gone meanwhile, it stays.
func (r *Reconciler) retiring(ctx context.Context, found observe.Found, inside depth, observed *model.Observed) error {
	there, err := r.contents(ctx, found, inside)
	if err != nil {
		return err
	}
	if observed.LoadBalancer == nil {
		observed.LoadBalancer = there.LoadBalancer
	} else {
		observed.Retiring = there.LoadBalancer
	}
	return nil
}

// contents reads what is in a load balancer, once nothing works on it any more.
func (r *Reconciler) contents(ctx context.Context, found observe.Found, inside depth) (*model.Observed, error) {
	observed := &model.Observed{}
	chosen, err := r.settled(ctx, found.LoadBalancers[0])
	if err != nil || chosen == nil {
		return observed, err
	}
	observed.LoadBalancer, err = inside(ctx, found.As, *chosen)
	if err != nil {
		return nil, err
	}
	observed.LoadBalancer, err = r.settleChildren(ctx, observed.LoadBalancer)
	return observed, err
}

// settleChildren waits for children that are still being made below an ACTIVE load
// balancer. What is broken, or stays PENDING for ever, the plan brings back.
func (r *Reconciler) settleChildren(ctx context.Context, lb *model.LoadBalancer) (*model.LoadBalancer, error) {
	if !lb.Status.Sound() || !model.AnyPending(lb.Unsound()) {
		return lb, nil
	}
	settled, err := r.applier.Settle(ctx, lb)
	var broken *apply.ChildrenError
	var changed *apply.ChangedError
	if errors.As(err, &broken) || errors.As(err, &changed) { // what else changed meanwhile, updated_at tells
		return settled, nil
	}
	return settled, err
}

// settled waits until nothing works on a load balancer, and reads it again if it
// had to wait. It is nil when it has gone meanwhile.
func (r *Reconciler) settled(ctx context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	state := observe.Parts{LoadBalancer: lb}.Model(ownership.Identity{}).Status
	if !state.Pending() {
		return &lb, nil
	}
	timing := r.drivers.Timing(lb.Provider)
	interval := timing.Update
	if state.Provisioning == octavia.StatusPendingCreate {
		interval = timing.Create
	}
	token, err := r.watcher.Settled(ctx, lb.ID, watcher.Every(interval))
	if err != nil || token.Gone {
		return nil, err
	}
	again, err := r.octavia.LoadBalancer(ctx, lb.ID)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return again, err
}
