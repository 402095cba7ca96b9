package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// nameIt is the remedy for a load balancer without proof of ownership.
const nameIt = "if it is, name it in the annotation loadbalancer.openstack.org/load-balancer-id; if it is another cluster's, delete the Service and create it anew"

// adopt finds the load balancer that cloud-provider-openstack created for a Service by an address.
// It has no UID, and other clusters may use its name. What an address proves:
//
//	published                                              the load balancer is
//	a floating IP on it (unique in a project)              the Service's
//	its VIP, in the place of the cluster's load balancers, the Service's
//	and no other one of the name has that address there
//	its VIP anywhere else, or it is one of several         perhaps another cluster's: refused
//	an address within a host name                          perhaps another cluster's: refused
//
// It refuses nothing if the Service names or has recorded another load balancer.
func (s search) adopt(ctx context.Context) (Found, error) {
	for _, address := range s.hints.Addresses {
		mine, floating, err := s.unclaimedAt(ctx, address)
		if err != nil {
			return Found{}, err
		}
		all := mine
		if !floating {
			if mine, err = s.hints.inPlace(ctx, mine); err != nil {
				return Found{}, err
			}
		}
		switch {
		case len(mine) == 1:
			return Found{LoadBalancers: mine, As: adopted(s.id, mine[0])}, nil
		case len(all) > 0 && !s.hints.wasAnother(all):
			return Found{As: s.id}, doubt(ctx, all, "its private address "+address+" does not prove it")
		}
	}
	for _, address := range s.hints.NamedAddresses {
		mine, _, err := s.unclaimedAt(ctx, address)
		if err != nil {
			return Found{}, err
		}
		if len(mine) > 0 && !s.hints.wasAnother(mine) {
			return Found{As: s.id}, doubt(ctx, mine, "the Service has published a host name, which proves nothing")
		}
	}
	return Found{As: s.id}, nil
}

// doubt returns the error for load balancers without a known owner. It logs their IDs for the
// operator, because they may be another cluster's.
func doubt(ctx context.Context, all []octavia.LoadBalancer, why string) error {
	var ids []string
	for _, lb := range all {
		ids = append(ids, lb.ID)
	}
	klog.FromContext(ctx).Info("The owner of the load balancer is not proven", "loadBalancers", ids, "name", all[0].Name, "why", why)
	if len(all) > 1 {
		why += fmt.Sprintf(", as %d load balancers of the name have it", len(all))
	}
	return &NotOursError{Why: why + "; " + nameIt}
}

// wasAnother reports whether the Service names or has recorded a load balancer other than these.
func (h Hints) wasAnother(all []octavia.LoadBalancer) bool {
	return slices.ContainsFunc([]string{h.LoadBalancerID, h.Written}, func(id string) bool { return id != "" && !holds(all, id) })
}

// inPlace returns those with a VIP in the place of the cluster's load balancers.
func (h Hints) inPlace(ctx context.Context, all []octavia.LoadBalancer) ([]octavia.LoadBalancer, error) {
	if len(all) == 0 || h.Place == nil {
		return nil, nil
	}
	place, err := h.Place(ctx)
	if err != nil {
		return nil, fmt.Errorf("find out where load balancers of this cluster can be: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(lb octavia.LoadBalancer) bool { return !place.Has(lb.VIPSubnetID, lb.VIPNetworkID) }), nil
}

// unclaimedAt lists the load balancers at an address that have no UID and a name of the Service's,
// and reports whether the address is a floating IP.
func (s search) unclaimedAt(ctx context.Context, address string) ([]octavia.LoadBalancer, bool, error) {
	at, floating, err := s.at(ctx, address)
	return slices.DeleteFunc(at, func(lb octavia.LoadBalancer) bool { return !adoptable(s.id, lb) }), floating, err
}

// at lists the load balancers at an address: behind the floating IP, or with such a VIP.
func (s search) at(ctx context.Context, address string) (found []octavia.LoadBalancer, floating bool, err error) {
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is4() {
		fips, err := s.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{Address: address})
		if err != nil {
			return nil, false, err
		}
		for _, fip := range fips {
			if fip.PortID != "" {
				found, err := s.Octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{VIPPortID: fip.PortID})
				return found, true, err
			}
		}
	}
	found, err = s.Octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{VIPAddress: address})
	return found, false, err
}

// hasAddress reports whether a published address is a floating IP on a load balancer, or its VIP in
// the place of the cluster's load balancers.
func (s search) hasAddress(ctx context.Context, lb octavia.LoadBalancer) (bool, error) {
	if len(s.hints.Addresses) == 0 {
		return false, nil
	}
	if slices.ContainsFunc(vips(lb), func(address string) bool { return slices.Contains(s.hints.Addresses, address) }) {
		here, err := s.hints.inPlace(ctx, []octavia.LoadBalancer{lb})
		if err != nil || len(here) > 0 {
			return err == nil, err
		}
	}
	fips, err := s.floatingIPsOn(ctx, lb.VIPPortID)
	if err != nil {
		return false, err
	}
	for _, fip := range fips {
		if slices.Contains(s.hints.Addresses, fip.FloatingIP) {
			return true, nil
		}
	}
	return false, nil
}

// others returns the addresses that are not the VIP of a load balancer of the Service's own.
func others(addresses []string, own []octavia.LoadBalancer) []string {
	return slices.DeleteFunc(slices.Clone(addresses), func(address string) bool {
		return slices.ContainsFunc(own, func(lb octavia.LoadBalancer) bool { return slices.Contains(vips(lb), address) })
	})
}

// vips returns the addresses of the VIPs of a load balancer.
func vips(lb octavia.LoadBalancer) []string {
	return model.VIP{Address: lb.VIPAddress, Additional: AdditionalVIPs(lb.AdditionalVIPs)}.Addresses()
}
