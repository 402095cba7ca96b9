package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// createLoadBalancer creates a load balancer with all of its parts. The caller has just read that
// there is none.
func (r *Run) createLoadBalancer(ctx context.Context, s plan.CreateLoadBalancer) error {
	made, err := r.sendCreation(ctx, s)
	if err != nil {
		return err
	}
	if s.Replaces != "" {
		r.observed.Outgoing = r.observed.LoadBalancer
	}
	r.observed.LoadBalancer = made
	r.working = watcher.Creating
	return nil
}

// lostCreation is a creation without an answer, with the number of looks for its result.
type lostCreation struct {
	cause error
	looks int
}

// sendCreation sends a creation, and returns the load balancer.
func (r *Run) sendCreation(ctx context.Context, s plan.CreateLoadBalancer) (*model.LoadBalancer, error) {
	if r.current.lost != nil {
		return r.findLostCreation(ctx, s)
	}
	release, err := r.creations.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	wanted := shrinkLoadBalancer(s.LoadBalancer, driver.QuirksOf(s.LoadBalancer.Provider))
	created, err := r.Octavia.CreateLoadBalancer(ctx, loadBalancerOpts(wanted))
	switch {
	case err == nil:
		return withSent(observe.Created(*created).Model(r.id), wanted), nil
	case apierror.IsUnsure(err):
		r.current.lost = &lostCreation{cause: err}
		release()
		return r.findLostCreation(ctx, s)
	case losesPort(err) && len(s.LoadBalancer.Listeners) > 0:
		return nil, &FullCreateError{s, err}
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

// findLostCreation looks for the load balancer of a creation without an answer.
func (r *Run) findLostCreation(ctx context.Context, s plan.CreateLoadBalancer) (*model.LoadBalancer, error) {
	cause := r.current.lost.cause
	var made octavia.LoadBalancer
	err := r.findLost(ctx, func(ctx context.Context) (bool, error) {
		found, err := r.Observer.Claimed(ctx, r.id)
		at := slices.IndexFunc(found, func(lb octavia.LoadBalancer) bool {
			known := r.observed.LoadBalancer
			return known == nil || known.ID != lb.ID
		})
		if at >= 0 {
			made = found[at]
		}
		return at >= 0, err
	})
	switch {
	case err == nil:
		return r.Observer.Contents(ctx, r.id, made)
	case err == cause && len(s.LoadBalancer.Listeners) > 0: //nolint:errorlint // not one that contains it
		return nil, &FullCreateError{s, cause}
	}
	return nil, err
}

// findLost looks, a few times, for the result of a creation without an answer: the service may still work on it.
// If there is none, the creation has probably failed; the next attempt looks again before it sends another. If the
// service itself reports the failure, one look is enough, and the error is that report.
func (r *Run) findLost(ctx context.Context, look func(context.Context) (bool, error)) error {
	looks, cause := 3, r.current.lost.cause
	if apierror.IsCrash(cause) {
		looks = 1
	}
	for ; r.current.lost.looks < looks; r.current.lost.looks++ {
		err := async.Sleep(ctx, r.Clock, telemetry.Octavia, "lost creation", r.Drivers.Timing("").LostCreateRetry<<r.current.lost.looks)
		if async.IsWaiting(err) {
			return err
		}
		if err != nil {
			return &UnsureCreationError{fmt.Errorf("%w: %w", cause, err)}
		}
		found, err := look(ctx)
		if err != nil {
			return &UnsureCreationError{fmt.Errorf("%w, and cannot look for what became of it: %w", cause, err)}
		}
		if found {
			return nil
		}
	}
	if apierror.IsCrash(cause) {
		return cause
	}
	return &UnsureCreationError{fmt.Errorf("%w: %w", cause, errNotFoundYet)}
}
