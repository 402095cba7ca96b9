package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// remember keeps what the cloud has now, so that nothing has to be read as long as nothing
// changes. Reported are the steps that were only reported.
func (e *Engine) remember(in Inputs, r Round, address, named string, reported map[string]bool) {
	svc, lb := in.Service, r.Have.LoadBalancer
	now := e.Clock.Now()
	read := now
	if !r.Have.Listed.IsZero() {
		read = r.Have.Listed
	}
	applied := &state.Applied{
		Service:  cluster.Key(svc),
		Identity: r.Have.As,
		Digests:  state.Digests{Full: e.digest(in, r.Want), Nodeless: nodeless(r.Want, lb, in.Settings)},
		Address:  address,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIP.PortID, Named: named,
			Shared: lb.Shared, Unmonitored: lb.Unmonitored(), Duplicates: idsOf(r.Have.Duplicates),
		},
		Contents: lb,
		Brief:    r.Have.Brief,
		Seen: state.Seen{
			UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Status.Operating, Since: now,
			Confirmed: !r.Wrote && read.Sub(lb.UpdatedAt) > state.AtRest, ChangedByOthers: r.Have.Contended,
		},
		Persisted: state.Persisted{Address: addressWritten(svc, lb.ID, address)},
		Reported:  reported,
	}
	if lb.FloatingIP != nil {
		applied.LoadBalancer.FloatingIPID = lb.FloatingIP.ID
	}
	if applied.Brief {
		applied.Digests.Nodeless = "" // which does not cover members that are out of service
	}
	e.Store.SetApplied(svc.UID, applied)
	e.Store.RebaseOthers(svc.UID, r.Before, r.Have.LoadBalancer, now)
}

// addressWritten reports whether ID and address of a load balancer stand in the annotations
// of a Service, and whom they were written for.
func addressWritten(svc *v1.Service, loadBalancerID, address string) bool {
	all := svc.Annotations
	return all[annotation.LoadBalancerID] == loadBalancerID && all[annotation.LoadBalancerAddress] == address &&
		(all[annotation.WrittenFor] != "" || all[annotation.Fingerprint] != "")
}

// digest condenses what is desired of a Service, once for each Desired.
func (e *Engine) digest(in Inputs, want *Desired) string {
	if want.digest != "" {
		return want.digest
	}
	want.digest = digest.Of(want.LoadBalancer, in.Settings, e.spec(in, want, want.Facts.Driver.Quirks.PreservesClientIP))
	return want.digest
}

// nodeless returns the digest of what is desired without the nodes; "" where it does not cover what is there.
func nodeless(want *Desired, have *model.LoadBalancer, settings *settings.Settings) string {
	if !digest.Covers(want.LoadBalancer, have, settings) {
		return ""
	}
	return digest.Nodeless(want.LoadBalancer, settings)
}

func idsOf(all []model.LoadBalancer) []string {
	var ids []string
	for _, lb := range all {
		ids = append(ids, lb.ID)
	}
	return ids
}

// leaveOthers takes the Service off the load balancers where it was before.
func (a *Asked) leaveOthers(ctx context.Context, r Round, lock *async.Guard) error {
	left, err := a.e.elsewhere(ctx, a.in, r.Have.LoadBalancer)
	left = slices.DeleteFunc(left, func(f observe.Found) bool { return r.Have.Has(f.LoadBalancers[0].ID) }) // what the plan leaves alone
	if err != nil || len(left) == 0 {
		return err
	}
	return a.e.leave(ctx, a.in, left, plan.Options{KeepFloatingIP: a.in.Settings.Floating.Keep}, lock)
}

// settledOn reports whether a Service surely has nothing on any load balancer but this one:
// what is known or written down of it, or its published address, is there. Both come after
// the old one has been left.
func settledOn(lb *model.LoadBalancer, in Inputs) bool {
	published := publishedAddresses(in.Service)
	switch {
	case lb == nil:
		return len(in.Previous) == 0 && len(published) == 0
	case len(in.Previous) > 0:
		return !slices.ContainsFunc(in.Previous, func(id string) bool { return id != lb.ID })
	case len(published) == 0:
		return lb.Shared == nil // it may have had its own before it came to this one
	}
	return slices.Contains(published, lb.VIP.Address) || lb.FloatingIP != nil && slices.Contains(published, lb.FloatingIP.Address)
}

// elsewhere looks for what a Service has left behind on load balancers other than the one
// that it is on now, which may be nil.
func (e *Engine) elsewhere(ctx context.Context, in Inputs, lb *model.LoadBalancer) ([]observe.Found, error) {
	if settledOn(lb, in) {
		return nil, nil
	}
	except := ""
	if lb != nil {
		except = lb.ID
	}
	hints := e.hints(in.Service, "")
	hints.Before = in.Previous
	return e.Cloud.Observer.Elsewhere(ctx, in.ID, hints, except)
}

// leave takes everything of a Service off the load balancers where it has been before, and
// deletes those that were its own.
func (e *Engine) leave(ctx context.Context, in Inputs, all []observe.Found, options plan.Options, lock *async.Guard) error {
	options.Cascade = e.Config.LoadBalancer.CascadeDelete
	for _, found := range all {
		if _, err := lock.Acquire(ctx, e.Cloud.Locks, found.LoadBalancers[0].ID); err != nil {
			return err
		}
		observed, err := e.contents(ctx, found, e.outline(nil))
		if err != nil {
			return err
		}
		if observed.LoadBalancer == nil {
			return fmt.Errorf("load balancer %s, where the Service was before, is gone all of a sudden: looking again", found.LoadBalancers[0].ID)
		}
		if err := e.Cloud.Observer.FloatingIPs(ctx, found.As, observed, observe.FloatingIPHints{}); err != nil {
			return err
		}
		observed.UnattachedFloatingIPs = nil // those belong to where the Service is now
		todo := floatingIPsFirst(plan.Delete(*observed, options))
		e.Events.Planned(in.Service, todo)
		if _, err := e.Cloud.Applier.Run(ctx, apply.Request{ID: found.As, Observed: *observed, Plan: todo, Progress: in.Progress}); err != nil {
			return err
		}
	}
	return nil
}

// floatingIPsFirst has floating IPs deleted before their load balancers: those of a load
// balancer that is gone nobody finds any more, where the Service needs none.
func floatingIPsFirst(p plan.Plan) plan.Plan {
	var first, others []plan.Step
	for _, step := range p.Steps {
		if _, is := step.(plan.DeleteFloatingIP); is {
			first = append(first, step)
		} else {
			others = append(others, step)
		}
	}
	p.Steps = append(first, others...)
	return p
}
