package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Lead returns the steps from the observed load balancer of provider router to the desired one.
//
//	observed    plan
//	no port     create it, routes, floating IP
//	a port      the differences of next hops and floating IP, and the address pairs of barred next hops
//	several     the other ports are deleted at the end
//	forwardings they are removed before their floating IP moves, or is deleted
//	outgoing    its floating IP moves, or is deleted if the Service has another one or none; it is deleted before
//	            other ports
//
// The routes come before a new floating IP, because a full router refuses them.
func Lead(desired *model.LoadBalancer, observed model.Observed, opts Options) Plan {
	lb := observed.LoadBalancer
	var plan Plan
	var attached *model.FloatingIP
	var hops, barred []string
	address := desired.VIP.Address
	if lb == nil {
		create := CreateVIP{LoadBalancer: desired}
		if address == "" && len(opts.Addresses) > 0 { // a deleted port: clients and routes have its address
			create.Prefer = opts.Addresses[0]
		}
		plan.Steps = append(plan.Steps, create)
	} else {
		attached, hops, barred, address = lb.FloatingIP, lb.NextHops, lb.Barred, lb.VIP.Address
	}
	plan.Steps = append(plan.Steps, detachFloatingIP(desired, attached, observed.UnattachedFloatingIPs, opts)...)
	if !slices.Equal(hops, desired.NextHops) || len(barred) > 0 {
		plan.Steps = append(plan.Steps, LeadVIP{Address: address, From: hops, To: desired.NextHops, Barred: barred})
	}
	steps, after := unforwarded(observed)
	plan.Steps = append(plan.Steps, steps...)
	observed.UnattachedFloatingIPs, observed.Duplicates = after.UnattachedFloatingIPs, after.Duplicates
	old := observed.Outgoing
	moves := old != nil && attached == nil && fits(desired.FloatingIP, old.FloatingIP)
	if moves {
		plan.Steps = append(plan.Steps, MoveFloatingIP(associate(desired.FloatingIP, *old.FloatingIP)))
		plan.Steps = append(plan.Steps, deleteUnattached(observed.UnattachedFloatingIPs, -1, opts)...)
	} else {
		plan.Steps = append(plan.Steps, attachFloatingIP(desired, attached, observed.UnattachedFloatingIPs, opts)...)
	}
	if old != nil {
		if !moves {
			plan.Steps = append(plan.Steps, deleteOwned(old.FloatingIP, opts)...)
		}
		plan.Steps = append(plan.Steps, DeleteLoadBalancer{ID: old.ID, Name: old.Name, Cascade: true, Why: "the Service has a VIP of provider router"})
	}
	for i := range observed.Duplicates {
		plan.Steps = append(plan.Steps, withdraw(&observed.Duplicates[i])...)
	}
	return plan
}

// Unlead returns the steps that delete a load balancer of provider router or port-forwarding. The port is the
// last, because it is the proof that the floating IP and the routes are the Service's.
func Unlead(observed model.Observed, opts Options) Plan {
	var steps []Step
	for _, lb := range served(observed) {
		if lb.Provider == driver.PortForwarding {
			steps = append(steps, unforward(lb)...)
			steps = append(steps, deleteOwned(lb.FloatingIP, opts)...)
			continue
		}
		if fip := lb.FloatingIP; fip != nil && (!fip.Owned || opts.KeepFloatingIP) {
			steps = append(steps, DisassociateFloatingIP{fip.ID, fip.Address})
		}
		steps = append(steps, deleteOwned(lb.FloatingIP, opts)...)
		steps = append(steps, withdraw(lb)...)
	}
	return Plan{Steps: append(steps, deleteUnattached(observed.UnattachedFloatingIPs, -1, opts)...)}
}

// withdraw returns the steps that remove the routes to a VIP, and its port.
func withdraw(lb *model.LoadBalancer) []Step {
	var steps []Step
	if len(lb.NextHops) > 0 {
		steps = append(steps, LeadVIP{Address: lb.VIP.Address, From: lb.NextHops})
	}
	return append(steps, DeleteVIP{lb.VIP.PortID, lb.VIP.Address})
}

// writes returns the number of writing requests for the routes: new ones are added before others are removed.
func (s LeadVIP) writes() int {
	writes := 0
	for _, change := range []struct{ of, without []string }{{s.To, s.From}, {s.From, s.To}} {
		if slices.ContainsFunc(change.of, func(hop string) bool { return !slices.Contains(change.without, hop) }) {
			writes++
		}
	}
	return writes
}

// served returns the load balancer of a Service and its duplicates.
func served(observed model.Observed) []*model.LoadBalancer {
	return withDuplicates(observed.LoadBalancer, observed)
}

// withDuplicates returns a load balancer, nil for none, and the duplicates.
func withDuplicates(first *model.LoadBalancer, observed model.Observed) []*model.LoadBalancer {
	var all []*model.LoadBalancer
	if first != nil {
		all = append(all, first)
	}
	for i := range observed.Duplicates {
		all = append(all, &observed.Duplicates[i])
	}
	return all
}

// advanceRouter is Advance for the steps of provider router.
func advanceRouter(observed *model.Observed, step Step) {
	switch s := step.(type) {
	case CreateVIP:
		lb := *s.LoadBalancer
		lb.FloatingIP, lb.NextHops, lb.Status = nil, nil, active()
		observed.LoadBalancer = &lb
	case LeadVIP:
		for _, lb := range served(*observed) {
			if s.Address == "" && lb == observed.LoadBalancer || lb.VIP.Address == s.Address {
				lb.NextHops, lb.Barred = s.To, nil
			}
		}
	case DeleteVIP:
		if lb := observed.LoadBalancer; lb != nil && lb.VIP.PortID == s.PortID {
			observed.LoadBalancer = nil
		}
		observed.Duplicates = slices.DeleteFunc(slices.Clone(observed.Duplicates), func(lb model.LoadBalancer) bool { return lb.VIP.PortID == s.PortID })
	}
}
