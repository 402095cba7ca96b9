package goal

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// maxSnapshotAge is the maximum age of a snapshot of the project that the Services of a new process
// share.
const maxSnapshotAge = time.Minute

// lastApplied returns the last applied state, of this process or the one before, the desired state
// on such a load balancer, and whether both are the same. It is empty if the load balancer must be
// read.
func (a *Asked) lastApplied(ctx context.Context) (last lastApplied, err error) {
	last.applied, last.want, last.same, err = a.compareLast(ctx)
	return last, err
}

type lastApplied struct {
	applied *state.Applied
	want    *Desired
	same    bool
}

func (a *Asked) compareLast(ctx context.Context) (applied *state.Applied, want *Desired, same bool, err error) {
	named := a.in.Settings.LoadBalancer.ID
	moves := func(applied *state.Applied) bool {
		return named != applied.LoadBalancer.Named && named != applied.LoadBalancer.ID
	}
	entry := a.e.Store.Get(a.in.Owner.UID)
	if applied = entry.Applied; applied != nil {
		if moves(applied) || entry.Made.UnattachedFloatingIP {
			return nil, nil, false, nil
		}
		want, same, err = a.compare(ctx, applied)
		return applied, want, same, err
	}
	applied, err = a.restore(ctx)
	if err != nil || applied == nil || moves(applied) {
		return nil, nil, false, err
	}
	if applied, want, same, err = a.alike(ctx, applied); err != nil {
		return nil, nil, false, err
	}
	if !same {
		klog.FromContext(ctx).V(2).Info("The Service asks for something else than was written down, reading its load balancer")
		return applied, want, false, nil
	}
	if kept, err := a.securityGroupsKept(ctx, want, applied.LoadBalancer.VIPSubnetID); err != nil || !kept {
		return nil, nil, false, err
	}
	if !applied.Confirmed {
		applied.Contents = want.LoadBalancer.WithoutMembers()
	}
	a.e.Store.SetApplied(a.in.Owner.UID, applied)
	a.provenByAddress(applied)
	return applied, want, true, nil
}

// noteAddress makes the publisher write ID and address of a load balancer again if the annotations
// of the Service differ from the last write: a delayed write, of this process or the one before,
// can arrive after the next one.
func (e *Engine) noteAddress(svc *v1.Service, applied *state.Applied) {
	if !applied.Persisted.Address || addressWritten(svc, applied.LoadBalancer.ID, applied.Address) {
		return
	}
	unwritten := *applied
	unwritten.Persisted.Address = false
	e.Store.ReplaceApplied(svc.UID, applied, &unwritten)
}

// provenByAddress records the proof by the published floating IP that restore has found on the load
// balancer: if another client detaches the floating IP, the load balancer stays the Service's.
func (a *Asked) provenByAddress(applied *state.Applied) {
	known := applied.LoadBalancer
	switch {
	case known.FloatingIPID == "" || applied.Address != statusAddress(a.in.Service):
	case known.Shared == nil:
		a.e.Store.SetLoadBalancerID(a.in.Owner.UID, known.ID)
	default:
		a.e.Store.SetServedOn(a.in.Owner.UID, known.ID)
	}
}

// compare returns the desired state on a load balancer like the known one, and whether it was
// applied.
func (a *Asked) compare(ctx context.Context, applied *state.Applied) (want *Desired, same bool, err error) {
	if want, err = a.desire(ctx, a.placeholder(applied)); err != nil {
		return nil, false, err
	}
	return want, a.e.digest(a.in, want) == applied.Digests.Full, nil
}

// alike compares the desired state with the record. The record does not show whether the load
// balancer is shared and then adopted, or was created by another controller without health
// monitors: the digest is compared with that of each case.
func (a *Asked) alike(ctx context.Context, restored *state.Applied) (applied *state.Applied, want *Desired, same bool, err error) {
	var first *Desired
	for _, on := range []struct{ shared, unmonitored, adopted bool }{
		{}, {shared: true}, {unmonitored: true}, {shared: true, unmonitored: true, adopted: true}, {shared: true, adopted: true},
	} {
		if on.unmonitored && !a.in.Settings.MonitoredByPolicy() || !on.unmonitored && on.adopted && !a.in.Settings.MayFollowEndpoints() {
			continue
		}
		applied := *restored
		if applied.LoadBalancer.Unmonitored = on.unmonitored; on.shared {
			applied.LoadBalancer.Shared, applied.LoadBalancer.Adopted = &model.Shared{}, on.adopted
		}
		want, same, err := a.compare(ctx, &applied)
		if err != nil || same {
			applied.LoadBalancer.AllNodes = want.Followed.Forbidden
			return &applied, want, same, err
		}
		first = cmp.Or(first, want)
	}
	return restored, first, false, nil
}

// placeholder returns a load balancer like the known one, as far as the desired state depends on it.
func (a *Asked) placeholder(applied *state.Applied) *model.LoadBalancer {
	known := applied.LoadBalancer
	lb := model.LoadBalancer{Provider: known.Provider, Shared: known.Shared, Adopted: known.Adopted || known.Unmonitored}
	if known.Adopted && !known.Unmonitored {
		lb.Listeners = []model.Listener{{Pool: model.Pool{Monitor: &model.Monitor{}}}}
	}
	if applied.Depth != model.Listed {
		lb = *applied.Contents
	}
	if lb.FloatingIP = nil; known.FloatingIPID != "" {
		lb.FloatingIP = fittingFloatingIP(a.in.Settings)
	}
	return &lb
}

// restore returns the recorded state of the Service if the cloud is still the same, else nil.
func (a *Asked) restore(ctx context.Context) (*state.Applied, error) {
	svc, settings := a.in.Service, a.in.Settings
	written, ok := a.e.record(svc.UID)
	if !ok || written.Digests.Full == "" || len(svc.Status.LoadBalancer.Ingress) == 0 {
		return nil, nil
	}
	if settings.LoadBalancer.ID != "" && settings.LoadBalancer.ID != written.LoadBalancerID {
		return nil, nil // it shall move
	}
	snap, err := a.e.Cloud.Project.Snapshot(ctx, maxSnapshotAge)
	if err != nil {
		return nil, err
	}
	lb, there := snap.LoadBalancers[written.LoadBalancerID]
	if settings.LoadBalancer.ID == "" && lb.Name != a.in.ID.Name() {
		return nil, nil // it was a guest, and shall have its own now
	}
	if !there || lb.Status != model.StatusActive || !lb.UpdatedAt.Equal(written.UpdatedAt) {
		klog.FromContext(ctx).V(2).Info("The load balancer is not as it was written down, reading it", "status", lb.Status, "updatedAt", lb.UpdatedAt, "written", written.UpdatedAt)
		return nil, nil
	}
	if a.e.Store.Get(svc.UID).Made.Touched || snap.Named(lb.Name) > 1 {
		return nil, nil // a change was begun, by this process or the last one, and may be incomplete
	}
	applied := &state.Applied{
		Service:  a.in.Owner.Key(),
		Identity: a.in.ID,
		Digests:  written.Digests,
		Address:  lb.VIPAddress,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIPPortID, VIPSubnetID: lb.VIPSubnetID,
			FloatingIPID: written.FloatingIPID, Named: settings.LoadBalancer.ID,
			Adopted: a.in.ID.Claim(lb.Tags, lb.Description) != ownership.Ours,
		},
		Seen:      state.Seen{UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Operating, Since: snap.Began},
		Knowledge: model.Knowledge{Depth: model.Listed, Source: model.Record, Confirmed: written.Parts == ""},
		Parts:     written.Parts,
		Persisted: state.Persisted{Record: a.e.hasRecord(svc.UID) && written.Parts == ""},
	}
	if applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the floating IP differs from the record
	}
	if !settings.Floating.Keep && a.hasUnattachedFloatingIP(snap) {
		a.e.Store.SetUnattachedFloatingIP(svc.UID, true)
		return nil, nil // remains of an incomplete change that was reverted
	}
	if settings.FloatingIP() && written.FloatingIPID != "" {
		applied.Address = snap.FloatingIPs[written.FloatingIPID].Address
	}
	want, have := settings.Ingress(applied.Address), svc.Status.LoadBalancer.Ingress[0]
	if want.IP != have.IP || want.Hostname != have.Hostname {
		return nil, nil // the status differs from the record
	}
	applied.Persisted.Address = addressWritten(svc, lb.ID, applied.Address)
	return applied, nil
}

// hasUnattachedFloatingIP reports whether a snapshot has an unattached floating IP of the Service.
func (a *Asked) hasUnattachedFloatingIP(snap *project.Snapshot) bool {
	return slices.ContainsFunc(snap.Described(a.in.ID.FloatingIPDescription()), func(fip project.FloatingIP) bool { return fip.PortID == "" })
}

// securityGroupsKept reports whether the security groups of a Service with an unchanged record are
// as desired. All such Services share the requests.
func (a *Asked) securityGroupsKept(ctx context.Context, want *Desired, vipSubnet string) (bool, error) {
	spec := a.e.spec(a.in, want, want.Facts.Driver.Quirks.PreservesClientIP)
	if spec == nil {
		return true, nil
	}
	task, err := a.e.Groups.Plan(ctx, securitygroup.Request{ID: a.in.ID, Spec: spec, VIPSubnet: vipSubnet, Before: true})
	if err != nil || !task.Empty() {
		return false, err
	}
	return true, a.e.Groups.Close(ctx, task)
}

// recall locks the load balancer of the last applied state, and returns the state: the previous
// holder of the lock may have changed it. Observed is nil if the load balancer must be read.
// Changes is set if the round will probably change it: then a request checks now that it is
// unchanged.
func (e *Engine) recall(ctx context.Context, in Inputs, applied *state.Applied, changes bool, lock *async.Guard) (Observation, error) {
	have := Observation{As: in.ID}
	if applied == nil {
		return have, nil
	}
	if _, err := lock.Acquire(ctx, e.Cloud.Locks, applied.LoadBalancer.ID); err != nil {
		return have, err
	}
	if now := e.Store.Get(in.Owner.UID).Applied; now != nil {
		applied = now
	}
	shared := applied.LoadBalancer.Shared != nil
	have.As.Sharing.Is = shared
	if asksForSubnet := in.Settings.Members.SubnetID != ""; applied.Depth == model.Listed || applied.Depth == model.Settings && asksForSubnet {
		return have, nil
	}
	have.Knowledge = model.Knowledge{Depth: applied.Depth, Source: model.Memory}
	if changes {
		var err error
		if have.Confirmed, err = e.Cloud.Unchanged(ctx, applied.LoadBalancer.ID, applied.LoadBalancer.Provider, applied.Contents.UpdatedAt); err != nil || !have.Confirmed {
			return have, err
		}
	}
	have.As = applied.Identity
	have.As.Sharing.Is = shared
	if shared && have.As.Sharing.Served {
		e.Store.SetServedOn(in.Owner.UID, applied.LoadBalancer.ID)
	}
	have.Observed = &model.Observed{LoadBalancer: applied.Contents.Clone()}
	return have, nil
}
