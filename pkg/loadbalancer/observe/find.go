package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/identity"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// NotOursError tells that a load balancer which the Service names can be neither its
// own nor one that it shares. It is left alone.
type NotOursError struct {
	ID, Name, Why string
}

// Error implements error.
func (e *NotOursError) Error() string {
	return fmt.Sprintf("load balancer %s is not this Service's: %s", e.ID, e.Why)
}

// Hints are what the Service says of its load balancer.
type Hints struct {
	// LoadBalancerID is the annotation of that name.
	LoadBalancerID string
	// Addresses are the published ones.
	Addresses []string
	// Remembered is the load balancer that this process has made for the Service, or
	// has found to be its own.
	Remembered string
	// Written is the one that was written down in the Service. Whoever may write the
	// Service may write that too: it says where to look, and proves nothing.
	Written string
	// Before are load balancers that the Service may have been on.
	Before []string
}

// Found are the load balancers of a Service.
type Found struct {
	// LoadBalancers are its own, or the one that it shares. The first is the one that
	// serves it, or is to; see ownership.Choose.
	LoadBalancers []openstack.LoadBalancer
	// Replaces tells that the first is to take the place of the second.
	Replaces bool
	// As is who the Service is there: their contents are read with it.
	As identity.Identity
	// floatingIPs are those on each, where there are several.
	floatingIPs map[string][]floatingips.FloatingIP
}

// Find looks for the load balancers of a Service. What proves that one is its own:
//
//	its tags hold our Service's UID, and no other cluster's           found by one list request
//	the Service's annotation names it, and its name is the Service's  adopted from cloud-provider-openstack
//	its address is published in the Service's status, and its name    adopted from cloud-provider-openstack;
//	is the Service's, be it under another --cluster-name              two list requests
//
// Anything else is somebody else's, whatever its name: another cluster of the same
// name has load balancers of the same names. When the Service's annotation names such
// a one, the Service shares it: Found.As says so.
func (o *Observer) Find(ctx context.Context, id identity.Identity, hints Hints) (Found, error) {
	found, err := o.find(ctx, id, hints)
	if err != nil || len(found.LoadBalancers) < 2 {
		return found, err
	}
	return o.choose(ctx, found, hints)
}

// find is Find without a choice among several.
func (o *Observer) find(ctx context.Context, id identity.Identity, hints Hints) (Found, error) {
	ours, err := o.ours(ctx, id, hints)
	if err != nil {
		return Found{}, err
	}
	if hints.LoadBalancerID != "" && !holds(ours, hints.LoadBalancerID) {
		named, err := o.named(ctx, id, hints.LoadBalancerID, hints.Addresses)
		if len(named.LoadBalancers) > 0 && !named.As.Sharing.Is {
			named.LoadBalancers = append(named.LoadBalancers, replacing(ours, hints.LoadBalancerID)...)
		}
		if len(named.LoadBalancers) > 0 || err != nil {
			return named, err
		}
	}
	if len(ours) > 0 {
		return o.withReplaced(ctx, id, ours)
	}
	for _, address := range hints.Addresses {
		at, err := o.at(ctx, address)
		if err != nil {
			return Found{}, err
		}
		for _, lb := range at {
			if as, own := adoptable(id, lb); own {
				return Found{LoadBalancers: []openstack.LoadBalancer{lb}, As: as}, nil
			}
		}
	}
	return Found{As: id}, nil
}

func holds(all []openstack.LoadBalancer, id string) bool {
	return slices.ContainsFunc(all, func(lb openstack.LoadBalancer) bool { return lb.ID == id })
}

// replacing gives those that were made to take the place of one.
func replacing(all []openstack.LoadBalancer, id string) []openstack.LoadBalancer {
	return slices.DeleteFunc(slices.Clone(all), func(lb openstack.LoadBalancer) bool {
		replaced, _ := identity.Replaces(lb.Tags)
		return replaced != id
	})
}

// withReplaced adds the load balancers whose place one of ours was made to take, as
// long as they are there: one that cloud-provider-openstack made is not found by our
// tags. Ours says that it was the Service's.
func (o *Observer) withReplaced(ctx context.Context, id identity.Identity, ours []openstack.LoadBalancer) (Found, error) {
	found := Found{LoadBalancers: ours, As: id}
	for _, lb := range ours {
		replaced, _ := identity.Replaces(lb.Tags)
		if replaced == "" || holds(found.LoadBalancers, replaced) {
			continue
		}
		old, err := o.Octavia.LoadBalancer(ctx, replaced)
		if openstack.IsNotFound(err) {
			continue
		}
		if err != nil {
			return Found{}, err
		}
		if id.Claim(old.Tags, old.Description) == identity.Theirs {
			continue
		}
		if !slices.Contains(id.Names(), old.Name) {
			found.As.Former = old.Name
		}
		found.LoadBalancers = append(found.LoadBalancers, *old)
	}
	return found, nil
}

// adoptable tells whether a load balancer without a UID, at the Service's own
// address, has a name of the Service's.
func adoptable(id identity.Identity, lb openstack.LoadBalancer) (identity.Identity, bool) {
	if id.Claim(lb.Tags, lb.Description) != identity.Unclaimed {
		return id, false
	}
	if id.FormerlyOurs(lb.Name) {
		id.Former = lb.Name
	}
	return id, slices.Contains(id.Names(), lb.Name)
}

// named reads the load balancer that the Service's annotation names. One that is
// gone is no error: the Service gets another.
func (o *Observer) named(ctx context.Context, id identity.Identity, lbID string, addresses []string) (Found, error) {
	lb, err := o.Octavia.LoadBalancer(ctx, lbID)
	switch {
	case openstack.IsNotFound(err):
		return Found{As: id}, nil
	case err != nil:
		return Found{}, err
	}
	as, err := o.relate(ctx, id, *lb, addresses)
	if err != nil {
		return Found{}, err
	}
	return Found{LoadBalancers: []openstack.LoadBalancer{*lb}, As: as}, nil
}

// relate says who the Service is on a load balancer that it names.
//
//	UID       name                             the load balancer is
//	ours      any                              its own
//	another's any                              shared
//	none      the Service's                    its own
//	none      the Service's, another cluster   its own if its address is published by the Service, else refused
//	none      any other                        shared
func (o *Observer) relate(ctx context.Context, id identity.Identity, lb openstack.LoadBalancer, addresses []string) (identity.Identity, error) {
	claim := id.Claim(lb.Tags, lb.Description)
	if claim == identity.Ours || claim == identity.Unclaimed && slices.Contains(id.Names(), lb.Name) {
		return id, nil
	}
	served, err := o.hasAddress(ctx, lb, addresses)
	if err != nil {
		return id, err
	}
	switch {
	case claim == identity.Unclaimed && id.FormerlyOurs(lb.Name) && served:
		id.Former = lb.Name
		return id, nil
	case claim == identity.Unclaimed && id.FormerlyOurs(lb.Name):
		return id, &NotOursError{lb.ID, lb.Name, "it was created for a Service of the same name in a cluster of another name"}
	case id.Untagged:
		return id, &NotOursError{lb.ID, lb.Name, "it was not created for it, and can be shared only where load balancers have tags (Octavia 4.0)"}
	}
	owner := identity.OwnerOf(lb.Name, lb.Description, lb.Tags)
	id.Sharing = identity.Sharing{Is: true, Served: served, Owner: owner, Removable: id.InThisCluster(owner)}
	return id, nil
}

// Claimed lists the load balancers that carry our identity.
func (o *Observer) Claimed(ctx context.Context, id identity.Identity) ([]openstack.LoadBalancer, error) {
	filter := openstack.LoadBalancerFilter{Tags: []string{id.ServiceTag()}}
	if id.Untagged {
		filter = openstack.LoadBalancerFilter{Description: id.Description()}
	}
	found, err := o.Octavia.LoadBalancers(ctx, filter)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(lb openstack.LoadBalancer) bool { return id.Claim(lb.Tags, lb.Description) != identity.Ours }), nil
}

// ours lists the load balancers that carry our identity. The list may come from a
// replica that lags behind: the one that is remembered is asked for by its ID.
func (o *Observer) ours(ctx context.Context, id identity.Identity, hints Hints) ([]openstack.LoadBalancer, error) {
	ours, err := o.Claimed(ctx, id)
	if err != nil || hints.Remembered == "" || hints.Remembered == hints.LoadBalancerID || holds(ours, hints.Remembered) {
		return ours, err
	}
	lb, err := o.Octavia.LoadBalancer(ctx, hints.Remembered)
	switch {
	case openstack.IsNotFound(err):
		return ours, nil
	case err != nil:
		return nil, err
	case id.Claim(lb.Tags, lb.Description) != identity.Ours:
		return ours, nil
	}
	return append(ours, *lb), nil
}

// at lists the load balancers at an address: behind the floating IP that has it, or
// with such a VIP.
func (o *Observer) at(ctx context.Context, address string) ([]openstack.LoadBalancer, error) {
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is4() {
		fips, err := o.Neutron.FloatingIPs(ctx, openstack.FloatingIPFilter{Address: address})
		if err != nil {
			return nil, err
		}
		for _, fip := range fips {
			if fip.PortID != "" {
				return o.Octavia.LoadBalancers(ctx, openstack.LoadBalancerFilter{VIPPortID: fip.PortID})
			}
		}
	}
	return o.Octavia.LoadBalancers(ctx, openstack.LoadBalancerFilter{VIPAddress: address})
}

// hasAddress tells whether one of the addresses is the VIP of a load balancer or a
// floating IP on it.
func (o *Observer) hasAddress(ctx context.Context, lb openstack.LoadBalancer, addresses []string) (bool, error) {
	if len(addresses) == 0 || slices.Contains(addresses, lb.VipAddress) {
		return len(addresses) > 0, nil
	}
	fips, err := o.Neutron.FloatingIPs(ctx, openstack.FloatingIPFilter{PortID: lb.VipPortID})
	if err != nil {
		return false, err
	}
	for _, fip := range fips {
		if slices.Contains(addresses, fip.FloatingIP) {
			return true, nil
		}
	}
	return false, nil
}

// traces gives the load balancers that may have something of a Service, and the IDs
// of more: those with its identity, at its published addresses, where it was before,
// and where listeners of it are.
func (o *Observer) traces(ctx context.Context, id identity.Identity, hints Hints) (all []openstack.LoadBalancer, ids []string, err error) {
	all, err = o.Claimed(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	for _, address := range hints.Addresses {
		at, err := o.at(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, at...)
	}
	ids = slices.Clone(hints.Before)
	if id.Untagged {
		return all, ids, nil
	}
	tagged, err := o.Octavia.ListenersTagged(ctx, id.ServiceTag())
	for _, l := range tagged {
		for _, of := range l.Loadbalancers {
			ids = append(ids, of.ID)
		}
	}
	return all, ids, err
}

// Elsewhere looks for what a Service still has beside the load balancer of an ID,
// after it has been moved: its own ones, and those that hold a listener of it.
func (o *Observer) Elsewhere(ctx context.Context, id identity.Identity, hints Hints, except string) ([]Found, error) {
	seen := map[string]bool{except: true}
	var elsewhere []Found
	add := func(lb openstack.LoadBalancer) error {
		if seen[lb.ID] {
			return nil
		}
		seen[lb.ID] = true
		as, err := o.relate(ctx, id, lb, hints.Addresses)
		var notOurs *NotOursError
		if errors.As(err, &notOurs) {
			return nil
		}
		elsewhere = append(elsewhere, Found{LoadBalancers: []openstack.LoadBalancer{lb}, As: as})
		return err
	}
	all, ids, err := o.traces(ctx, id, hints)
	if err != nil {
		return nil, err
	}
	for _, lb := range all {
		if err := add(lb); err != nil {
			return nil, err
		}
	}
	for _, lbID := range ids {
		if seen[lbID] || lbID == "" {
			continue
		}
		lb, err := o.Octavia.LoadBalancer(ctx, lbID)
		if openstack.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := add(*lb); err != nil {
			return nil, err
		}
	}
	return elsewhere, nil
}
