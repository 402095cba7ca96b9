package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Delete returns the steps that delete everything of ours.
//
//	the load balancer             is deleted with its floating IP
//	ours alone                    yes
//	holds what is not ours        no, only our listeners and pools do
//	another's, we were the last   yes, if a Service of this cluster had it made
//	another's, nothing is ours    no
//	made by hand                  no
func Delete(observed model.Observed, opts Options) Plan {
	var steps []Step
	lb := observed.LoadBalancer
	if old := observed.Outgoing; old != nil && len(old.Foreign) == 0 {
		steps = append(steps, DeleteLoadBalancer{ID: old.ID, Name: old.Name, Cascade: true})
		if old.FloatingIP != nil && old.FloatingIP.Owned && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{old.FloatingIP.ID, old.FloatingIP.Address})
		}
	}
	if lb != nil {
		steps = append(steps, deleteWithFloatingIP(lb, opts)...)
	}
	for _, fip := range observed.UnattachedFloatingIPs {
		if fip.Owned && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{fip.ID, fip.Address})
		}
	}
	opts.Addresses = nil // nobody is to be served any more
	steps = append(steps, deleteDuplicates(nil, observed, opts)...)
	return Plan{Steps: steps, Retained: retainedDuplicates(steps, observed, opts)}
}

// deleteWithFloatingIP deletes a floating IP after its load balancer: it may be the only proof
// that this is the Service's, where cloud-provider-openstack made it. On another's load
// balancer it bears the other's name, under which nobody looks for it once that is gone, so
// that it becomes the Service's first.
func deleteWithFloatingIP(lb *model.LoadBalancer, opts Options) []Step {
	steps, fip := deleteLoadBalancer(lb, opts), lb.FloatingIP
	if !lb.Ends() || fip == nil || !fip.Owned || opts.KeepFloatingIP {
		return steps
	}
	if lb.Shared != nil && opts.Describe != "" && fip.Description != opts.Describe {
		steps = append([]Step{ClaimFloatingIP{fip.ID, fip.Address, opts.Describe}}, steps...)
	}
	return append(steps, DeleteFloatingIP{fip.ID, fip.Address})
}

func deleteLoadBalancer(lb *model.LoadBalancer, opts Options) []Step {
	ends := lb.Ends()
	// In ERROR nothing but the whole can be deleted. Of another's, our listeners and
	// pools are the only proof that we may: they must not go before it.
	if ends && (opts.Cascade || lb.Status.Failed() || lb.Shared != nil) {
		return []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true}}
	}
	d := differ{desired: &model.LoadBalancer{}, observed: lb, staleMonitors: !ends && opts.Driver.Quirks.StaleMonitors}
	d.dropListeners()
	if ends {
		d.add(DeleteLoadBalancer{ID: lb.ID, Name: lb.Name})
	}
	return d.steps
}
