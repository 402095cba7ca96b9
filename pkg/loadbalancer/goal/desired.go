package goal

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// desire returns the desired state for settings and an existing load balancer, nil for none. VIP is
// an address that the Service already has: its availability is not checked in Neutron. All refusals
// that do not depend on the load balancer come from here.
func (e *Engine) desire(ctx context.Context, in Inputs, settings *settings.Settings, existing *model.LoadBalancer, vip string) (*Desired, error) {
	can := e.driver(in, existing)
	want := &Desired{Basis: BasisOf(in, existing)}
	if existing != nil {
		settings = settings.OnExisting(can)
	}
	if errs := settings.Validate(can); len(errs) > 0 {
		return want, message.Invalid(errs)
	}
	var err error
	if want.Facts, err = e.Lookup.Gather(ctx, settings, in.Members.Backends, can, existing); err != nil {
		return want, err
	}
	if err := e.Lookup.Families(ctx, settings, want.Facts, existing); err != nil {
		return want, err
	}
	want.Followed = in.members(settings, can)
	want.LoadBalancer = desire.LoadBalancer(in.ID, settings, want.Followed.Ports, want.Facts)
	switch {
	case existing == nil:
		err = e.checkNew(ctx, in, want.LoadBalancer, vip)
	case existing.Shared != nil:
		want.LoadBalancer = onShared(want.LoadBalancer)
	}
	return want, err
}

// BasisOf returns the properties of the existing load balancer that the desired state depends on.
func BasisOf(in Inputs, existing *model.LoadBalancer) Basis {
	b := Basis{Provider: providerOf(in, existing)}
	if existing == nil {
		return b
	}
	b.Exists, b.Shared, b.Adopted, b.Unmonitored, b.VIPAddress = true, existing.Shared != nil, existing.Adopted, existing.Unmonitored(), existing.VIP.Address
	if asked, _ := in.Settings.AskedFloatingIP(); existing.FloatingIP != nil {
		b.FloatingIPFits = asked.Fits(*existing.FloatingIP)
	}
	return b
}

// onShared reduces a desired state to its listeners: the load balancer itself is another owner's.
func onShared(desired *model.LoadBalancer) *model.LoadBalancer {
	return &model.LoadBalancer{Name: desired.Name, Tags: desired.Tags, Listeners: desired.Listeners, Shared: &model.Shared{},
		VIP: model.VIP{VIPSettings: desired.VIP.VIPSettings}} // plan refuses them, unless they exist
}

// providerOf returns the provider that decides on the features: that of the existing load balancer,
// which cannot change, unless the load balancer may be replaced.
func providerOf(in Inputs, existing *model.LoadBalancer) string {
	if existing == nil || in.Settings.LoadBalancer.AllowReplace && existing.Shared == nil && len(existing.Foreign) == 0 && !in.ID.Untagged {
		return in.Settings.LoadBalancer.Provider
	}
	return existing.Provider
}

// driver returns the driver of providerOf.
func (e *Engine) driver(in Inputs, existing *model.LoadBalancer) driver.Driver {
	return e.Drivers.For(providerOf(in, existing), in.Version)
}

// checkNew refuses, for a new load balancer, a provider that Octavia does not have, and an address
// that is in use in the subnet of the VIP.
func (e *Engine) checkNew(ctx context.Context, in Inputs, desired *model.LoadBalancer, vip string) error {
	if err := e.Lookup.Provider(ctx, in.Settings); err != nil {
		return err
	}
	if desired.VIP.Address == "" || desired.VIP.Address == vip {
		return nil
	}
	return e.Lookup.FreeVIP(ctx, desired.VIP, in.Settings.VIPAskedBy())
}

// planOptions returns the options of a plan. Its driver is that of the existing load balancer, even
// if that may be replaced, without the feature that was refused in this round.
func (e *Engine) planOptions(in Inputs, existing *model.LoadBalancer, serial *Serial) plan.Options {
	provider := in.Settings.LoadBalancer.Provider
	if existing != nil {
		provider = existing.Provider
	}
	drv := serial.without(e.Drivers.For(provider, in.Version))
	return plan.Options{
		Driver:         drv,
		KeepFloatingIP: in.Settings.Floating.Keep,
		Published:      len(in.Service.Status.LoadBalancer.Ingress) > 0,
		Addresses:      publishedAddresses(in.Service),
		Cascade:        e.Config.LoadBalancer.CascadeDelete,
		MoveMembers:    in.Settings.Members.SubnetID != "",
		NodesSubnets:   in.Settings.Members.InNodeSubnets(),
		Failover:       e.failover(in, existing, drv),
	}
}
