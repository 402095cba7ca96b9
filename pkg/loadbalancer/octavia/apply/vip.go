package apply

import (
	"context"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// vip applies a step for a load balancer of provider router.
func (r *Run) vip(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.CreateVIP:
		return r.createVIP(ctx, s)
	case plan.LeadVIP:
		vip, err := vipAt(r.observed, s.Address)
		if err != nil {
			return err
		}
		if err := r.VIPs.Lead(ctx, vip, s.To); err != nil {
			return err
		}
	case plan.DeleteVIP:
		if err := r.VIPs.Delete(ctx, s.PortID); err != nil {
			return err
		}
	}
	plan.Advance(&r.observed, step)
	return nil
}

// vipAt returns the VIP with an address, "" for that of the load balancer.
func vipAt(observed model.Observed, address string) (model.VIP, error) {
	lb := observed.LoadBalancer
	if lb != nil && (address == "" || lb.VIP.Address == address) {
		return lb.VIP, nil
	}
	for _, other := range observed.Duplicates {
		if other.VIP.Address == address {
			return other.VIP, nil
		}
	}
	return model.VIP{}, fmt.Errorf("routes to VIP %s: it is not there any more", address)
}

// createVIP creates the port of a VIP.
func (r *Run) createVIP(ctx context.Context, s plan.CreateVIP) error {
	if r.current.lost == nil {
		made, err := r.newVIP(ctx, s)
		if err == nil {
			r.hasVIP(s, made)
			return nil
		}
		if !apierror.IsUnsure(err) {
			return err
		}
		r.current.lost = &lostCreation{cause: err}
	}
	var found []model.LoadBalancer
	err := r.findLost(ctx, func(ctx context.Context) (is bool, err error) {
		found, err = r.VIPs.Find(ctx, r.id)
		return len(found) > 0, err
	})
	if err == nil {
		r.hasVIP(s, found[0])
	}
	return err
}

// newVIP creates the port with the preferred address, or with another one if that is in use.
func (r *Run) newVIP(ctx context.Context, s plan.CreateVIP) (model.LoadBalancer, error) {
	if s.Prefer != "" {
		again := *s.LoadBalancer
		again.VIP.Address = s.Prefer
		made, err := r.VIPs.Create(ctx, r.id, again)
		if !apierror.IsConflict(err) {
			return made, err
		}
	}
	return r.VIPs.Create(ctx, r.id, *s.LoadBalancer)
}

// hasVIP records the port of a VIP.
func (r *Run) hasVIP(s plan.CreateVIP, made model.LoadBalancer) {
	plan.Advance(&r.observed, s)
	r.observed.LoadBalancer = &made
	r.answer.created = made.ID
}
