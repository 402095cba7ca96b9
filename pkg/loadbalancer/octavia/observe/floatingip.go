package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// FloatingIPHints are the known facts about a Service's floating IP.
type FloatingIPHints struct {
	// Asked is the requested one: by ID, address or tag.
	Asked model.FloatingIP
	// AskedBy is the field or annotation of the request, for errors.
	AskedBy string
	// IDs are floating IPs that may be the Service's, although their descriptions are not the
	// current one.
	IDs []string
	// Published are the addresses that the Service has published, unless it requests a certain one,
	// which existed before.
	Published []string
	// PortID is the port for the VIP, if the Service names one.
	PortID string
	// Unattached requests the unattached ones even if the one on the VIP suffices.
	Unattached bool
	// Forwarded returns whether all port forwardings of a floating IP are the Service's; nil: it can have none with
	// port forwardings. Those of others may be on one that was not created for another Service.
	Forwarded func(ctx context.Context, floatingIPID string) (bool, error)
	// MayTake reports whether the Service may have an unattached floating IP that we created for
	// another owner; nil: it may have any.
	MayTake func(ctx context.Context, owner ownership.Owner) (bool, error)
}

// FloatingIPs sets the floating IPs: the one on the VIP of each load balancer and the unattached
// ones, which are not read if the one on the VIP suffices. Their owners:
//
//	description holds our Service's UID, and no other cluster's                ours
//	cloud-provider-openstack's, on the VIP of a load balancer that it created  ours
//	cloud-provider-openstack's, unattached, with an address that our Service   ours
//	has published and has not requested
//	description holds our cluster's UID and our Service's name                 kept for us
//	any other                                                                  another's
//
// It returns a *FloatingIPError if the Service cannot have the requested one.
func (o *Observer) FloatingIPs(ctx context.Context, id ownership.Identity, observed *model.Observed, hints FloatingIPHints) error {
	suffices := false
	for _, lb := range []*model.LoadBalancer{observed.LoadBalancer, observed.Outgoing} {
		if lb == nil {
			continue
		}
		if err := o.AttachedFloatingIP(ctx, id, lb); err != nil {
			return err
		}
		suffices = suffices || lb.FloatingIP != nil && hints.Asked.Fits(*lb.FloatingIP)
	}
	if suffices && !hints.Unattached {
		return nil
	}
	return unattached{o.Neutron, id, observed, hints}.read(ctx)
}

// AttachedFloatingIP sets the floating IP on the VIP of a load balancer.
func (o *Observer) AttachedFloatingIP(ctx context.Context, id ownership.Identity, lb *model.LoadBalancer) error {
	attached, err := o.floatingIPsOn(ctx, lb.VIP.PortID)
	if err != nil {
		return err
	}
	lb.FloatingIP = attachedFloatingIP(id, lb, attached)
	return nil
}

// unattached adds the unattached floating IPs that a Service can have to its observed state.
type unattached struct {
	neutron  Neutron
	id       ownership.Identity
	observed *model.Observed
	hints    FloatingIPHints
}

// read adds the free ones of the Service, and the requested one.
func (u unattached) read(ctx context.Context) error {
	own, err := u.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{Description: u.id.FloatingIPs().Description()})
	if err != nil {
		return err
	}
	if len(u.hints.IDs) > 0 {
		more, err := u.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{IDs: u.hints.IDs})
		if err != nil {
			return err
		}
		own = append(own, more...)
	}
	if u.observed.LoadBalancer == nil && u.hints.PortID != "" {
		there, err := u.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: u.hints.PortID})
		if err != nil {
			return err
		}
		own = append(own, there...)
	}
	u.add(own)
	return u.addAsked(ctx)
}

// add adds the free ones, and those on the port for the VIP. A kept one with port forwardings is not free: they
// are another owner's.
func (u unattached) add(all []floatingips.FloatingIP) {
	for _, fip := range all {
		candidate := floatingIP(u.id, fip)
		candidate.Owned = candidate.Owned || u.hints.published(u.id, fip)
		if fip.PortID == "" && (candidate.Owned || candidate.Retained && !candidate.Forwards) || fip.PortID != "" && fip.PortID == u.hints.PortID {
			addUnattached(u.observed, candidate)
		}
	}
}

// published reports whether a floating IP of cloud-provider-openstack is the Service's: published
// by it, and not requested.
func (h FloatingIPHints) published(id ownership.Identity, fip floatingips.FloatingIP) bool {
	return fip.Description == id.FloatingIPs().LegacyDescription() && slices.Contains(h.Published, fip.FloatingIP)
}

// addAsked adds the requested one if it exists.
func (u unattached) addAsked(ctx context.Context) error {
	asked, observed := u.hints.Asked, u.observed
	filter := neutron.FloatingIPFilter{Address: asked.Address, Tag: asked.Tag}
	if asked.ID != "" {
		filter.IDs = []string{asked.ID}
	}
	if lb := observed.LoadBalancer; lb != nil && lb.FloatingIP != nil && asked.Fits(*lb.FloatingIP) {
		return nil
	}
	if !asked.Asked() || asked.ID != "" && hasUnattached(observed, asked.ID) {
		return nil
	}
	found, err := u.neutron.FloatingIPs(ctx, filter)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b floatingips.FloatingIP) int { return cmp.Compare(a.FloatingIP, b.FloatingIP) })
	free, kept, err := u.hints.free(ctx, u.id, found)
	switch {
	case err != nil:
		return err
	case free != nil:
		addUnattached(observed, *free)
	case kept && asked.Tag == "":
		return &FloatingIPError{fmt.Sprintf("%s: the floating IP %s is another namespace's, which keeps it: only that Namespace's annotation "+
			"loadbalancer.openstack.org/allow-sharing-from, or shared-lb-scope in cloud.conf, lets others have it", u.hints.AskedBy, cmp.Or(asked.ID, asked.Address))}
	case asked.Tag != "":
		return &FloatingIPError{fmt.Sprintf("%s: none of %d floating IPs with the tag %q is free: add one, or free one", u.hints.AskedBy, len(found), asked.Tag)}
	case len(found) > 0 && onDuplicate(observed, found[0].PortID):
		return nil // the plan moves it
	case len(found) > 0:
		klog.FromContext(ctx).Info("The floating IP that a Service asks for is in use", "floatingIP", found[0].ID, "address", found[0].FloatingIP, "port", found[0].PortID)
		return &FloatingIPError{fmt.Sprintf("%s: the floating IP %s is in use: choose another, or free it", u.hints.AskedBy, cmp.Or(asked.ID, asked.Address))}
	case asked.ID != "":
		return &FloatingIPError{fmt.Sprintf("%s: there is no floating IP %s in this project", u.hints.AskedBy, asked.ID)}
	}
	return nil // an address: it can be created
}

// free returns the first floating IP that the Service can have, and a free one that is kept by
// another owner.
func (h FloatingIPHints) free(ctx context.Context, id ownership.Identity, found []floatingips.FloatingIP) (free *model.FloatingIP, kept bool, err error) {
	for _, fip := range found {
		owner, ours := ownership.FloatingIPOwner(fip.Description)
		if fip.PortID != "" && fip.PortID != h.PortID {
			continue
		}
		if neutron.Forwards(fip) {
			may, err := h.mayForward(ctx, ours && !id.FloatingIPs().Own(fip.Description), fip.ID)
			if err != nil {
				return nil, kept, err
			}
			if !may {
				continue
			}
		}
		if h.MayTake != nil && ours && !id.FloatingIPs().Own(fip.Description) && fip.PortID == "" {
			may, err := h.MayTake(ctx, owner)
			if err != nil {
				return nil, kept, err
			}
			if !may {
				kept = true
				continue
			}
		}
		candidate := floatingIP(id, fip)
		return &candidate, kept, nil
	}
	return nil, kept, nil
}

// mayForward reports whether the Service can have a floating IP with port forwardings. Others is set if it was created
// for another Service.
func (h FloatingIPHints) mayForward(ctx context.Context, others bool, id string) (bool, error) {
	if h.Forwarded == nil || !others {
		return h.Forwarded != nil, nil
	}
	return h.Forwarded(ctx, id)
}

// onDuplicate reports whether a port is the VIP of a duplicate.
func onDuplicate(observed *model.Observed, portID string) bool {
	return portID != "" && slices.ContainsFunc(observed.Duplicates, func(lb model.LoadBalancer) bool { return lb.VIP.PortID == portID })
}

func hasUnattached(observed *model.Observed, id string) bool {
	return slices.ContainsFunc(observed.UnattachedFloatingIPs, func(fip model.FloatingIP) bool { return fip.ID == id })
}

// addUnattached adds a new floating IP, unless its port is the VIP already.
func addUnattached(observed *model.Observed, fip model.FloatingIP) {
	lb := observed.LoadBalancer
	onVIP := lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == fip.ID
	if !onVIP && !hasUnattached(observed, fip.ID) {
		observed.UnattachedFloatingIPs = append(observed.UnattachedFloatingIPs, fip)
	}
}

// FloatingIPError reports that the Service cannot have the requested floating IP.
type FloatingIPError struct{ Message string }

// Error implements error.
func (e *FloatingIPError) Error() string { return e.Message }

// attachedFloatingIP returns the floating IP of a VIP: ours before another's. On a load balancer of
// ours, cloud-provider-openstack's description proves nothing: the Service has requested one that
// was kept.
func attachedFloatingIP(id ownership.Identity, lb *model.LoadBalancer, attached []floatingips.FloatingIP) *model.FloatingIP {
	made := id.Claim(lb.Tags, lb.Description) == ownership.Unclaimed
	var picked *model.FloatingIP
	for _, fip := range attached {
		candidate := floatingIP(id, fip)
		candidate.Owned = id.FloatingIPs().OwnOnVIP(fip.Description, made)
		if picked == nil || candidate.Owned && !picked.Owned {
			picked = &candidate
		}
	}
	return picked
}

func floatingIP(id ownership.Identity, fip floatingips.FloatingIP) model.FloatingIP {
	return model.FloatingIP{
		ID:          fip.ID,
		NetworkID:   fip.FloatingNetworkID,
		Address:     fip.FloatingIP,
		Description: fip.Description,
		PortID:      fip.PortID,
		Tags:        fip.Tags,
		Revision:    &fip.RevisionNumber,
		Owned:       id.FloatingIPs().Own(fip.Description),
		Retained:    id.FloatingIPs().Kept(fip.Description),
		Forwards:    neutron.Forwards(fip),
	}
}

// floatingIPsOn returns the floating IPs on the port of a VIP; none if the cloud has created no
// port.
func (o *Observer) floatingIPsOn(ctx context.Context, portID string) ([]floatingips.FloatingIP, error) {
	if portID == "" {
		return nil, nil
	}
	return o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: portID})
}
