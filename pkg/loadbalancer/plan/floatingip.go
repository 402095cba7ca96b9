package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// detachFloatingIP returns the steps that precede all others.
//
//	wanted      on the VIP           steps
//	none        ours                 delete it, or disassociate it if it must be kept
//	none        not ours, published  disassociate it: the Service no longer requests it
//	none        any other            none: another client associated it, which is reported, see ForeignFloatingIP
//	none        none                 none
//	one         any                  none: see attachFloatingIP
//
// If none is wanted, unattached ones of ours are deleted too, unless they must be kept.
func detachFloatingIP(desired *model.LoadBalancer, attached *model.FloatingIP, unattached []model.FloatingIP, opts Options) []Step {
	if desired.FloatingIP != nil {
		return nil
	}
	var steps []Step
	switch {
	case attached == nil || opts.foreign(*attached):
	case attached.Owned && !opts.KeepFloatingIP:
		steps = append(steps, DeleteFloatingIP{attached.ID, attached.Address})
	default:
		steps = append(steps, DisassociateFloatingIP{attached.ID, attached.Address})
	}
	return append(steps, deleteUnattached(unattached, -1, opts)...)
}

// foreign reports whether another client associated an unwanted floating IP.
func (o Options) foreign(fip model.FloatingIP) bool {
	return !fip.Owned && !slices.Contains(o.Given, fip.Address)
}

// ForeignFloatingIP returns the floating IP that another client associated with the VIP of a load
// balancer that needs none; nil if there is none. Diff ignores it.
func ForeignFloatingIP(desired, lb *model.LoadBalancer, opts Options) *model.FloatingIP {
	if attached := lb.OwnFloatingIP(); desired.FloatingIP == nil && attached != nil && opts.foreign(*attached) {
		return attached
	}
	return nil
}

// attachFloatingIP returns the steps that follow all others: they associate the wanted floating IP
// with the VIP, an unattached one if there is one, else a new one.
//
//	on the VIP            wanted one    steps
//	fits                  it            none
//	none                  unattached    associate
//	none                  not there     create on the VIP
//	another               unattached    disassociate, associate
//	another               not there     create beside it, disassociate, associate
//
// The new one is created before the old one is disassociated: so the old one is kept if the address
// is unavailable, and no other request separates the two that change the address. Unattached ones
// of ours that are no longer wanted are deleted at the end, unless they must be kept. Those of
// others are never deleted.
func attachFloatingIP(desired *model.LoadBalancer, attached *model.FloatingIP, unattached []model.FloatingIP, opts Options) []Step {
	want := desired.FloatingIP
	if want == nil {
		return nil
	}
	if fits(want, attached) {
		return deleteUnattached(unattached, -1, opts)
	}
	var steps []Step
	chosen := choose(want, unattached)
	for i, fip := range unattached { // the port that becomes the VIP may already have one
		if fip.PortID != "" && i != chosen {
			steps = append(steps, DisassociateFloatingIP{fip.ID, fip.Address})
		}
	}
	if attached != nil && chosen < 0 {
		steps = append(steps, CreateFloatingIP{FloatingIP: *want, Beside: true})
	}
	if attached != nil {
		steps = append(steps, DisassociateFloatingIP{attached.ID, attached.Address})
	}
	switch {
	case chosen >= 0:
		steps = append(steps, associate(want, unattached[chosen]))
	case attached != nil:
		steps = append(steps, AssociateFloatingIP{Address: want.Address})
	default:
		steps = append(steps, CreateFloatingIP{FloatingIP: *want})
	}
	steps = append(steps, deleteOwned(attached, opts)...)
	return append(steps, deleteUnattached(unattached, chosen, opts)...)
}

// associate returns the step that associates an unattached floating IP with the VIP. One that the
// Service did not request, but may have, becomes its own.
func associate(want *model.FloatingIP, unattached model.FloatingIP) AssociateFloatingIP {
	step := AssociateFloatingIP{ID: unattached.ID, Address: unattached.Address, Revision: unattached.Revision}
	if !want.Asked() && (unattached.Owned || unattached.Retained) && unattached.Description != want.Description {
		step.Describe = want.Description
	}
	return step
}

// deleteOwned returns the step that deletes a floating IP, nil for none, if it is the Service's, unless it must be kept.
func deleteOwned(fip *model.FloatingIP, opts Options) []Step {
	if fip == nil || !fip.Owned || opts.KeepFloatingIP {
		return nil
	}
	return []Step{DeleteFloatingIP{fip.ID, fip.Address}}
}

// deleteUnattached returns the steps that delete the unattached floating IPs of ours,
// except the chosen one.
func deleteUnattached(unattached []model.FloatingIP, chosen int, opts Options) []Step {
	var steps []Step
	for i, fip := range unattached {
		if i != chosen {
			steps = append(steps, deleteOwned(&fip, opts)...)
		}
	}
	return steps
}

// fits reports whether the floating IP on the VIP is a wanted one.
func fits(want, attached *model.FloatingIP) bool {
	return want != nil && attached != nil && want.Fits(*attached)
}

// choose returns the index of the unattached floating IP to use, or -1: the first of those that the
// Service requests; without a request one of its own, else the one on its port, else one that was
// kept for an earlier Service of its name.
func choose(want *model.FloatingIP, unattached []model.FloatingIP) int {
	best, rank := -1, 0
	for i, fip := range unattached {
		if r := rankOf(want, fip); r > rank {
			best, rank = i, r
		}
	}
	return best
}

func rankOf(want *model.FloatingIP, fip model.FloatingIP) int {
	switch {
	case want.Asked() && !want.Fits(fip):
		return 0
	case want.Asked() || fip.Owned:
		return 3
	case fip.PortID != "":
		return 2
	case fip.Retained && (want.NetworkID == "" || want.NetworkID == fip.NetworkID):
		return 1
	default:
		return 0
	}
}
