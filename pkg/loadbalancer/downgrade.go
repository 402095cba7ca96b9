package loadbalancer

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// driver returns the driver by which the Service is judged: that of the load balancer
// that exists, unless another one may take its place.
func (p *pass) driver(observed *model.Observed) driver.Driver {
	return p.drivers.For(p.provider(p.settings, observed), p.version)
}

// changingDriver returns the driver that a plan depends on: that of the load balancer that
// exists, whether or not another one may take its place.
func (p *pass) changingDriver() driver.Driver {
	if lb := p.observed.LoadBalancer; lb != nil {
		return p.drivers.For(lb.Provider, p.version)
	}
	return p.driver(p.observed)
}

// downgrade takes from an error what the provider, or Octavia, does not do. It reports
// whether a new plan, from what is then there, does without.
func (p *pass) downgrade(ctx context.Context, err error) bool {
	var refused *apply.RefusedError
	if !errors.As(err, &refused) {
		return p.createEmpty(ctx, err)
	}
	provider := p.settings.LoadBalancer.Provider
	if _, creates := refused.Step.(plan.CreateLoadBalancer); !creates {
		provider = p.observed.LoadBalancer.Provider
	}
	if !noteRefusal(p.drivers, provider, refused.Step) {
		return p.createEmpty(ctx, err)
	}
	klog.FromContext(ctx).Info("The provider has refused this, doing it in single steps from now on", "provider", provider, "step", refused.Step.String(), "err", refused.Err)
	p.observed = nil
	return true
}

// noteRefusal notes that a provider has refused a step with 501, and reports whether the
// same can be done without.
//
//	step                          what it shows
//	full create                   the provider has no full creates
//	creation of an empty one      nothing of full creates: one that was refused before was refused for something else
//	batch of members              the provider has no batches
//	any other                     nothing
func noteRefusal(drivers *driver.Registry, provider string, step plan.Step) bool {
	feature, optional := plan.Needs(step)
	if _, creates := step.(plan.CreateLoadBalancer); creates && !optional {
		drivers.Retract(provider, driver.FullCreate)
	}
	return optional && drivers.Refuse(provider, feature)
}

// createEmpty notes that a load balancer was refused with everything in it, so that it is
// created empty from now on. It reports whether that is likely to help at once: what a
// quota or the provider refuses, they refuse afterwards too.
func (p *pass) createEmpty(ctx context.Context, err error) bool {
	var refused *apply.FullCreateError
	if !errors.As(err, &refused) {
		return false
	}
	klog.FromContext(ctx).Info("Octavia has refused the load balancer with everything in it, making it empty first from now on", "err", refused.Err)
	p.store.MarkCreateEmpty(p.svc.UID)
	if apierror.IsSourceRangeCrash(err) {
		p.drivers.RefuseRanges()
	}
	p.observed = nil
	return apierror.IsCrash(err)
}

// checkProvider refuses a provider that the Service names for a new load balancer
// and Octavia does not have.
func (p *pass) checkProvider(ctx context.Context, observed *model.Observed) error {
	if !p.settings.LoadBalancer.ProviderAsked || observed.LoadBalancer != nil {
		return nil
	}
	enabled, err := p.octavia.Providers(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(enabled, p.settings.LoadBalancer.Provider) {
		return nil
	}
	return field.NotSupported(annotation.Path(annotation.Provider), p.settings.LoadBalancer.Provider, enabled)
}

// checkFamilies refuses members that the provider cannot serve at the VIP, which is there
// or goes where the Service or cloud.conf says: elsewhere it is of the members' family.
func (p *pass) checkFamilies(ctx context.Context, settings settings.Settings, drv driver.Driver, known desire.Facts, existing *model.LoadBalancer) error {
	if !settings.NeedsOneFamily(drv) {
		return nil
	}
	vip := model.VIP{}
	switch {
	case existing != nil:
		vip.Address = existing.VIP.Address
	case settings.VIP.SubnetID != "":
		vip.SubnetID = known.VIPSubnetID
	}
	family, err := p.facts.Family(ctx, vip)
	if err != nil {
		return err
	}
	if errs := settings.ValidateFamilies(drv, family); len(errs) > 0 {
		return message.Invalid(errs)
	}
	return nil
}
