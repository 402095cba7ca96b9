package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Delete gives the steps that remove everything of ours. A load balancer that
// also holds what is not ours stays, with its floating IP, and only our listeners
// and pools go.
func Delete(observed model.Observed, opts Options) Plan {
	steps := dropSurplus(observed)
	lb := observed.LoadBalancer
	if lb != nil {
		steps = append(steps, deleteLoadBalancer(lb, opts)...)
	}
	if lb != nil && len(lb.Foreign) == 0 && lb.FloatingIP != nil && lb.FloatingIP.Owned && !opts.KeepFloatingIP {
		steps = append(steps, DeleteFloatingIP{lb.FloatingIP.ID, lb.FloatingIP.Address})
	}
	for _, fip := range observed.Spare {
		if fip.Owned && !opts.KeepFloatingIP {
			steps = append(steps, DeleteFloatingIP{fip.ID, fip.Address})
		}
	}
	return Plan{Steps: steps}
}

func deleteLoadBalancer(lb *model.LoadBalancer, opts Options) []Step {
	shared := len(lb.Foreign) > 0
	if !shared && (opts.Cascade || lb.Status.Failed()) { // in ERROR nothing but the whole can be deleted
		return []Step{DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true}}
	}
	d := differ{desired: &model.LoadBalancer{}, observed: lb, forgetful: shared && opts.Forgetful}
	d.dropListeners()
	if !shared {
		d.add(DeleteLoadBalancer{ID: lb.ID, Name: lb.Name})
	}
	return d.steps
}
