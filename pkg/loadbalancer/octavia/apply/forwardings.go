package apply

import (
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// forward applies a step for the port forwardings of a floating IP. After an error, it must be planned anew:
// some of them may be there.
func (f *floatingIPs) forward(ctx context.Context, s plan.SetForwardings) error {
	if s.Creates {
		made := f.observed.UnattachedFloatingIPs
		if len(made) == 0 {
			return errors.New("forward ports of the floating IP that was created last: it is not there any more")
		}
		s.FloatingIP = made[len(made)-1]
	}
	if s.Describe != "" {
		if _, err := f.Neutron.UpdateFloatingIP(ctx, s.FloatingIP.ID, floatingips.UpdateOpts{Description: &s.Describe}); err != nil {
			return err
		}
	}
	has, err := f.Forwardings.Set(ctx, f.id, s.FloatingIP.ID, s.From, s.To)
	if err != nil {
		return err
	}
	s.To, s.Creates = has, false
	plan.Advance(&f.observed, s)
	return nil
}
