package loadbalancer

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// asked returns the goal of a Service by its provider. A Service that is served by a router cannot change to
// another provider.
func (rd *round) asked(ctx context.Context, of goal.Subject, quiet bool) (goal.Goal, error) {
	engine := rd.engine()
	if engine.Settings.Routed(of.Service) {
		return made(engine.NewRouted(ctx, of, quiet))
	}
	routed, err := engine.OnRouter(ctx, of.Service)
	switch {
	case err != nil:
		return nil, err
	case routed:
		return nil, &lookup.Error{Message: annotation.Path(annotation.Provider).String() +
			": the Service has a VIP of provider router, and cannot change to another provider: delete it and create it again"}
	}
	return made(engine.NewAsked(ctx, of, quiet))
}

// kept returns the goal of a refused Service by the provider that serves it.
func (rd *round) kept(ctx context.Context, of goal.Subject, limits goal.Limits) (goal.Goal, error) {
	engine := rd.engine()
	routed, err := engine.OnRouter(ctx, of.Service)
	switch {
	case err != nil:
		return nil, err
	case routed:
		return made(engine.NewRoutedKept(ctx, of))
	}
	return made(engine.NewKept(ctx, of, limits))
}

// onlyRouted reports whether a Service has had no provider but router, as far as known: then Octavia is not
// asked.
func (s *services) onlyRouted(svc *v1.Service) bool {
	engine := s.engine()
	return engine.Config.LoadBalancer.RouterVIPNetworkID != "" && engine.Settings.Routed(svc) && svc.Annotations[annotation.LoadBalancerID] == "" &&
		!slices.ContainsFunc(engine.Memory.Previous(svc.UID), func(id string) bool { return id != "" })
}

// deleteRouted deletes the objects that a Service has of provider router.
func (rd *round) deleteRouted(ctx context.Context) error {
	if !rd.unrouted && rd.pursuit == nil {
		may, err := rd.engine().MayBeRouted(ctx, rd.req.Service)
		if err != nil {
			return err
		}
		rd.unrouted = !may
	}
	if rd.unrouted {
		return nil
	}
	_, err := rd.pursue(ctx, rd.req, func() (goal.Goal, error) {
		return rd.engine().NewRoutedGone(goal.Subject{Service: rd.req.Service}), nil
	})
	rd.unrouted = err == nil
	return err
}

// getRouted reports whether an object of provider router is left of a Service.
func (r *Reconciler) getRouted(ctx context.Context, svc *v1.Service, wanted bool) (*v1.LoadBalancerStatus, bool, error) {
	may, err := r.engine().MayBeRouted(ctx, svc)
	if err != nil || !may || wanted && !r.onlyRouted(svc) {
		return nil, false, err
	}
	return r.engine().NewRoutedGone(goal.Subject{Service: svc}).Exists(ctx, wanted)
}

// neverThere reports whether a deletion only failed because the cloud has no Octavia, for a Service that never got a
// load balancer there.
func (r *Reconciler) neverThere(ctx context.Context, svc *v1.Service, err error) bool {
	if !auth.IsNoOctavia(err) || r.store.Get(svc.UID).Applied != nil {
		return false
	}
	routed, failure := r.engine().InPool(ctx, svc)
	return failure == nil && (routed || len(svc.Status.LoadBalancer.Ingress) == 0)
}

// appeared reports whether the load balancer of a creation without an answer has appeared.
func (rd *round) appeared(ctx context.Context) (bool, error) {
	svc := rd.req.Service
	if rd.onlyRouted(svc) {
		return rd.engine().NewRoutedGone(goal.Subject{Service: svc}).RoutedAppeared(ctx)
	}
	return rd.engine().Finder.Claimed(ctx, settings.OwnerOf(svc))
}
