package loadbalancer

import (
	"context"
	"maps"
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
	if named := p.settings.LoadBalancerID; named != "" && named != written.LoadBalancerID {
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
			FloatingIPID: written.FloatingIPID, Named: p.settings.LoadBalancerID,
		},
		Seen:      state.Seen{UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Operating, Since: look.Began, Confirmed: true},
		Annotated: state.Annotated{Fingerprint: true, Address: true},
	}
	if known.FloatingIPDriftIn(look) != "" {
		return nil, nil // the floating IP is not as it was written down
	}
	if !p.settings.KeepFloatingIP && p.spareFloatingIP(look) {
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

func toWrite(known *state.Applied, uid types.UID) annotation.Record {
	text := annotation.Record{LoadBalancerID: known.LoadBalancer.ID, Address: known.Address, Named: known.LoadBalancer.Named}
	if known.Seen.Confirmed {
		text.Fingerprint = known.Fingerprint(uid).String()
	}
	return text
}

// writeEvery is how often it is looked for something to be written down.
const writeEvery = time.Second

// PersistRecords keeps what is known of load balancers where people and the next process
// find it: write is called with a Service and what is to stand in its annotations, the
// ID and address a while after they are known, the fingerprint when a look of WatchDrift has
// confirmed it. It returns when the context ends. Where nobody watches for drift it
// takes those looks itself.
func (r *Reconciler) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	var pause time.Time
	for {
		timer := r.options.Clock.NewTimer(writeEvery)
		select {
		case <-timer.C():
			if now := r.options.Clock.Now(); !r.watches() && now.After(pause) && !r.confirmDue(ctx) {
				pause = now.Add(lookAge)
			}
			r.writeDue(ctx, write)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// writeDue writes down what is known by now and does not stand there yet.
func (r *Reconciler) writeDue(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	for uid, known := range r.store.AllApplied() {
		announces := !known.Annotated.Address && r.options.Clock.Since(known.Seen.Since) >= state.ConfirmAfter
		if known.Annotated.Fingerprint || !known.Seen.Confirmed && !announces || len(known.Reported) > 0 {
			continue
		}
		if err := write(ctx, known.Service, uid, toWrite(known, uid)); err != nil {
			klog.FromContext(ctx).V(2).Info("Cannot write down the state of a load balancer, trying again", "service", known.Service, "err", err)
			continue
		}
		now := *known
		now.Annotated = state.Annotated{Fingerprint: known.Seen.Confirmed, Address: true}
		r.store.ReplaceApplied(uid, known, &now)
	}
}

// confirmDue confirms what has changed and has come to rest, and forgets what somebody
// else has changed. It is false when something is left, as somebody works on it, or as
// the cloud does not answer.
func (r *Reconciler) confirmDue(ctx context.Context) bool {
	all, now := r.store.AllApplied(), r.options.Clock.Now()
	maps.DeleteFunc(all, func(_ types.UID, known *state.Applied) bool { return !known.Confirmable(now) })
	if len(all) == 0 {
		return true
	}
	look, err := r.inventory.Look(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot look at load balancers that were changed, trying again", "err", err)
		return false
	}
	done := true
	for uid, known := range all {
		if r.atWork(uid, known) {
			continue
		}
		if r.check(ctx, uid, known, look) != "" {
			r.store.DropAppliedIf(uid, known)
		}
		done = done && r.store.Get(uid).Applied != known
	}
	return done
}
