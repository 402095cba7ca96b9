package apply

import (
	"context"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// expecting is the key of a context for what is told of the end of a Run.
type expecting struct{}

// Expecting gives a context with which Run tells, each time that it begins to wait
// for the cloud, how long all that is left of it usually takes.
func Expecting(ctx context.Context, tell func(time.Duration)) context.Context {
	return context.WithValue(ctx, expecting{}, tell)
}

// tell says how long the end of what is waited for, and the steps after it, usually
// take.
func (r *run) tell(ctx context.Context, k kind) {
	tell, ok := ctx.Value(expecting{}).(func(time.Duration))
	if !ok {
		return
	}
	left := r.experience.expect(k)
	for _, step := range r.left {
		switch step.(type) {
		case plan.CreateLoadBalancer:
			left += r.experience.expect(kind{k.provider, creating})
		case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.DeleteFloatingIP, plan.DeleteLoadBalancer:
		default:
			left += r.experience.expect(kind{k.provider, updating})
		}
	}
	tell(left)
}

// ExpectCreation gives how long the creation of a load balancer usually takes once
// Octavia has accepted it.
func (a *Applier) ExpectCreation(provider string) time.Duration {
	return a.experience.expect(kind{provider, creating})
}

// ExpectChange gives how long a change of one part of a load balancer usually takes.
func (a *Applier) ExpectChange(provider string) time.Duration {
	return a.experience.expect(kind{provider, updating})
}

// ExpectDeletion gives how long a deletion usually takes.
func (a *Applier) ExpectDeletion() time.Duration {
	return a.experience.expect(kind{operation: deleting})
}
