package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Several Services can be on one load balancer: the one that it was made for, its
// owner, and others that name it in their annotation. Each has its own listeners and
// pools there, marked with its UID; the rest, the floating IP above all, is the
// owner's business. The last Service to leave takes the load balancer with it, if a
// Service of this cluster had it made.

// onShared leaves of what a Service asks for its listeners: the load balancer itself
// is another's.
func onShared(desired *model.LoadBalancer) *model.LoadBalancer {
	return &model.LoadBalancer{Name: desired.Name, Tags: desired.Tags, Listeners: desired.Listeners, Shared: &model.Shared{},
		VIP: model.VIP{VIPSettings: desired.VIP.VIPSettings}} // which plan refuses, unless they are there
}

// mayShare refuses to put the Service on a load balancer that it may not share. A
// Service that has listeners there already stays, whoever put it there; that it has
// published the address says nothing of that.
func (p *pass) mayShare(ctx context.Context) error {
	lb := p.observed.LoadBalancer
	if lb == nil || lb.Shared == nil {
		return nil
	}
	if asked := p.settings.LoadBalancerIP; asked != "" && asked != lb.VIP.Address && (lb.FloatingIP == nil || asked != lb.FloatingIP.Address) {
		return field.Invalid(field.NewPath("spec", "loadBalancerIP"), asked,
			fmt.Sprintf("the Service shares load balancer %s, which has another address: leave the field empty", lb.ID))
	}
	if len(lb.Listeners) > 0 {
		return nil
	}
	if err := p.consent(ctx); err != nil {
		return err
	}
	most := p.options.Config.LoadBalancer.MaxSharedLB
	if others := sharers(lb); len(others) >= most {
		return p.notShared(ctx, fmt.Sprintf("it serves %d others, and max-shared-lb of cloud.conf allows %d Services: name another load balancer, or ask the cluster's operator for more", len(others), most))
	}
	return nil
}

// sharers names the Services that have listeners on a load balancer, other than ours.
func sharers(lb *model.LoadBalancer) []string {
	var names []string
	for _, foreign := range lb.Foreign {
		if foreign.Service != "" {
			names = append(names, foreign.Service)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// consent asks whether the owner lets the Service onto its load balancer.
//
//	made for                       allowed
//	nobody in Kubernetes           unless shared-lb-unmanaged=false: who made it by hand gave its ID away
//	a Service of its namespace     yes
//	a Service of another one       with shared-lb-scope=cluster, or where that namespace allows it
//	another cluster                with shared-lb-scope=project
func (p *pass) consent(ctx context.Context) error {
	owner := p.as.Sharing.Owner
	if !owner.Kubernetes {
		if !p.options.Config.LoadBalancer.SharedLBUnmanaged {
			return p.notShared(ctx, "it was made by hand, and cloud.conf says shared-lb-unmanaged=false: ask the cluster's operator")
		}
		return nil
	}
	allowed, err := p.lets(ctx, p.id, owner)
	switch {
	case err != nil:
		return fmt.Errorf("load balancer %s: %w", p.observed.LoadBalancer.ID, err)
	case allowed:
		return nil
	case !p.id.InThisCluster(owner):
		return p.notShared(ctx, "it was made for another cluster, which only shared-lb-scope=project in cloud.conf allows to share: ask the cluster's operator")
	case owner.Namespace == "":
		return p.notShared(ctx, "the namespace that it was made for cannot be told: shared-lb-scope=cluster in cloud.conf allows all to share it: ask the cluster's operator")
	default:
		return p.notShared(ctx, fmt.Sprintf("it was made for another namespace, which does not allow %s to share it: "+
			"only that Namespace's annotation %s: %q does", p.svc.Namespace, annotation.SharingFrom, p.svc.Namespace))
	}
}

// lets tells whether an owner in Kubernetes lets a Service have what was made for it.
func (r *Reconciler) lets(ctx context.Context, id ownership.Identity, owner ownership.Owner) (bool, error) {
	scope := r.options.Config.LoadBalancer.SharedLBScope
	switch {
	case scope == config.SharedLBScopeProject:
		return true, nil
	case !id.InThisCluster(owner):
		return false, nil
	case owner.Namespace == id.Namespace || scope == config.SharedLBScopeCluster:
		return true, nil
	case owner.Namespace == "":
		return false, nil
	}
	allowed, err := r.allowedBy(ctx, owner.Namespace)
	return slices.Contains(allowed, "*") || slices.Contains(allowed, id.Namespace), err
}

// allowedBy gives the namespaces that may have what was made for a namespace.
func (r *Reconciler) allowedBy(ctx context.Context, namespace string) ([]string, error) {
	if r.options.Namespace == nil {
		return nil, nil
	}
	found, err := r.options.Namespace(ctx, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read whom the owner's namespace lets share what it has: %w", err)
	}
	var allowed []string
	for name := range strings.SplitSeq(found.Annotations[annotation.SharingFrom], ",") {
		allowed = append(allowed, strings.TrimSpace(name))
	}
	return allowed, nil
}

// notShared says why, and nothing of whom the load balancer was made for: who named it
// may know no more of it than its ID. The operator finds that in the log.
func (p *pass) notShared(ctx context.Context, why string) error {
	lb := p.observed.LoadBalancer
	klog.FromContext(ctx).Info("Refused to share a load balancer", "loadBalancer", lb.ID, "owner", lb.Shared.Owner, "others", message.JoinLimited(sharers(lb)), "why", why)
	return field.Invalid(annotation.Path(annotation.LoadBalancerID), lb.ID, "the load balancer cannot be shared: "+why)
}

// sharesWithoutFloatingIP reports whether an external Service gets no floating IP, as the
// load balancer of another Service that it is on has none.
func (p *pass) sharesWithoutFloatingIP() bool {
	lb := p.observed.LoadBalancer
	return lb != nil && lb.Shared != nil && lb.FloatingIP == nil && p.settings.FloatingIP()
}

// asksForLess tries whether what was written down is of a load balancer that is another's,
// or that another controller made without health monitors, which only the digest of what
// the Service asks for there can tell. If it is neither, all is as asksFor has left it,
// and so is the digest.
func (p *pass) asksForLess(ctx context.Context, known *state.Applied, all string) (string, error) {
	wanted, facts := p.wanted, p.known
	for _, on := range []struct{ shared, unmonitored bool }{{true, false}, {false, true}, {true, true}} {
		if on.unmonitored && !p.settings.MonitoredByPolicy() {
			continue
		}
		if known.LoadBalancer.Shared, known.LoadBalancer.Unmonitored = nil, on.unmonitored; on.shared {
			known.LoadBalancer.Shared = &model.Shared{}
		}
		digest, err := p.asksFor(ctx, known)
		if err != nil || digest == known.Digests.Full {
			return digest, err
		}
	}
	known.LoadBalancer.Shared, known.LoadBalancer.Unmonitored, p.wanted, p.known = nil, false, wanted, facts
	return all, nil
}

// standIn is a load balancer like the one that is remembered, as far as what the
// Service asks for depends on it.
func (p *pass) standIn(known *state.Applied) *model.LoadBalancer {
	lb := &model.LoadBalancer{Provider: known.LoadBalancer.Provider, Shared: known.LoadBalancer.Shared, Adopted: known.LoadBalancer.Unmonitored}
	if known.LoadBalancer.FloatingIPID != "" {
		lb.FloatingIP = fittingFloatingIP(p.settings)
	}
	return lb
}

// unpack takes what is remembered of the load balancer for what is there, once it
// has the lock of it: who had it before may have changed what is remembered.
func (p *pass) unpack(ctx context.Context, known *state.Applied) error {
	if known == nil {
		return nil
	}
	if _, err := p.holder.hold(ctx, &p.locks, known.LoadBalancer.ID); err != nil {
		return err
	}
	if again := p.store.Get(p.svc.UID).Applied; again != nil {
		known = again
	}
	if known.Contents != nil {
		p.observed = &model.Observed{LoadBalancer: known.Contents.Unpack()}
		p.as = known.Identity
	}
	p.as.Sharing.Is = known.LoadBalancer.Shared != nil
	return nil
}

// leaveOthers takes the Service off the load balancers where it was before.
func (p *pass) leaveOthers(ctx context.Context) error {
	left, err := p.elsewhere(ctx, p.svc, p.id, p.observed.LoadBalancer, p.before)
	left = slices.DeleteFunc(left, func(f observe.Found) bool { return p.observed.Has(f.LoadBalancers[0].ID) }) // what the plan leaves alone
	if err != nil || len(left) == 0 {
		return err
	}
	return p.leave(ctx, p.svc, left, plan.Options{KeepFloatingIP: p.settings.Floating.Keep}, &p.holder, p.progress)
}

// snapshot notes what the others on the load balancer see of ours, before a change. It has
// nothing but what carry compares.
func (p *pass) snapshot() *model.LoadBalancer {
	lb := p.observed.LoadBalancer
	if lb == nil {
		return nil
	}
	before := &model.LoadBalancer{ID: lb.ID, UpdatedAt: lb.UpdatedAt, FloatingIP: lb.FloatingIP}
	for _, l := range lb.Listeners {
		before.Listeners = append(before.Listeners, model.Listener{ID: l.ID, Pool: model.Pool{ID: l.Pool.ID}})
	}
	for _, pool := range lb.Orphans {
		before.Orphans = append(before.Orphans, model.Pool{ID: pool.ID})
	}
	return before
}
