package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// advanceFloatingIP is Advance for the steps of floating IPs.
func advanceFloatingIP(observed *model.Observed, step Step) {
	lb := observed.LoadBalancer
	switch s := step.(type) {
	case CreateFloatingIP:
		fip := s.FloatingIP
		fip.Owned, fip.SubnetIDs = true, nil
		if s.Beside {
			observed.UnattachedFloatingIPs = append(slices.Clone(observed.UnattachedFloatingIPs), fip)
		} else {
			lb.FloatingIP = &fip
		}
	case AssociateFloatingIP:
		i := s.Find(observed.UnattachedFloatingIPs)
		if i < 0 {
			return
		}
		fip := observed.UnattachedFloatingIPs[i]
		fip.Revision = nil
		if s.Describe != "" {
			fip.Description, fip.Owned, fip.Retained = s.Describe, true, false
		}
		lb.FloatingIP = &fip
		observed.UnattachedFloatingIPs = slices.Delete(slices.Clone(observed.UnattachedFloatingIPs), i, i+1)
	case MoveFloatingIP:
		fip, ok := takeFloatingIP(observed, s.ID)
		if !ok {
			return
		}
		fip.Revision = nil
		if s.Describe != "" {
			fip.Description, fip.Owned, fip.Retained = s.Describe, true, false
		}
		lb.FloatingIP = &fip
	case DisassociateFloatingIP:
		disassociated(observed, s.ID)
	case ClaimFloatingIP:
		if lb.FloatingIP != nil && lb.FloatingIP.ID == s.ID {
			fip := *lb.FloatingIP
			fip.Description, fip.Revision = s.Describe, nil
			lb.FloatingIP = &fip
		}
	case DeleteFloatingIP:
		for _, lb := range []*model.LoadBalancer{lb, observed.Outgoing} {
			if lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == s.ID {
				lb.FloatingIP = nil
			}
		}
		observed.UnattachedFloatingIPs = withoutFloatingIP(observed.UnattachedFloatingIPs, s.ID)
	}
}

// takeFloatingIP removes a floating IP from the load balancer that loses it, and reports whether
// one had it.
func takeFloatingIP(observed *model.Observed, id string) (model.FloatingIP, bool) {
	observed.Duplicates = slices.Clone(observed.Duplicates)
	others := []*model.LoadBalancer{observed.Outgoing}
	for i := range observed.Duplicates {
		others = append(others, &observed.Duplicates[i])
	}
	for _, lb := range others {
		if lb != nil && lb.FloatingIP != nil && lb.FloatingIP.ID == id {
			fip := *lb.FloatingIP
			lb.FloatingIP = nil
			return fip, true
		}
	}
	return model.FloatingIP{}, false
}

// disassociated removes a floating IP from its port. One of ours becomes unattached, and is not the
// one created last.
func disassociated(observed *model.Observed, id string) {
	for _, lb := range []*model.LoadBalancer{observed.LoadBalancer, observed.Outgoing} {
		if lb == nil || lb.FloatingIP == nil || lb.FloatingIP.ID != id {
			continue
		}
		if lb.FloatingIP.Owned {
			observed.UnattachedFloatingIPs = append([]model.FloatingIP{released(*lb.FloatingIP)}, observed.UnattachedFloatingIPs...)
		}
		lb.FloatingIP = nil
		return
	}
	observed.UnattachedFloatingIPs = slices.Clone(observed.UnattachedFloatingIPs)
	for i := range observed.UnattachedFloatingIPs {
		if observed.UnattachedFloatingIPs[i].ID == id {
			observed.UnattachedFloatingIPs[i] = released(observed.UnattachedFloatingIPs[i])
		}
	}
}

// released returns a floating IP without a port.
func released(fip model.FloatingIP) model.FloatingIP {
	fip.PortID, fip.Revision = "", nil
	return fip
}

// Find returns the index of the unattached floating IP of a step, or -1.
func (s AssociateFloatingIP) Find(unattached []model.FloatingIP) int {
	if s.ID == "" {
		return len(unattached) - 1
	}
	return slices.IndexFunc(unattached, func(fip model.FloatingIP) bool { return fip.ID == s.ID })
}

func withoutFloatingIP(fips []model.FloatingIP, id string) []model.FloatingIP {
	return slices.DeleteFunc(slices.Clone(fips), func(fip model.FloatingIP) bool { return fip.ID == id })
}
