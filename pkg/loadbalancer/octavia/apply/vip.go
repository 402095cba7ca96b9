package apply

import (
	"context"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// vips applies the steps for load balancers of provider router.
type vips struct {
	*cloud
	// lost is a creation without an answer; nil for none.
	lost *lostCreation
}

// apply applies a step. It returns the ID of a created port.
func (v *vips) apply(ctx context.Context, step plan.Step) (created string, err error) {
	switch s := step.(type) {
	case plan.CreateVIP:
		return v.create(ctx, s)
	case plan.LeadVIP:
		vip, err := vipAt(v.observed, s.Address)
		if err != nil {
			return "", err
		}
		if err := v.VIPs.Lead(ctx, vip, s.To); err != nil {
			return "", err
		}
	case plan.DeleteVIP:
		if err := v.VIPs.Delete(ctx, s.PortID); err != nil {
			return "", err
		}
	}
	plan.Advance(&v.observed, step)
	return "", nil
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

// create creates the port of a VIP. If the answer is lost, it looks for the result.
func (v *vips) create(ctx context.Context, s plan.CreateVIP) (created string, err error) {
	var made model.LoadBalancer
	if v.lost == nil {
		made, err = v.send(ctx, s)
		if apierror.IsUnsure(err) {
			v.lost = &lostCreation{cause: err}
		}
	}
	if v.lost != nil {
		var found bool
		found, err = v.lost.find(ctx, v.Applier, func(ctx context.Context) (bool, error) {
			ports, err := v.VIPs.Find(ctx, v.id)
			if len(ports) > 0 {
				made = ports[0]
			}
			return len(ports) > 0, err
		})
		if err == nil && !found {
			err = v.lost.cause
		}
	}
	if err != nil {
		return "", err
	}
	plan.Advance(&v.observed, s)
	v.observed.LoadBalancer, v.lost = &made, nil
	return made.ID, nil
}

// send creates the port with the preferred address, or with another one if that is in use.
func (v *vips) send(ctx context.Context, s plan.CreateVIP) (model.LoadBalancer, error) {
	if s.Prefer != "" {
		again := *s.LoadBalancer
		again.VIP.Address = s.Prefer
		made, err := v.VIPs.Create(ctx, v.id, again)
		if !apierror.IsConflict(err) {
			return made, err
		}
	}
	return v.VIPs.Create(ctx, v.id, *s.LoadBalancer)
}
