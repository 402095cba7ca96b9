package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// asked returns the goal of a Service by its provider.
func (rd *round) asked(ctx context.Context, of goal.Subject, quiet bool) (goal.Goal, error) {
	engine := rd.engine()
	if engine.Settings.Routed(of.Service) {
		return engine.NewRouted(ctx, of, quiet)
	}
	return made(engine.NewAsked(ctx, of, quiet))
}

// kept returns the goal of a refused Service by the provider that serves it.
func (rd *round) kept(ctx context.Context, of goal.Subject, limits goal.Limits) (goal.Goal, error) {
	engine := rd.engine()
	by, err := engine.Providers.ServedBy(ctx, of.Service)
	switch {
	case err != nil:
		return nil, err
	case by != "":
		return engine.NewRoutedKept(ctx, of, by, limits)
	}
	return made(engine.NewKept(ctx, of, limits))
}

// deleteRouted deletes the objects that a Service has of the providers router and port-forwarding. It reports whether it
// may have others, according to what it had before.
func (rd *round) deleteRouted(ctx context.Context) (others bool, err error) {
	svc, engine := rd.req.Service, rd.engine()
	if rd.others == nil {
		only, err := engine.Providers.OnlyRouted(ctx, svc)
		if err != nil {
			return false, err
		}
		others := !only
		rd.others = &others
	}
	if !rd.unrouted {
		may := rd.routed != nil
		if !may {
			may, err = engine.Providers.MayBeRouted(ctx, svc, rd.before.applied)
		}
		if err == nil && may {
			_, err = rd.pursue(ctx, rd.req, func() (goal.Goal, error) {
				rd.routed = engine.NewRoutedGone(goal.Subject{Service: svc})
				return rd.routed, nil
			})
		}
		if err != nil {
			return false, err
		}
	}
	rd.unrouted = true
	return *rd.others, nil
}

// getRouted reports whether an object of provider router or port-forwarding is left of a Service.
func (r *Reconciler) getRouted(ctx context.Context, svc *v1.Service, wanted, only bool) (*v1.LoadBalancerStatus, bool, error) {
	may, err := r.engine().Providers.MayBeRouted(ctx, svc, r.store.Get(svc.UID).Applied)
	if err != nil || !may || wanted && !only {
		return nil, false, err
	}
	return r.engine().NewRoutedGone(goal.Subject{Service: svc}).Exists(ctx, wanted)
}

// neverThere reports whether a deletion only failed because the cloud has no Octavia, for a Service that never got a
// load balancer there. Routed is set if it had a load balancer of another provider.
func (r *rounds) neverThere(ctx context.Context, svc *v1.Service, routed bool, err error) bool {
	if !auth.IsNoOctavia(err) || r.store.Get(svc.UID).Applied != nil {
		return false
	}
	if r.engine().Settings.Forwarded(svc) { // its floating IP may be gone
		return true
	}
	in, failure := r.engine().Providers.InPool(ctx, svc)
	return failure == nil && (routed || in || len(svc.Status.LoadBalancer.Ingress) == 0)
}

// appeared reports whether the load balancer of a creation without an answer has appeared.
func (rd *round) appeared(ctx context.Context) (bool, error) {
	svc, engine := rd.req.Service, rd.engine()
	may, err := engine.Providers.MayBeRouted(ctx, svc, nil)
	if err != nil {
		return false, err
	}
	if may {
		if found, err := engine.NewRoutedGone(goal.Subject{Service: svc}).RoutedAppeared(ctx); err != nil || found {
			return found, err
		}
	}
	if only, err := engine.Providers.OnlyRouted(ctx, svc); err != nil || only {
		return false, err
	}
	found, err := engine.Finder.Claimed(ctx, settings.OwnerOf(svc))
	if rd.neverThere(ctx, svc, false, err) {
		return false, nil
	}
	return found, err
}
