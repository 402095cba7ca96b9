package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// planner has the stages Desire and Plan, as far as all goals share them.
type planner struct {
	config    *config.Config
	lookup    *lookup.Reader
	drivers   *driver.Registry
	failovers *Failovers
	memory    Memory
}

// desire returns the desired state for settings and an existing load balancer, nil for none. The Service
// already has some addresses: their availability is not checked in Neutron. All refusals
// that do not depend on the load balancer come from here.
func (p *planner) desire(ctx context.Context, in Inputs, settings *settings.Settings, existing *model.LoadBalancer, has []string) (*Desired, error) {
	can := p.driver(in, existing)
	want := &Desired{Basis: BasisOf(in, existing)}
	if existing != nil {
		settings = settings.For(can).OnExisting()
	} else {
		settings = settings.For(can).OnNew()
	}
	settings, err := p.gather(ctx, in, settings, can, existing, want)
	if err != nil {
		return want, err
	}
	if err := p.lookup.Families(ctx, settings, want.Facts, existing); err != nil {
		return want, err
	}
	if settings.ByPods() {
		if settings, err = p.placePods(ctx, in, settings, existing, want); err != nil {
			return want, err
		}
	}
	want.LoadBalancer = desire.LoadBalancer(in.ID, settings, want.Followed.Ports, want.Facts)
	switch {
	case existing == nil:
		err = p.checkNew(ctx, in, want.LoadBalancer, has)
	case existing.Shared != nil:
		want.LoadBalancer = onShared(want.LoadBalancer)
	}
	return want, err
}

// gather sets the members and facts of a desired state, and returns the settings that apply to them: a
// Service that prefers two IP families gets the first one if there is no place for another VIP.
func (p *planner) gather(ctx context.Context, in Inputs, s *settings.Settings, can driver.Driver, existing *model.LoadBalancer, want *Desired) (*settings.Settings, error) {
	err := p.gatherFor(ctx, in, s, can, existing, want)
	why := want.Facts.OneFamily
	if err != nil || why == "" {
		return s, err
	}
	if s.Second != "" {
		s = s.InFirst()
		err = p.gatherFor(ctx, in, s, can, existing, want)
	}
	want.Facts.Ignored = append(want.Facts.Ignored, annotation.Notice{Annotation: "spec.ipFamilyPolicy", Message: fmt.Sprintf(
		"%s: the load balancer serves only %s, because %s", v1.IPFamilyPolicyPreferDualStack, s.Family, why)})
	return s, err
}

// gatherFor sets the members and facts of a desired state for settings that it refuses if the driver does not
// support them.
func (p *planner) gatherFor(ctx context.Context, in Inputs, s *settings.Settings, can driver.Driver, existing *model.LoadBalancer, want *Desired) error {
	if err := message.Invalid(s.For(can).Validate()); err != nil {
		return err
	}
	want.Followed, want.Settings = in.members(s, can), s
	var err error
	want.Facts, err = p.lookup.Gather(ctx, s, in.serving(want.Followed.Ports, s.Families()), can, existing)
	return err
}

// asked returns the desired state of a Service on the existing load balancer, nil for none. It refuses
// a named load balancer that does not exist.
func (p *planner) asked(ctx context.Context, in Inputs, existing *model.LoadBalancer) (*Desired, error) {
	if existing == nil {
		if err := checkNamed(in, p.memory); err != nil {
			return nil, err
		}
	}
	return p.desire(ctx, in, in.Settings.On(existing), existing, nil)
}

// BasisOf returns the properties of the existing load balancer that the desired state depends on.
func BasisOf(in Inputs, existing *model.LoadBalancer) Basis {
	b := Basis{Provider: providerOf(in, existing)}
	if existing == nil {
		return b
	}
	b.Exists, b.Shared, b.Adopted, b.Unmonitored, b.VIPAddress = true, existing.Shared != nil, existing.Adopted, existing.Unmonitored(), existing.VIP.Address
	b.DualStack = existing.VIP.DualStack()
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
func (p *planner) driver(in Inputs, existing *model.LoadBalancer) driver.Driver {
	return driverOf(p.drivers, in, existing)
}

func driverOf(drivers *driver.Registry, in Inputs, existing *model.LoadBalancer) driver.Driver {
	return drivers.For(providerOf(in, existing), in.Version)
}

// checkNew refuses, for a new load balancer, a provider that Octavia does not have, and an address
// that is in use in the subnet of the VIP.
func (p *planner) checkNew(ctx context.Context, in Inputs, desired *model.LoadBalancer, has []string) error {
	if err := p.lookup.Provider(ctx, in.Settings); err != nil {
		return err
	}
	askedBy := func(address string) string {
		_, by := in.Settings.VIPAddress(v1.IPFamily(model.FamilyOf(address)), desired.FloatingIP != nil)
		return by
	}
	places := []model.VIP{desired.VIP}
	for _, additional := range desired.VIP.Additional {
		places = append(places, model.VIP{NetworkID: desired.VIP.NetworkID, SubnetID: additional.SubnetID, Address: additional.Address})
	}
	for _, place := range places {
		if place.Address == "" || slices.Contains(has, place.Address) {
			continue
		}
		if err := p.lookup.FreeVIP(ctx, place, askedBy(place.Address)); err != nil {
			return err
		}
	}
	return nil
}

// options returns the options of a plan. Its driver is that of the existing load balancer, even
// if that may be replaced, without the feature that was refused in this round.
func (p *planner) options(in Inputs, existing *model.LoadBalancer, serial *Serial) plan.Options {
	provider := in.Settings.LoadBalancer.Provider
	if existing != nil {
		provider = existing.Provider
	}
	drv := serial.without(p.drivers.For(provider, in.Version))
	pods := in.Settings.ByPods()
	if !pods && existing != nil {
		pods = p.leavesPods(in, existing)
	}
	return plan.Options{
		Driver:         drv,
		KeepFloatingIP: in.Settings.Floating.Keep,
		Published:      in.Published.hasStatus(),
		Addresses:      in.Published.addresses(),
		Cascade:        p.config.LoadBalancer.CascadeDelete,
		MoveMembers:    !pods && in.Settings.Members.SubnetID != "",
		NodesSubnets:   !pods && in.Settings.Members.InNodeSubnets(),
		Pods:           pods,
		Drains:         in.Settings.Members.Drains(),
		Weighed:        p.memory.weighed(in.Owner.UID),
		Failover:       p.failover(in, existing, drv),
	}
}

// Validate refuses settings that the provider cannot serve on the existing load balancer, nil for
// none. It reads nothing; the error is a *message.InvalidError.
func Validate(drivers *driver.Registry, asked *settings.Settings, id ownership.Identity, version model.Version, existing *model.LoadBalancer) error {
	can := driverOf(drivers, Inputs{Settings: asked, ID: id, Version: version}, existing)
	asked = asked.On(existing)
	if existing != nil {
		asked = asked.For(can).OnExisting()
	} else {
		asked = asked.For(can).OnNew()
	}
	return message.Invalid(asked.For(can).Validate())
}

// Unused returns the settings that the provider of the existing load balancer, nil for none, does
// not use. For a new load balancer that is refused it returns none. It reads nothing.
func Unused(drivers *driver.Registry, asked *settings.Settings, id ownership.Identity, version model.Version, existing *model.LoadBalancer) []annotation.Notice {
	can := driverOf(drivers, Inputs{Settings: asked, ID: id, Version: version}, existing)
	if existing != nil {
		return asked.On(existing).For(can).Unused()
	}
	onNew := asked.For(can).OnNew().For(can)
	if len(onNew.Validate()) > 0 { // they are refused, not ignored
		return nil
	}
	return onNew.Unused()
}
