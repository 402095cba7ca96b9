package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// A cascade also deletes parts that another owner has added since the load balancer was read. If
// time has passed since, for example because another client held the load balancer, or if another
// Service is on it, one more request reads its parts again.

// stillOurs returns a *ChangedError if a load balancer to be deleted as a whole now has parts of
// another owner. It sends a request only if time has passed since the load balancer was read, or if
// this process knows another Service on it: that may have joined it after the read and before the lock.
func (r *Run) stillOurs(ctx context.Context, step plan.Step, again bool) error {
	s, deletes := step.(plan.DeleteLoadBalancer)
	if !deletes || !s.Cascade || !again && !r.operations.waited && !r.hasGuests(s.ID) {
		return nil
	}
	listed, err := r.Observer.Octavia.LoadBalancer(ctx, s.ID)
	if apierror.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := r.Observer.Outline(ctx, r.id, *listed, r.known(s.ID))
	if err != nil || len(now.Foreign) == 0 {
		return err
	}
	return &ChangedError{ID: s.ID, How: "it also holds " + now.Foreign[0].String()}
}

// hasGuests reports whether this process knows another Service on a load balancer.
func (c *cloud) hasGuests(id string) bool {
	return c.Guests != nil && c.Guests(id, types.UID(c.id.ServiceUID))
}

// known returns the known state of a load balancer, nil for none.
func (c *cloud) known(id string) *model.LoadBalancer {
	for _, lb := range []*model.LoadBalancer{c.observed.LoadBalancer, c.observed.Outgoing} {
		if lb != nil && lb.ID == id {
			return lb
		}
	}
	for i := range c.observed.Duplicates {
		if lb := &c.observed.Duplicates[i]; lb.ID == id {
			return lb
		}
	}
	return nil
}
