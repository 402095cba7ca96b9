package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// floatingIPs applies the steps for floating IPs and their port forwardings.
type floatingIPs struct {
	*cloud
	// lost is the error of a creation without an answer; nil for none.
	lost error
}

// apply applies a step for a floating IP. It does not wait for the load balancer, which no
// such step changes.
func (f *floatingIPs) apply(ctx context.Context, step plan.Step) error {
	var vip model.VIP
	if lb := f.observed.LoadBalancer; lb != nil {
		vip = lb.VIP
	}
	var err error
	switch s := step.(type) {
	case plan.CreateFloatingIP:
		return f.create(ctx, s, vip)
	case plan.AssociateFloatingIP:
		unattached := f.observed.UnattachedFloatingIPs
		i := s.Find(unattached)
		if i < 0 {
			return fmt.Errorf("associate floating IP %s: it is not there any more", s.Address)
		}
		err = putOn(ctx, f.Neutron, vip, unattached[i].ID, s.Revision, s.Describe)
	case plan.MoveFloatingIP:
		err = putOn(ctx, f.Neutron, vip, s.ID, s.Revision, s.Describe)
	case plan.DisassociateFloatingIP:
		_, err = f.Neutron.UpdateFloatingIP(ctx, s.ID, floatingips.UpdateOpts{PortID: new(string)})
	case plan.ClaimFloatingIP:
		_, err = f.Neutron.UpdateFloatingIP(ctx, s.ID, floatingips.UpdateOpts{Description: &s.Describe})
	case plan.DeleteFloatingIP:
		err = f.Neutron.DeleteFloatingIP(ctx, s.ID)
	}
	if err != nil {
		return err
	}
	plan.Advance(&f.observed, step)
	switch step.(type) {
	case plan.AssociateFloatingIP, plan.MoveFloatingIP:
		f.observed.LoadBalancer.FloatingIP.PortID = vip.PortID
	}
	return nil
}

// putOn attaches a floating IP to a VIP, also if it is attached to another.
func putOn(ctx context.Context, neutron Neutron, vip model.VIP, id string, revision *int, describe string) error {
	opts := floatingips.UpdateOpts{PortID: &vip.PortID, FixedIP: vip.FixedAddress(), RevisionNumber: revision}
	if describe != "" {
		opts.Description = &describe
	}
	_, err := neutron.UpdateFloatingIP(ctx, id, opts)
	return err
}

// create creates a floating IP. If the answer is lost, or the VIP already has one, it
// uses that one.
func (f *floatingIPs) create(ctx context.Context, s plan.CreateFloatingIP, vip model.VIP) error {
	if f.lost != nil {
		return f.adopt(ctx, f.lost)
	}
	if s.Beside {
		vip = model.VIP{}
	}
	fip, err := newFloatingIP(ctx, f.Neutron, s.FloatingIP, vip)
	switch {
	case err == nil:
	case !s.Beside && !apierror.IsExhausted(err) && (apierror.IsUnsure(err) || apierror.IsConflict(err)):
		return f.adopt(ctx, err)
	default:
		return err
	}
	plan.Advance(&f.observed, s)
	var made *model.FloatingIP
	if s.Beside {
		made = &f.observed.UnattachedFloatingIPs[len(f.observed.UnattachedFloatingIPs)-1]
	} else {
		made = f.observed.LoadBalancer.FloatingIP
	}
	made.ID, made.NetworkID, made.Address, made.PortID = fip.ID, fip.FloatingNetworkID, fip.FloatingIP, vip.PortID
	return nil
}

// newFloatingIP creates a floating IP in the first subnet with a free address. A requested address
// determines its subnet.
func newFloatingIP(ctx context.Context, neutron Neutron, want model.FloatingIP, vip model.VIP) (*floatingips.FloatingIP, error) {
	subnets := want.SubnetIDs
	if len(subnets) == 0 || want.Address != "" {
		subnets = []string{""}
	}
	var (
		fip *floatingips.FloatingIP
		err error
	)
	for _, subnet := range subnets {
		fip, err = neutron.CreateFloatingIP(ctx, floatingips.CreateOpts{
			FloatingNetworkID: want.NetworkID,
			SubnetID:          subnet,
			FloatingIP:        want.Address,
			Description:       want.Description,
			PortID:            vip.PortID,
			FixedIP:           vip.FixedAddress(),
		})
		if !apierror.IsExhausted(err) {
			return fip, err
		}
	}
	if len(subnets) > 1 {
		return nil, fmt.Errorf("none of the subnets %s has a free address: %w", strings.Join(subnets, ", "), err)
	}
	return nil, err
}

// adopt uses the floating IP that is attached to the VIP.
func (f *floatingIPs) adopt(ctx context.Context, cause error) error {
	if apierror.IsUnsure(cause) {
		f.lost = cause
		if err := async.Sleep(ctx, f.Clock, telemetry.OpenStack, "lost floating IP", f.Drivers.Timing("").LostCreateRetry); err != nil {
			return err
		}
		f.lost = nil
	}
	looked := model.Observed{LoadBalancer: f.observed.LoadBalancer}
	if err := f.Observer.FloatingIPs(ctx, f.id, &looked, observe.FloatingIPHints{}); err != nil {
		return fmt.Errorf("%w, and cannot look for what became of it: %w", cause, err)
	}
	if looked.LoadBalancer.FloatingIP == nil {
		return cause
	}
	return nil
}
