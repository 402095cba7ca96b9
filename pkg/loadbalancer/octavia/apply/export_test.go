package apply

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Functions for tests of the limits, and of the result of a creation.
var (
	Shrink      = shrinkLoadBalancer
	Size        = size
	AtMost      = atMost
	WithSent    = withSent
	MembersOpts = membersOpts
	CreateOpts  = loadBalancerOpts
)

// Run carries out a plan as the queue of rounds does: it calls Continue after each wait.
func (a *Applier) Run(ctx context.Context, req Request) (model.Observed, error) {
	run := NewRun(req)
	return resume(ctx, func(ctx context.Context) (model.Observed, error) { return a.Continue(ctx, run) })
}

// RunUntilItWaits is Run that calls waits when it waits for the first time.
func (a *Applier) RunUntilItWaits(ctx context.Context, waits func(), req Request) (model.Observed, error) {
	run := NewRun(req)
	return resume(ctx, func(ctx context.Context) (model.Observed, error) {
		observed, err := a.Continue(ctx, run)
		if async.IsWaiting(err) {
			waits()
		}
		return observed, err
	})
}

// SettleParts is Settle for a load balancer, called after each wait.
func (a *Applier) SettleParts(ctx context.Context, lb *model.LoadBalancer) (*model.LoadBalancer, error) {
	s := NewSettling(lb)
	return resume(ctx, func(ctx context.Context) (*model.LoadBalancer, error) { return a.Settle(ctx, s) })
}

func resume[T any](ctx context.Context, step func(context.Context) (T, error)) (T, error) {
	woken := make(chan struct{}, 1)
	slot := &async.Slot{Wake: func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}}
	defer slot.Clear()
	for {
		result, err := step(async.WithSlot(ctx, slot))
		if !async.IsWaiting(err) {
			return result, err
		}
		select {
		case <-woken:
		case <-ctx.Done():
		}
	}
}
