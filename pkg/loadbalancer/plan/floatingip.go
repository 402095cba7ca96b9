package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// detachFloatingIP returns the steps that come before all others.
//
//	wanted      on the VIP           steps
//	none        ours                 delete it, or take it off when it is to be kept
//	none        not ours, published  take it off: the Service asked for it, and does not any more
//	none        any other            none: another client put it there, which is reported, see ForeignFloatingIP
//	none        none                 none
//	one         any                  none: see attachFloatingIP
//
// Where none is wanted, unattached ones of ours are deleted too, unless they are to be kept.
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

// foreign reports whether another client put a floating IP there that is not wanted.
func (o Options) foreign(fip model.FloatingIP) bool {
	return !fip.Owned && !slices.Contains(o.Given, fip.Address)
}

// ForeignFloatingIP returns the floating IP that another client put on the VIP of a load
// balancer that is to have none; nil when there is none. Diff leaves it alone.
func ForeignFloatingIP(desired, lb *model.LoadBalancer, opts Options) *model.FloatingIP {
	if attached := lb.OwnFloatingIP(); desired.FloatingIP == nil && attached != nil && opts.foreign(*attached) {
		return attached
	}
	return nil
}

// attachFloatingIP returns the steps that come after all others: they put the wanted
// floating IP on the VIP, an unattached one where there is one, else a new one.
//
//	on the VIP            wanted one    steps
//	fits                  it            none
//	none                  unattached    associate
//	none                  not there     create on the VIP
//	another               unattached    disassociate, associate
//	another               not there     create beside it, disassociate, associate
//
// The new one is there before the old one is taken off: an address that cannot be had
// costs nobody the old one, and no other request comes between the two that change the
// address. Unattached ones of ours that nobody wants any more are deleted last, unless they
// are to be kept. What is not ours is never deleted.
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
	for i, fip := range unattached { // the port that becomes the VIP can have another one
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
	if attached != nil && attached.Owned && !opts.KeepFloatingIP {
		steps = append(steps, DeleteFloatingIP{attached.ID, attached.Address})
	}
	return append(steps, deleteUnattached(unattached, chosen, opts)...)
}

// associate returns the step that puts an unattached floating IP on the VIP. One that the
// Service did not ask for, but may have, becomes its own.
func associate(want *model.FloatingIP, unattached model.FloatingIP) AssociateFloatingIP {
	step := AssociateFloatingIP{ID: unattached.ID, Address: unattached.Address, Revision: unattached.Revision}
	if !want.Asked() && (unattached.Owned || unattached.Retained) && unattached.Description != want.Description {
		step.Describe = want.Description
	}
	return step
}

// deleteUnattached returns the steps that delete the unattached floating IPs of ours,
// except the chosen one.
func deleteUnattached(unattached []model.FloatingIP, chosen int, opts Options) []Step {
	var steps []Step
	for i, fip := range unattached {
		if fip.Owned && i != chosen && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{fip.ID, fip.Address})
		}
	}
	return steps
}

// fits reports whether the floating IP on the VIP is one that is wanted.
func fits(want, attached *model.FloatingIP) bool {
	return want != nil && attached != nil && want.Fits(*attached)
}

// choose returns the index of the unattached floating IP that is taken, or -1: of those
// that the Service asks for, the first; when it asks for none, one of its own, else
// the one on its port, else one that a Service of its name has kept.
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
