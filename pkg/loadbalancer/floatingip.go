package loadbalancer

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// readFloatingIPs reads the floating IPs of a Service. For a new one it asks only
// when there can be any.
func (r *Reconciler) readFloatingIPs(ctx context.Context, svc *v1.Service, id ownership.Identity, settings settings.Settings, observed *model.Observed) error {
	hints := observe.FloatingIPHints{PortID: settings.VIP.PortID, MayTake: func(ctx context.Context, owner ownership.Owner) (bool, error) {
		return r.lets(ctx, id, owner)
	}}
	hints.Asked, hints.AskedBy = settings.AskedFloatingIP()
	if !hints.Asked.Asked() {
		hints.Published = publishedAddresses(svc)
	}
	known, complete, err := r.knownFloatingIPs(ctx, svc, id, hints.Published)
	if err != nil {
		return err
	}
	hints.IDs = known
	if observed.LoadBalancer == nil && complete && len(known) == 0 && !hints.Asked.Asked() && hints.PortID == "" {
		return nil
	}
	hints.Spare = r.store.Get(svc.UID).Made.SpareFloatingIP
	err = r.observer.FloatingIPs(ctx, id, observed, hints)
	if err == nil {
		r.store.SetSpareFloatingIP(svc.UID, false)
	}
	return err
}

// knownFloatingIPs gives the IDs of the floating IPs that may be a Service's by the
// first look of this process at the cloud, or by what this process has kept for a
// Service of its name since. It is complete when there are surely no others.
func (r *Reconciler) knownFloatingIPs(ctx context.Context, svc *v1.Service, id ownership.Identity, published []string) ([]string, bool, error) {
	first, err := r.inventory.FirstFloatingIPs(ctx)
	if err != nil {
		return nil, false, err
	}
	found := r.store.RetainedFloatingIPs(types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name})
	for _, fip := range first {
		legacy := fip.Description == id.LegacyFloatingIPDescription() && slices.Contains(published, fip.Address)
		if id.OwnsFloatingIP(fip.Description) || id.KeptFloatingIP(fip.Description) || legacy {
			found = append(found, fip.ID)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), 100)], !r.store.Get(svc.UID).Made.Touched, nil
}

// recheckFloatingIP reads floating IPs when the one that is there is not the one
// that is wanted.
func (p *pass) recheckFloatingIP(ctx context.Context) error {
	attached := p.observed.LoadBalancer.FloatingIP
	if p.follows != nil || p.observed.LoadBalancer.Shared != nil {
		return nil // it stays, or is the owner's
	}
	asked, _ := p.settings.AskedFloatingIP()
	if p.settings.FloatingIP() == (attached != nil) && (attached == nil || asked.Fits(*attached)) {
		return nil
	}
	if plan.ForeignFloatingIP(p.wanted, p.observed.LoadBalancer, plan.Options{Given: p.given()}) != nil {
		return nil // it stays
	}
	p.observed.Spare = nil
	return p.readFloatingIPs(ctx, p.svc, p.id, p.settings, p.observed)
}

// given gives the addresses that the Service had while it was not internal: a floating
// IP of such an address is on the VIP because the Service asked for it.
func (p *pass) given() []string {
	if !p.settings.Internal {
		return nil
	}
	addresses := publishedAddresses(p.svc)
	if written := writtenAddress(p.svc); written != "" { // where a host name is published
		addresses = append(addresses, written)
	}
	return addresses
}

// writtenAddress gives the address that was written down in a Service.
func writtenAddress(svc *v1.Service) string { return svc.Annotations[annotation.LoadBalancerAddress] }

// foreignFloatingIP returns the floating IP that another client attached to the VIP of a
// Service that should have none, when it is seen for the first time; else nil. It is left
// attached.
func (p *pass) foreignFloatingIP() *model.FloatingIP {
	lb := p.observed.LoadBalancer
	if lb == nil {
		return nil
	}
	fip := plan.ForeignFloatingIP(p.wanted, lb, plan.Options{Given: p.given()})
	written, _ := state.ParseFingerprint(p.svc.Annotations[annotation.Fingerprint])
	if fip == nil || fip.ID == written.FloatingIPID || p.knew != nil && fip.ID == p.knew.LoadBalancer.FloatingIPID {
		return nil
	}
	return fip
}

// fittingFloatingIP is a floating IP that is just what the Service asks for: it
// stands for the one that is known to be there.
func fittingFloatingIP(settings settings.Settings) *model.FloatingIP {
	asked, _ := settings.AskedFloatingIP()
	asked.Tags = []string{asked.Tag}
	return &asked
}

// floatingIPsOf reads all floating IPs of a Service that goes, also spare ones
// beside the one on the VIP.
func (r *Reconciler) floatingIPsOf(ctx context.Context, svc *v1.Service, id ownership.Identity, l leaving, observed *model.Observed) error {
	var hints observe.FloatingIPHints
	if !l.asks {
		hints.Published = publishedAddresses(svc)
	}
	var err error
	if hints.IDs, _, err = r.knownFloatingIPs(ctx, svc, id, hints.Published); err != nil {
		return err
	}
	return r.observer.LeavingFloatingIPs(ctx, id, observed, hints)
}

// noteKept remembers the floating IPs that outlive the Service, for one of its name.
func (r *Reconciler) noteKept(svc *v1.Service, l leaving, observed *model.Observed) {
	if !l.options.KeepFloatingIP {
		return
	}
	name := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	all := []*model.LoadBalancer{observed.LoadBalancer, observed.Retiring}
	for i := range observed.Surplus {
		all = append(all, &observed.Surplus[i])
	}
	for _, lb := range all {
		if lb != nil && lb.FloatingIP != nil && lb.FloatingIP.Owned {
			r.store.RetainFloatingIP(name, lb.FloatingIP.ID)
		}
	}
	for _, fip := range observed.Spare {
		if fip.Owned {
			r.store.RetainFloatingIP(name, fip.ID)
		}
	}
}
