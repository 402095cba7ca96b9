package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Delete returns the steps that delete all objects of the Service.
//
//	the load balancer             is deleted with its floating IP
//	ours alone                    yes
//	holds objects of others       no, only our listeners and pools
//	another's, we were the last   yes, if it was created for a Service of this cluster
//	another's, nothing is ours    no
//	no cluster's                  no
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
	opts.Addresses = nil // the Service is no longer served
	steps = append(steps, deleteDuplicates(nil, observed, opts)...)
	return Plan{Steps: steps, Retained: retainedDuplicates(steps, observed, opts)}
}

// deleteWithFloatingIP deletes a floating IP after its load balancer, because it may be the only
// proof that a load balancer of cloud-provider-openstack is this Service's. On another's load
// balancer it has the other's description, by which it would not be found after that is gone, so
// that it is claimed first.
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
	// A load balancer in ERROR can only be deleted as a whole. On another's, our listeners and
	// pools are the only proof that we may delete it: they must not be deleted before it.
	if ends && (opts.Cascade || lb.Status.Failed() || lb.Shared != nil) {
		return []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true}}
	}
	opts.Driver.Quirks.StaleMonitors = opts.Driver.Quirks.StaleMonitors && !ends
	d := differ{pair: newPair(&model.LoadBalancer{}, lb, opts)}
	d.dropListeners()
	if ends {
		d.add(DeleteLoadBalancer{ID: lb.ID, Name: lb.Name})
	}
	return d.steps
}
