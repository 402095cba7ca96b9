package goal

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// maxSnapshotAge is how old a snapshot of the whole cloud may be for Services of a process that
// has just started: they share one.
const maxSnapshotAge = time.Minute

// lastApplied returns what was applied last, by this process or by the one before, what the
// Service asks for now on a load balancer like that, and whether that is the same. It is nil
// where the load balancer is to be read.
func (a *Asked) lastApplied(ctx context.Context) (last lastApplied, err error) {
	last.applied, last.want, last.same, err = a.compareLast(ctx)
	return last, err
}

// lastApplied is the result of Asked.lastApplied.
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
	entry := a.e.Store.Get(a.in.Service.UID)
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
	if !applied.Seen.Confirmed {
		applied.Restored.Outline = want.LoadBalancer.WithoutMembers()
	}
	a.e.Store.SetApplied(a.in.Service.UID, applied)
	a.provenByAddress(applied)
	return applied, want, true, nil
}

// noteAddress has ID and address of a load balancer written once more where the annotations of the Service
// say something else than was written, as they do when a write that was under way comes later than the one
// after it: that of the process before, or of this one.
func (e *Engine) noteAddress(svc *v1.Service, applied *state.Applied) {
	if !applied.Persisted.Address || addressWritten(svc, applied.LoadBalancer.ID, applied.Address) {
		return
	}
	unwritten := *applied
	unwritten.Persisted.Address = false
	e.Store.ReplaceApplied(svc.UID, applied, &unwritten)
}

// provenByAddress records what the published floating IP proves, which restore has found on
// the load balancer: whoever takes it off does not take the load balancer from the Service.
func (a *Asked) provenByAddress(applied *state.Applied) {
	known := applied.LoadBalancer
	switch {
	case known.FloatingIPID == "" || applied.Address != statusAddress(a.in.Service):
	case known.Shared == nil:
		a.e.Store.SetLoadBalancerID(a.in.Service.UID, known.ID)
	default:
		a.e.Store.SetServedOn(a.in.Service.UID, known.ID)
	}
}

// compare returns what the Service asks for now on a load balancer like the one that is
// known, and whether that is what was applied.
func (a *Asked) compare(ctx context.Context, applied *state.Applied) (want *Desired, same bool, err error) {
	if want, err = a.desire(ctx, a.standIn(applied)); err != nil {
		return nil, false, err
	}
	return want, a.e.digest(a.in, want) == applied.Digests.Full, nil
}

// alike compares what the Service asks for with what was written down. Whether that was of
// a load balancer that is another's, or that another controller made without health
// monitors, only the digest of what the Service asks for there can tell.
func (a *Asked) alike(ctx context.Context, restored *state.Applied) (applied *state.Applied, want *Desired, same bool, err error) {
	var first *Desired
	for _, on := range []struct{ shared, unmonitored bool }{{}, {true, false}, {false, true}, {true, true}} {
		if on.unmonitored && !a.in.Settings.MonitoredByPolicy() {
			continue
		}
		applied := *restored
		if applied.LoadBalancer.Unmonitored = on.unmonitored; on.shared {
			applied.LoadBalancer.Shared = &model.Shared{}
		}
		want, same, err := a.compare(ctx, &applied)
		if err != nil || same {
			return &applied, want, same, err
		}
		first = cmp.Or(first, want)
	}
	return restored, first, false, nil
}

// standIn is a load balancer like the one that is known, as far as what the Service asks
// for depends on it.
func (a *Asked) standIn(applied *state.Applied) *model.LoadBalancer {
	known := applied.LoadBalancer
	lb := model.LoadBalancer{Provider: known.Provider, Shared: known.Shared, Adopted: known.Unmonitored}
	if applied.Contents != nil {
		lb = *applied.Contents
	}
	if lb.FloatingIP = nil; known.FloatingIPID != "" {
		lb.FloatingIP = fittingFloatingIP(a.in.Settings)
	}
	return &lb
}

// restore returns what the last process has written down of the Service, if the cloud is
// still like that, else nil.
func (a *Asked) restore(ctx context.Context) (*state.Applied, error) {
	svc, settings := a.in.Service, a.in.Settings
	written, ok := a.e.written(svc)
	if !ok || written.Digests.Full == "" || len(svc.Status.LoadBalancer.Ingress) == 0 {
		return nil, nil
	}
	if settings.LoadBalancer.ID != "" && settings.LoadBalancer.ID != written.LoadBalancerID {
		return nil, nil // it is to move
	}
	snap, err := a.e.Cloud.Snapshots.Snapshot(ctx, maxSnapshotAge)
	if err != nil {
		return nil, err
	}
	lb, there := snap.LoadBalancers[written.LoadBalancerID]
	if settings.LoadBalancer.ID == "" && lb.Name != a.in.ID.Name() {
		return nil, nil // it named another's then, and is to have its own now
	}
	if !there || lb.Status != octavia.StatusActive || !lb.UpdatedAt.Equal(written.UpdatedAt) {
		klog.FromContext(ctx).V(2).Info("The load balancer is not as it was written down, reading it", "status", lb.Status, "updatedAt", lb.UpdatedAt, "written", written.UpdatedAt)
		return nil, nil
	}
	if a.e.Store.Get(svc.UID).Made.Touched || snap.Named(lb.Name) > 1 {
		return nil, nil // something was begun, by this process or the last one, and perhaps not ended
	}
	applied := &state.Applied{
		Service:  cluster.Key(svc),
		Identity: a.in.ID,
		Digests:  written.Digests,
		Address:  lb.VIPAddress,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPPortID: lb.VIPPortID, VIPSubnetID: lb.VIPSubnetID,
			FloatingIPID: written.FloatingIPID, Named: settings.LoadBalancer.ID,
		},
		Seen:      state.Seen{UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Operating, Since: snap.Began, Confirmed: written.Parts == ""},
		Persisted: state.Persisted{Fingerprint: a.e.recorded(svc.UID) && written.Parts == ""},
	}
	if written.Parts != "" {
		applied.Restored = &state.Restored{Parts: written.Parts}
	}
	if applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the floating IP is not as it was written down
	}
	if !settings.Floating.Keep && a.hasUnattachedFloatingIP(snap) {
		a.e.Store.SetUnattachedFloatingIP(svc.UID, true)
		return nil, nil // left by a change of it that was not ended, and taken back since
	}
	if settings.FloatingIP() && written.FloatingIPID != "" {
		applied.Address = snap.FloatingIPs[written.FloatingIPID].Address
	}
	want, have := settings.Ingress(applied.Address), svc.Status.LoadBalancer.Ingress[0]
	if want.IP != have.IP || want.Hostname != have.Hostname {
		return nil, nil // the status says something else
	}
	applied.Persisted.Address = addressWritten(svc, lb.ID, applied.Address)
	return applied, nil
}

// hasUnattachedFloatingIP reports whether a snapshot shows a floating IP of the Service's on no port.
func (a *Asked) hasUnattachedFloatingIP(snap *snapshot.Snapshot) bool {
	return slices.ContainsFunc(snap.Described(a.in.ID.FloatingIPDescription()), func(fip snapshot.FloatingIP) bool { return fip.PortID == "" })
}

// securityGroupsKept reports whether the security groups of a Service that asks for what
// was written down of it are as it needs them. All such Services share the requests.
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

// recall returns what was applied last, once it has the lock of the load balancer: who had it
// before may have changed what is known. It has no Observed where all of the load balancer has to be read. Changes
// is set where the round will very likely change something: then the load balancer is asked for now.
func (e *Engine) recall(ctx context.Context, in Inputs, applied *state.Applied, changes bool, lock *async.Guard) (Observation, error) {
	have := Observation{As: in.ID}
	if applied == nil {
		return have, nil
	}
	if _, err := lock.Acquire(ctx, e.Cloud.Locks, applied.LoadBalancer.ID); err != nil {
		return have, err
	}
	if now := e.Store.Get(in.Service.UID).Applied; now != nil {
		applied = now
	}
	shared := applied.LoadBalancer.Shared != nil
	have.As.Sharing.Is = shared
	if asksForSubnet := in.Settings.Members.SubnetID != ""; applied.Contents == nil || applied.Brief && asksForSubnet {
		return have, nil
	}
	if changes {
		var err error
		if have.Unchanged, err = e.unchanged(ctx, applied.LoadBalancer.ID, applied.LoadBalancer.Provider, applied.Contents.UpdatedAt); err != nil || !have.Unchanged {
			return have, err
		}
	}
	have.As, have.Brief = applied.Identity, applied.Brief
	have.As.Sharing.Is = shared
	if shared && have.As.Sharing.Served {
		e.Store.SetServedOn(in.Service.UID, applied.LoadBalancer.ID)
	}
	have.Observed = &model.Observed{LoadBalancer: applied.Contents.Clone()}
	return have, nil
}
