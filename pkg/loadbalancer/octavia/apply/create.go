package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// creation creates a load balancer with all of its parts. If the answer is lost, it looks for the result.
type creation struct {
	*cloud
	// lost is the creation without an answer; nil for none.
	lost *lostCreation
}

// apply creates a load balancer. The round has observed that it does not exist.
func (c *creation) apply(ctx context.Context, s plan.CreateLoadBalancer) error {
	made, err := c.send(ctx, s)
	if err != nil {
		return err
	}
	if s.Replaces != "" {
		c.observed.Outgoing = c.observed.LoadBalancer
	}
	c.observed.LoadBalancer, c.lost = made, nil
	return nil
}

// lostCreation is a creation without an answer, with the number of looks for its result.
type lostCreation struct {
	cause error
	looks int
}

// send sends a creation, and returns the load balancer.
func (c *creation) send(ctx context.Context, s plan.CreateLoadBalancer) (*model.LoadBalancer, error) {
	if c.lost != nil {
		return c.find(ctx, s)
	}
	release, err := c.creations.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	wanted := shrinkLoadBalancer(s.LoadBalancer, driver.QuirksOf(s.LoadBalancer.Provider))
	created, err := c.Octavia.CreateLoadBalancer(ctx, loadBalancerOpts(wanted))
	switch {
	case err == nil:
		return withSent(observe.Created(*created).Model(c.id), wanted), nil
	case apierror.IsUnsure(err):
		c.lost = &lostCreation{cause: err}
		release()
		return c.find(ctx, s)
	case losesPort(err) && len(s.LoadBalancer.Listeners) > 0:
		return nil, &FullCreateError{err}
	}
	return nil, err
}

// withSent adds to the answer of a creation the parts that it lacks: members, which are not read
// from it, and monitors, which Octavia before 14.0 creates but omits. The status tree has their
// IDs, and shows if all exist. Made becomes the result, wanted stays unchanged.
func withSent(made, wanted *model.LoadBalancer) *model.LoadBalancer {
	for i := range made.Listeners {
		pool := &made.Listeners[i].Pool
		l := wanted.Listener(made.Listeners[i].Key())
		if l == nil {
			continue
		}
		pool.Members = l.Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.Status = model.Status{Provisioning: pool.Status.Provisioning}
			return m
		})
		if l.Pool.Monitor != nil && pool.Monitor == nil {
			monitor := *l.Pool.Monitor
			monitor.Status = pool.Status
			pool.Monitor = &monitor
		}
	}
	made.Sort()
	return made
}

// losesPort reports refusals of a full creation that leave the VIP's port behind: Octavia makes
// Neutron create the port before it checks the quotas of the parts and calls the provider.
func losesPort(err error) bool {
	return apierror.IsPartsQuota(err) || apierror.IsUnsupported(err)
}

// find looks for the load balancer of a creation without an answer.
func (c *creation) find(ctx context.Context, s plan.CreateLoadBalancer) (*model.LoadBalancer, error) {
	var made octavia.LoadBalancer
	found, err := c.lost.find(ctx, c.Applier, func(ctx context.Context) (bool, error) {
		found, err := c.Observer.Claimed(ctx, c.id)
		at := slices.IndexFunc(found, func(lb octavia.LoadBalancer) bool {
			known := c.observed.LoadBalancer
			return known == nil || known.ID != lb.ID
		})
		if at >= 0 {
			made = found[at]
		}
		return at >= 0, err
	})
	switch {
	case err != nil:
		return nil, err
	case found:
		return c.Observer.Contents(ctx, c.id, made)
	case len(s.LoadBalancer.Listeners) > 0:
		return nil, &FullCreateError{c.lost.cause}
	}
	return nil, c.lost.cause
}

// find looks, a few times, for the result of a creation without an answer: the service may still work on it.
// If there is none, the creation has probably failed; the next attempt looks again before it sends another. If the
// service itself reports the failure in l.cause, one look is enough, and find returns false without an error.
func (l *lostCreation) find(ctx context.Context, a *Applier, look func(context.Context) (bool, error)) (bool, error) {
	looks, cause := 3, l.cause
	if apierror.IsCrash(cause) {
		looks = 1
	}
	for ; l.looks < looks; l.looks++ {
		err := async.Sleep(ctx, a.Clock, telemetry.Octavia, "lost creation", a.Drivers.Timing("").LostCreateRetry<<l.looks)
		if async.IsWaiting(err) {
			return false, err
		}
		if err != nil {
			return false, &UnsureCreationError{fmt.Errorf("%w: %w", cause, err)}
		}
		found, err := look(ctx)
		if err != nil {
			return false, &UnsureCreationError{fmt.Errorf("%w, and cannot look for what became of it: %w", cause, err)}
		}
		if found {
			return true, nil
		}
	}
	if apierror.IsCrash(cause) {
		return false, nil
	}
	return false, &UnsureCreationError{fmt.Errorf("%w: %w", cause, errNotFoundYet)}
}
