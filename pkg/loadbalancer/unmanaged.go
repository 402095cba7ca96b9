package loadbalancer

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// manages reports whether the objects of a Service may be written. If not, its deletion leaves them.
func (s *services) manages(svc *v1.Service) bool { return s.engine().Settings.Manages(svc) }

// unmanaged is the round of a Service whose objects must not be written. It finds the changes that
// a round would make, or its refusal, and reports them in an event. The error is that of an outage.
// Nodes, endpoints and drift start no search for changes. The published address stays.
type unmanaged struct {
	r       *rounds
	req     dispatch.Request
	preview dispatch.Round
	noted   *rehearsal
}

// Step implements dispatch.Round.
func (u *unmanaged) Step(ctx context.Context) (*v1.LoadBalancerStatus, error) {
	r, svc := u.r, u.req.Service
	status := svc.Status.LoadBalancer.DeepCopy()
	if u.preview == nil {
		r.store.Update(svc.UID, func(e *state.Entry) {
			e.DropApplied() // others may change the load balancer
			e.Unsettled = state.Unsettled{}
		})
		if u.req.Operation != dispatch.Ensure {
			return status, nil
		}
		dry, noted := r.rehearsing(svc)
		_, u.preview = dry.begin(ctx, u.req)
		u.noted = noted
	}
	_, err := u.preview.Step(ctx)
	if u.noted.joins(svc, err) {
		err = nil
	}
	var blocked *refusal.BlockedError
	switch {
	case async.IsWaiting(err):
		return nil, err
	case err != nil && refusal.Reason(err) == "" && !errors.As(err, &blocked): // an outage: the changes are unknown
		return status, err
	}
	var steps []string
	for _, step := range u.noted.steps {
		steps = append(steps, step.Text)
	}
	r.engine().Events.Warn(events.Object{Owner: settings.OwnerOf(svc)}, events.Unmanaged(steps, err))
	return status, nil
}

// beginManaged returns the round of a request: one that writes, unless the Service forbids that.
func (r *rounds) beginManaged(ctx context.Context, req dispatch.Request) (context.Context, dispatch.Round) {
	if r.manages(req.Service) {
		return r.begin(ctx, req)
	}
	return ctx, &unmanaged{r: r, req: req}
}
