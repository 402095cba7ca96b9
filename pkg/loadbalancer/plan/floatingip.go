package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// detachFloatingIP gives the steps that take floating IPs away.
//
//	wanted         on the VIP        steps
//	none           ours              delete it, or take it off when it is to be kept
//	none           not ours          take it off: an internal load balancer is not reachable from outside
//	any            any               none
//	that address   that address      none
//	that address   another, ours     delete it, or take it off when it is to be kept
//	that address   another           take it off
//
// A spare one of ours that nobody wants is deleted, unless it is to be kept.
func detachFloatingIP(desired *model.LoadBalancer, attached *model.FloatingIP, spare []model.FloatingIP, opts Options) []Step {
	var steps []Step
	want := desired.FloatingIP
	if attached != nil && (want == nil || want.Address != "" && want.Address != attached.Address) {
		if attached.Owned && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{attached.ID, attached.Address})
		} else {
			steps = append(steps, DisassociateFloatingIP{attached.ID, attached.Address})
		}
	}
	if opts.KeepFloatingIP {
		return steps
	}
	chosen := choose(want, spare)
	for i, fip := range spare {
		if fip.Owned && (want == nil || fits(want, attached) || i != chosen) {
			steps = append(steps, DeleteFloatingIP{fip.ID, fip.Address})
		}
	}
	return steps
}

// attachFloatingIP gives the step that puts the wanted floating IP on the VIP: a
// spare one where there is one, else a new one.
func attachFloatingIP(desired *model.LoadBalancer, attached *model.FloatingIP, spare []model.FloatingIP) []Step {
	want := desired.FloatingIP
	if want == nil || fits(want, attached) {
		return nil
	}
	if i := choose(want, spare); i >= 0 {
		return []Step{AssociateFloatingIP{spare[i].ID, spare[i].Address}}
	}
	return []Step{CreateFloatingIP{*want}}
}

// fits tells whether the floating IP on the VIP is one that is wanted.
func fits(want, attached *model.FloatingIP) bool {
	return want != nil && attached != nil && (want.Address == "" || want.Address == attached.Address)
}

// choose gives the index of the first spare floating IP that is wanted, or -1.
func choose(want *model.FloatingIP, spare []model.FloatingIP) int {
	for i := range spare {
		if want != nil && fits(want, &spare[i]) {
			return i
		}
	}
	return -1
}
