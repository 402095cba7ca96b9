package loadbalancer

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/build"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// learnt is what providers have refused since the process began, so that each such
// request is tried once. Its zero value is ready.
type learnt struct {
	mu     sync.Mutex
	lacked map[string][]build.Feature
}

// of gives what a provider has refused.
func (l *learnt) of(provider string) []build.Feature {
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
	var lacks build.Feature
	switch s := refused.Step.(type) {
	case plan.CreateLoadBalancer:
		if lacks = build.FullCreate; len(s.LoadBalancer.Listeners) == 0 {
			l.lacked[provider] = slices.DeleteFunc(l.lacked[provider], func(f build.Feature) bool { return f == lacks })
			return false
		}
	case plan.SetMembers:
		lacks = build.MemberBatches
	default:
		return false
	}
	if !build.Learns(provider) || slices.Contains(l.lacked[provider], lacks) {
		return false
	}
	if l.lacked == nil {
		l.lacked = map[string][]build.Feature{}
	}
	l.lacked[provider] = append(l.lacked[provider], lacks)
	return true
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

// capabilities gives what the provider can do.
func (p *pass) capabilities(observed *model.Observed) build.Capabilities {
	provider := p.provider(p.settings, observed)
	without := p.learnt.of(provider)
	if p.options.Config.LoadBalancer.ProviderRequiresSerialAPICalls {
		without = append(without, build.FullCreate, build.MemberBatches)
	}
	return build.CapabilitiesOf(provider, p.version, without...)
}
