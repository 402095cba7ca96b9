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

// FloatingIPHints are what is known of a Service's floating IP.
type FloatingIPHints struct {
	// Asked is the one that the Service asks for: by ID, address or tag.
	Asked model.FloatingIP
	// AskedBy is the field or annotation that says so, for errors.
	AskedBy string
	// IDs are of floating IPs that may be the Service's, though their description is
	// not the one that it gives them today.
	IDs []string
	// Published are the addresses that the Service has published, unless it asks for
	// a certain one: that was there before.
	Published []string
	// PortID is of the port that is to be the VIP, when the Service names one.
	PortID string
	// Unattached asks for the unattached ones though the one on the VIP will do.
	Unattached bool
	// MayTake tells whether the Service may have a floating IP that we made for somebody
	// else, and that is on no port; nil: it may have any.
	MayTake func(ctx context.Context, owner ownership.Owner) (bool, error)
}

// FloatingIPs fills in the floating IPs: the one on the VIP of each load balancer
// and the unattached ones, which are not asked for when the one on the VIP will do.
// Whose one is:
//
//	description holds our Service's UID, and no other cluster's             ours
//	cloud-provider-openstack's, on the VIP of a load balancer that it made  ours
//	cloud-provider-openstack's, unattached, with an address that our Service     ours
//	has published and has not asked for
//	description holds our cluster's UID and our Service's name              kept for us
//	any other                                                               another's
//
// It is a *FloatingIPError when the Service cannot have the one that it asks for.
func (o *Observer) FloatingIPs(ctx context.Context, id ownership.Identity, observed *model.Observed, hints FloatingIPHints) error {
	for _, lb := range []*model.LoadBalancer{observed.LoadBalancer, observed.Outgoing} {
		if lb == nil {
			continue
		}
		attached, err := o.floatingIPsOn(ctx, lb.VIP.PortID)
		if err != nil {
			return err
		}
		lb.FloatingIP = attachedFloatingIP(id, lb, attached)
		if lb.FloatingIP != nil && hints.Asked.Fits(*lb.FloatingIP) && !hints.Unattached {
			return nil
		}
	}
	return o.unattachedFloatingIPs(ctx, id, observed, hints)
}

// unattachedFloatingIPs lists the floating IPs that the Service can have.
func (o *Observer) unattachedFloatingIPs(ctx context.Context, id ownership.Identity, observed *model.Observed, hints FloatingIPHints) error {
	own, err := o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{Description: id.FloatingIPDescription()})
	if err != nil {
		return err
	}
	if len(hints.IDs) > 0 {
		more, err := o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{IDs: hints.IDs})
		if err != nil {
			return err
		}
		own = append(own, more...)
	}
	if observed.LoadBalancer == nil && hints.PortID != "" {
		there, err := o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: hints.PortID})
		if err != nil {
			return err
		}
		own = append(own, there...)
	}
	o.addCandidates(id, observed, own, hints)
	return o.askedFloatingIP(ctx, id, observed, hints)
}

// addCandidates adds those that are free, and those on the port that is to be the VIP.
func (o *Observer) addCandidates(id ownership.Identity, observed *model.Observed, all []floatingips.FloatingIP, hints FloatingIPHints) {
	for _, fip := range all {
		candidate := floatingIP(id, fip)
		candidate.Owned = candidate.Owned || hints.published(id, fip)
		if fip.PortID == "" && (candidate.Owned || candidate.Retained) || fip.PortID != "" && fip.PortID == hints.PortID {
			addUnattached(observed, candidate)
		}
	}
}

// published tells whether a floating IP that cloud-provider-openstack made is the
// Service's: it has published it, and has not found it there.
func (h FloatingIPHints) published(id ownership.Identity, fip floatingips.FloatingIP) bool {
	return fip.Description == id.LegacyFloatingIPDescription() && slices.Contains(h.Published, fip.FloatingIP)
}

// askedFloatingIP adds the one that the Service asks for, if it is there.
func (o *Observer) askedFloatingIP(ctx context.Context, id ownership.Identity, observed *model.Observed, hints FloatingIPHints) error {
	asked := hints.Asked
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
	found, err := o.Neutron.FloatingIPs(ctx, filter)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b floatingips.FloatingIP) int { return cmp.Compare(a.FloatingIP, b.FloatingIP) })
	free, kept, err := hints.free(ctx, id, found)
	switch {
	case err != nil:
		return err
	case free != nil:
		addUnattached(observed, *free)
	case kept && asked.Tag == "":
		return &FloatingIPError{fmt.Sprintf("%s: the floating IP %s is another namespace's, which keeps it: only that Namespace's annotation "+
			"loadbalancer.openstack.org/allow-sharing-from, or shared-lb-scope in cloud.conf, lets others have it", hints.AskedBy, cmp.Or(asked.ID, asked.Address))}
	case asked.Tag != "":
		return &FloatingIPError{fmt.Sprintf("%s: none of %d floating IPs with the tag %q is free: add one, or free one", hints.AskedBy, len(found), asked.Tag)}
	case len(found) > 0 && onDuplicate(observed, found[0].PortID):
		return nil // the plan moves it
	case len(found) > 0:
		klog.FromContext(ctx).Info("The floating IP that a Service asks for is in use", "floatingIP", found[0].ID, "address", found[0].FloatingIP, "port", found[0].PortID)
		return &FloatingIPError{fmt.Sprintf("%s: the floating IP %s is in use: choose another, or free it", hints.AskedBy, cmp.Or(asked.ID, asked.Address))}
	case asked.ID != "":
		return &FloatingIPError{fmt.Sprintf("%s: there is no floating IP %s in this project", hints.AskedBy, asked.ID)}
	}
	return nil // by address: it can be made
}

// free gives the first floating IP that the Service can have. It also tells of one that
// is free, and kept by another owner.
func (h FloatingIPHints) free(ctx context.Context, id ownership.Identity, found []floatingips.FloatingIP) (free *model.FloatingIP, kept bool, err error) {
	for _, fip := range found {
		if fip.PortID != "" && fip.PortID != h.PortID {
			continue
		}
		owner, ours := ownership.FloatingIPOwner(fip.Description)
		if h.MayTake != nil && ours && !id.OwnsFloatingIP(fip.Description) && fip.PortID == "" {
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

// onDuplicate reports whether a port is the VIP of a duplicate.
func onDuplicate(observed *model.Observed, portID string) bool {
	return slices.ContainsFunc(observed.Duplicates, func(lb model.LoadBalancer) bool { return lb.VIP.PortID == portID })
}

func hasUnattached(observed *model.Observed, id string) bool {
	return slices.ContainsFunc(observed.UnattachedFloatingIPs, func(fip model.FloatingIP) bool { return fip.ID == id })
}

// addUnattached adds a floating IP that is not known yet. The port that is to be the VIP may be the VIP
// already.
func addUnattached(observed *model.Observed, fip model.FloatingIP) {
	lb := observed.LoadBalancer
	onVIP := lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == fip.ID
	if !onVIP && !hasUnattached(observed, fip.ID) {
		observed.UnattachedFloatingIPs = append(observed.UnattachedFloatingIPs, fip)
	}
}

// FloatingIPError tells that the Service cannot have the floating IP that it asks
// for.
type FloatingIPError struct{ Message string }

// Error implements error.
func (e *FloatingIPError) Error() string { return e.Message }

// attachedFloatingIP picks the floating IP of a VIP: ours before another's. On a
// load balancer of ours, cloud-provider-openstack's description proves nothing: the
// Service has asked for one that was kept.
func attachedFloatingIP(id ownership.Identity, lb *model.LoadBalancer, attached []floatingips.FloatingIP) *model.FloatingIP {
	made := id.Claim(lb.Tags, lb.Description) == ownership.Unclaimed
	var picked *model.FloatingIP
	for _, fip := range attached {
		candidate := floatingIP(id, fip)
		candidate.Owned = id.OwnsFloatingIPOnVIP(fip.Description, made)
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
		Owned:       id.OwnsFloatingIP(fip.Description),
		Retained:    id.KeptFloatingIP(fip.Description),
	}
}

// floatingIPsOn returns the floating IPs on the port of a VIP; none where the cloud has made no port.
func (o *Observer) floatingIPsOn(ctx context.Context, portID string) ([]floatingips.FloatingIP, error) {
	if portID == "" {
		return nil, nil
	}
	return o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortID: portID})
}
