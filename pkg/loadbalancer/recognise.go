package loadbalancer

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// lookAge is how old a look at the whole cloud may be for Services of a process
// that has just started: they share one.
const lookAge = time.Minute

// recognise gives what the last process has written down of the Service, if the
// cloud is still like that, else nil.
func (p *pass) recognise(ctx context.Context) (*state.Applied, error) {
	written, ok := state.ParseFingerprint(p.svc.Annotations[annotation.Fingerprint])
	if !ok || written.Digests.Full == "" || written.Service != p.svc.UID || len(p.svc.Status.LoadBalancer.Ingress) == 0 {
		return nil, nil
	}
	if named := p.settings.LoadBalancer.ID; named != "" && named != written.LoadBalancerID {
		return nil, nil // it is to move
	}
	look, err := p.inventory.Look(ctx, lookAge)
	if err != nil {
		return nil, err
	}
	lb, there := look.LoadBalancers[written.LoadBalancerID]
	if !there || lb.Status != octavia.StatusActive || !lb.UpdatedAt.Equal(written.UpdatedAt) {
		klog.FromContext(ctx).V(2).Info("The load balancer is not as it was written down, reading it", "status", lb.Status, "updatedAt", lb.UpdatedAt, "written", written.UpdatedAt)
		return nil, nil
	}
	if p.store.Get(p.svc.UID).Made.Touched || look.Named(lb.Name) > 1 {
		return nil, nil // something was begun, by this process or the last one, and perhaps not ended
	}
	known := &state.Applied{
		Service:  types.NamespacedName{Namespace: p.svc.Namespace, Name: p.svc.Name},
		Identity: p.id,
		Digests:  written.Digests,
		Address:  lb.VIPAddress,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIPPortID, VIPSubnetID: lb.VIPSubnetID,
			FloatingIPID: written.FloatingIPID, Named: p.settings.LoadBalancer.ID,
		},
		Seen:      state.Seen{UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Operating, Since: look.Began, Confirmed: true},
		Annotated: state.Annotated{Fingerprint: true, Address: true},
	}
	if known.FloatingIPDriftIn(look) != "" {
		return nil, nil // the floating IP is not as it was written down
	}
	if !p.settings.Floating.Keep && p.spareFloatingIP(look) {
		p.store.SetSpareFloatingIP(p.svc.UID, true)
		return nil, nil // left by a change of it that was not ended, and taken back since
	}
	if p.settings.FloatingIP() && known.LoadBalancer.FloatingIPID != "" {
		known.Address = look.FloatingIPs[known.LoadBalancer.FloatingIPID].Address
	}
	if !p.published(known) {
		return nil, nil
	}
	return known, nil
}

// spareFloatingIP tells whether a look shows a floating IP of the Service's on no port.
func (p *pass) spareFloatingIP(look *snapshot.Look) bool {
	return slices.ContainsFunc(look.Described(p.id.FloatingIPDescription()), func(fip snapshot.FloatingIP) bool { return fip.PortID == "" })
}

// published reports whether the Service's status has the address that is known.
func (p *pass) published(known *state.Applied) bool {
	want, have := p.settings.Ingress(known.Address), p.svc.Status.LoadBalancer.Ingress[0]
	return want.IP == have.IP && want.Hostname == have.Hostname
}
