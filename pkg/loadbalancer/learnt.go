package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// learnt is what providers have refused since the process began, so that each such
// request is tried once. Its zero value is ready.
type learnt struct {
	mu     sync.Mutex
	lacked map[string][]desire.Feature
	// ranges tells that Octavia refuses any that is made together with source ranges.
	ranges bool
}

// of gives what a provider has refused.
func (l *learnt) of(provider string) []desire.Feature {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lacked[provider])
}

// from takes a step that a provider has refused with 501. It is true when there is
// another way to do the same. That a load balancer is refused even when it is empty
// shows that it was not for what is in it.
func (l *learnt) from(provider string, refused *apply.RefusedError) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lacks desire.Feature
	switch s := refused.Step.(type) {
	case plan.CreateLoadBalancer:
		if lacks = desire.FullCreate; len(s.LoadBalancer.Listeners) == 0 {
			l.lacked[provider] = slices.DeleteFunc(l.lacked[provider], func(f desire.Feature) bool { return f == lacks })
			return false
		}
	case plan.SetMembers:
		lacks = desire.MemberBatches
	default:
		return false
	}
	if !desire.Learns(provider) || slices.Contains(l.lacked[provider], lacks) {
		return false
	}
	if l.lacked == nil {
		l.lacked = map[string][]desire.Feature{}
	}
	l.lacked[provider] = append(l.lacked[provider], lacks)
	return true
}

// fills reports whether load balancers like this one are created empty, and then filled,
// as Octavia has refused to create one at once.
func (l *learnt) fills(desired *model.LoadBalancer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limited := slices.ContainsFunc(desired.Listeners, func(l model.Listener) bool { return len(l.AllowedCIDRs) > 0 })
	return l.ranges && limited
}

// learnsToFill takes from a load balancer that was refused with everything in it that
// it is to be made empty. It is true when that is likely to help at once: what a quota
// or the provider refuses, they refuse afterwards too.
func (p *pass) learnsToFill(ctx context.Context, err error) bool {
	var refused *apply.FullCreateError
	if !errors.As(err, &refused) {
		return false
	}
	klog.FromContext(ctx).Info("Octavia has refused the load balancer with everything in it, making it empty first from now on", "err", refused.Err)
	p.store.MarkCreateEmpty(p.svc.UID)
	if openstack.IsSourceRangeCrash(err) {
		p.learnt.mu.Lock()
		p.learnt.ranges = true
		p.learnt.mu.Unlock()
	}
	p.observed = nil
	return openstack.IsCrash(err)
}

// checkProvider refuses a provider that the Service names for a new load balancer
// and Octavia does not have.
func (p *pass) checkProvider(ctx context.Context, observed *model.Observed) error {
	if !p.settings.ProviderAsked || observed.LoadBalancer != nil {
		return nil
	}
	enabled, err := p.octavia.Providers(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(enabled, p.settings.Provider) {
		return nil
	}
	return field.NotSupported(annotation.Path(annotation.Provider), p.settings.Provider, enabled)
}

// checkFamilies refuses members that the provider cannot serve at the VIP, which is there
// or goes where the Service or cloud.conf says: elsewhere it is of the members' family.
func (p *pass) checkFamilies(ctx context.Context, settings desire.Settings, can desire.Capabilities, known desire.Facts, existing *model.LoadBalancer) error {
	if !desire.NeedsOneFamily(p.svc, can) {
		return nil
	}
	vip := model.VIP{}
	switch {
	case existing != nil:
		vip.Address = existing.VIP.Address
	case settings.SubnetID != "":
		vip.SubnetID = known.VIPSubnetID
	}
	family, err := p.facts.Family(ctx, vip)
	if err != nil {
		return err
	}
	if errs := desire.ValidateFamilies(p.svc, settings, can, family); len(errs) > 0 {
		return message.Invalid(errs)
	}
	return nil
}

// capabilities gives what the provider can do.
func (p *pass) capabilities(observed *model.Observed) desire.Capabilities {
	provider := p.provider(p.settings, observed)
	without := p.learnt.of(provider)
	if p.options.Config.LoadBalancer.ProviderRequiresSerialAPICalls {
		without = append(without, desire.FullCreate, desire.MemberBatches)
	}
	return desire.CapabilitiesOf(provider, p.version, without...)
}
