package goal

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// observer has the stage Observe: it reads the load balancers and floating IPs of Services.
type observer struct {
	*Finder
	project *project.Reader
	sharing sharing.Policy
	// forwardings are those of provider port-forwarding.
	forwardings *router.Forwardings
}

// with returns the same observer with another source of load balancers.
func (o *observer) with(source *observe.Observer) *observer {
	finder := *o.Finder
	finder.Reader.Observer = source
	return &observer{Finder: &finder, project: o.project, sharing: o.sharing, forwardings: o.forwardings}
}

// observe reads load balancer and floating IPs of a Service, as its settings require.
func (o *observer) observe(ctx context.Context, in Inputs, settings *settings.Settings, lock *async.Guard, at *reading.Search) (Observation, error) {
	have, err := o.read(ctx, in, settings.LoadBalancer.ID, reading.Scope{}, lock, at)
	if err == nil {
		have.Duplicates = append(have.Duplicates, in.VIPs...)
	}
	if err != nil || !settings.FloatingIP() && have.LoadBalancer == nil && !o.mayHaveHadFloatingIP(in) {
		return have, err
	}
	err = o.readFloatingIPs(ctx, in, have.As, settings.On(have.LoadBalancer), have.Observed)
	withoutFloatingIPsOf(have.Observed, in.VIPs)
	return have, err
}

// mayHaveHadFloatingIP reports whether a Service without load balancer may have left a floating IP.
func (o *observer) mayHaveHadFloatingIP(in Inputs) bool {
	return o.Memory.Store.Get(in.Owner.UID).Made.Touched || len(o.provenAddresses(in)) > 0
}

// readFloatingIPs reads the floating IPs of a Service; for a new Service only if any can exist.
func (o *observer) readFloatingIPs(ctx context.Context, in Inputs, as ownership.Identity, settings *settings.Settings, observed *model.Observed) error {
	hints := observe.FloatingIPHints{PortID: settings.VIP.PortID, MayTake: func(ctx context.Context, owner ownership.Owner) (bool, error) {
		return o.sharing.Allows(ctx, as, owner)
	}}
	hints.Asked, hints.AskedBy = settings.AskedFloatingIP()
	if settings.LoadBalancer.Provider == driver.PortForwarding {
		hints.Forwarded = func(ctx context.Context, floatingIPID string) (bool, error) {
			return o.forwardings.AllOf(ctx, as, floatingIPID)
		}
	}
	if !hints.Asked.Asked() {
		hints.Published = o.provenAddresses(in)
	}
	known, complete, err := o.knownFloatingIPs(ctx, in.Owner, as, hints.Published)
	if err != nil {
		return err
	}
	hints.IDs = known
	if observed.LoadBalancer == nil && complete && len(known) == 0 && !hints.Asked.Asked() && hints.PortID == "" {
		return nil
	}
	hints.Unattached = o.Memory.Store.Get(in.Owner.UID).Made.UnattachedFloatingIP
	err = o.Reader.Observer.FloatingIPs(ctx, as, observed, hints)
	if err == nil {
		unattached := hints.Unattached && leavesFloatingIP(*observed)
		o.Memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = unattached })
	}
	return err
}

// provenAddresses returns the addresses of a Service that prove a floating IP of cloud-provider-openstack to be its
// own: those in its status, and the one at which this process has served it.
func (o *observer) provenAddresses(in Inputs) []string {
	addresses := in.Published.addresses()
	if address := o.Memory.Store.Get(in.Owner.UID).Made.Address; address != "" && !slices.Contains(addresses, address) {
		addresses = append(addresses, address)
	}
	return addresses
}

// leavesFloatingIP reports whether a floating IP that was created for the Service is unattached.
func leavesFloatingIP(observed model.Observed) bool {
	return slices.ContainsFunc(observed.UnattachedFloatingIPs, func(fip model.FloatingIP) bool { return fip.Owned })
}

// leavingFloatingIPs reads all floating IPs of a Service that is being removed, also unattached
// ones next to the one on the VIP. Asks is set if the Service requests an existing one.
func (o *observer) leavingFloatingIPs(ctx context.Context, in Inputs, have Observation, asks bool) error {
	var hints observe.FloatingIPHints
	if !asks {
		hints.Published = o.provenAddresses(in)
	}
	var err error
	if hints.IDs, _, err = o.knownFloatingIPs(ctx, in.Owner, have.As, hints.Published); err != nil {
		return err
	}
	return o.Reader.Observer.LeavingFloatingIPs(ctx, have.As, have.Observed, hints)
}

// knownFloatingIPs returns the IDs of floating IPs that may be a Service's: from the first snapshot
// of this process, and those retained since for the Service's name. Complete is set if no others
// can exist.
func (o *observer) knownFloatingIPs(ctx context.Context, owner model.Owner, as ownership.Identity, published []string) (ids []string, complete bool, err error) {
	first, err := o.project.FirstFloatingIPs(ctx)
	if err != nil {
		return nil, false, err
	}
	found := o.Memory.Store.Retained.IDs(owner.Key())
	head, _ := ownership.CutProof(as.FloatingIPs().Description())
	for _, fip := range first.WithWords(as.ServiceUID, head, as.FloatingIPs().LegacyDescription()) {
		legacy := fip.Description == as.FloatingIPs().LegacyDescription() && slices.Contains(published, fip.Address)
		if as.FloatingIPs().Own(fip.Description) || as.FloatingIPs().Kept(fip.Description) || legacy {
			found = append(found, fip.ID)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), 100)], !o.Memory.Store.Get(owner.UID).Made.Touched, nil
}

// given returns the addresses that the Service had before it became internal: if a floating IP on
// the VIP has one of them, the Service has requested it.
func given(in Inputs) []string {
	if !in.Settings.Internal {
		return nil
	}
	addresses := in.Published.addresses()
	if written := in.Published.Address; written != "" { // set even if a host name is published
		addresses = append(addresses, written)
	}
	return addresses
}

// fittingFloatingIP returns a floating IP that meets the Service's request: a placeholder for the
// known one.
func fittingFloatingIP(settings *settings.Settings) *model.FloatingIP {
	asked, _ := settings.AskedFloatingIP()
	asked.Tags = []string{asked.Tag}
	return &asked
}
