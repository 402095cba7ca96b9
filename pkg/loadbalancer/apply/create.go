package apply

import (
	"context"
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// createLoadBalancer makes a load balancer with all that is in it. The caller has
// just looked that there is none.
func (r *run) createLoadBalancer(ctx context.Context, s plan.CreateLoadBalancer) error {
	before := r.observed.LoadBalancer
	wanted := fitting(s.LoadBalancer, driver.QuirksOf(s.LoadBalancer.Provider))
	created, err := r.Octavia.CreateLoadBalancer(ctx, loadBalancerOpts(wanted))
	switch {
	case err == nil:
		r.observed.LoadBalancer = withMonitors(observe.Created(*created).Model(r.id), wanted)
	case apierror.IsUnsure(err):
		made, err := r.lookForLoadBalancer(ctx, s, err)
		if err != nil {
			return err
		}
		r.observed.LoadBalancer = made
	case losesPort(err) && len(wanted.Listeners) > 0:
		return &FullCreateError{s, err}
	default:
		return err
	}
	if s.Replaces != "" {
		r.observed.Retiring = before
	}
	r.working = creating
	return nil
}

// withMonitors adds the monitors that were asked for to the answer of a creation:
// Octavia before 14.0 makes them but does not tell. The status tree gives their IDs.
func withMonitors(made, wanted *model.LoadBalancer) *model.LoadBalancer {
	for i := range made.Listeners {
		pool := &made.Listeners[i].Pool
		l := wanted.Listener(made.Listeners[i].Key())
		if l == nil {
			continue
		}
		pool.PersistenceTimeout = l.Pool.PersistenceTimeout // the client's library does not read it
		if l.Pool.Monitor != nil && pool.Monitor == nil {
			monitor := *l.Pool.Monitor
			monitor.Status = pool.Status
			pool.Monitor = &monitor
		}
	}
	return made
}

// losesPort tells refusals after which nothing is left of a load balancer with
// contents but the port of its VIP: Octavia has Neutron make it before it looks at the
// quotas of what is in the load balancer and asks the provider.
func losesPort(err error) bool {
	return apierror.IsPartsQuota(err) || apierror.IsUnsupported(err)
}

// lookForLoadBalancer looks, a few times, whether a creation without an answer
// was carried out: the service may still be at it. When nothing shows up the
// creation has failed as far as anyone can tell; it is not sent again before
// another look at the next try. Where the service itself says that it failed, it is
// not at it any more, and one look tells.
func (r *run) lookForLoadBalancer(ctx context.Context, s plan.CreateLoadBalancer, cause error) (*model.LoadBalancer, error) {
	looks := 3
	if apierror.IsCrash(cause) {
		looks = 1
	}
	for i := range looks {
		if err := r.sleep(ctx, r.Drivers.Timing("").LostCreateRetry<<i); err != nil {
			return nil, &UnsureCreationError{fmt.Errorf("%w: %w", cause, err)}
		}
		found, err := r.Observer.Claimed(ctx, r.id)
		if err != nil {
			return nil, &UnsureCreationError{fmt.Errorf("%w, and cannot look for what became of it: %w", cause, err)}
		}
		for _, lb := range found {
			if known := r.observed.LoadBalancer; known == nil || known.ID != lb.ID {
				return r.Observer.Contents(ctx, r.id, lb)
			}
		}
	}
	switch {
	case !apierror.IsCrash(cause):
		return nil, &UnsureCreationError{fmt.Errorf("%w: %w", cause, errUnfound)}
	case len(s.LoadBalancer.Listeners) > 0:
		return nil, &FullCreateError{s, cause}
	}
	return nil, cause
}
