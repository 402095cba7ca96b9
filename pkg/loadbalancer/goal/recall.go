package goal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// maxSnapshotAge is the maximum age of a snapshot of the project that the Services of a new process
// share.
const maxSnapshotAge = time.Minute

// recaller has the stage Recall of a desired state: it compares the state with the last applied one.
type recaller struct {
	planner *planner
	memory  Memory
	reader  reading.Reader
	project *project.Reader
	groups  NodeGroups
}

// lastApplied returns the last applied state, of this process or the one before, the desired state
// on such a load balancer, and whether both are the same. It is empty if the load balancer must be
// read.
func (c *recaller) lastApplied(ctx context.Context, in Inputs) (last lastApplied, err error) {
	last.applied, last.want, last.same, err = c.compareLast(ctx, in)
	return last, err
}

type lastApplied struct {
	applied *state.Applied
	want    *Desired
	same    bool
}

func (c *recaller) compareLast(ctx context.Context, in Inputs) (applied *state.Applied, want *Desired, same bool, err error) {
	named := in.Settings.LoadBalancer.ID
	moves := func(applied *state.Applied) bool {
		return named != applied.LoadBalancer.Named && named != applied.LoadBalancer.ID
	}
	entry := c.memory.Store.Get(in.Owner.UID)
	if applied = entry.Applied; applied != nil {
		if moves(applied) || entry.Made.UnattachedFloatingIP {
			return nil, nil, false, nil
		}
		want, same, err = c.compare(ctx, in, applied)
		return applied, want, same, err
	}
	applied, err = c.restore(ctx, in)
	if err != nil || applied == nil || moves(applied) {
		return nil, nil, false, err
	}
	if applied, want, same, err = c.alike(ctx, in, applied); err != nil {
		return nil, nil, false, err
	}
	if !same {
		klog.FromContext(ctx).V(2).Info("The Service asks for something else than was written down, reading its load balancer")
		return applied, want, false, nil
	}
	if kept, err := c.securityGroupsKept(ctx, in, want, applied.LoadBalancer); err != nil || !kept {
		return nil, nil, false, err
	}
	if !applied.Confirmed {
		applied.Contents = want.LoadBalancer.WithoutMembers()
	}
	c.memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.SetApplied(applied) })
	c.provenByAddress(in, applied)
	return applied, want, true, nil
}

// provenByAddress records the proof by the published floating IP that restore has found on the load
// balancer: if another client detaches the floating IP, the load balancer stays the Service's.
func (c *recaller) provenByAddress(in Inputs, applied *state.Applied) {
	known := applied.LoadBalancer
	switch {
	case known.FloatingIPID == "" || applied.Address != in.Published.first():
	case known.Shared == nil:
		c.memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.LoadBalancerID = known.ID })
	default:
		c.memory.Store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.ServedOn = known.ID })
	}
}

// compare returns the desired state on a load balancer like the known one, and whether it was
// applied.
func (c *recaller) compare(ctx context.Context, in Inputs, applied *state.Applied) (want *Desired, same bool, err error) {
	if want, err = c.planner.asked(ctx, in, placeholder(in, applied)); err != nil {
		return nil, false, err
	}
	return want, want.digestFor(in) == applied.Digests.Full, nil
}

// alike compares the desired state with the record. The record does not show whether the load
// balancer is shared and then adopted, or was created by another controller without health
// monitors: the digest is compared with that of each case. A case can be refused although another one
// is true: nothing is returned if the load balancer must be read to find out. The error is a refusal if
// all cases are refused.
func (c *recaller) alike(ctx context.Context, in Inputs, restored *state.Applied) (applied *state.Applied, want *Desired, same bool, err error) {
	var first *Desired
	var refused error
	permitted := false
	for i, on := range []struct{ shared, unmonitored, adopted bool }{
		{}, {shared: true}, {unmonitored: true}, {shared: true, unmonitored: true, adopted: true}, {shared: true, adopted: true},
	} {
		if on.unmonitored && !in.Settings.MonitoredByPolicy() || !on.unmonitored && on.adopted && !in.Settings.MayFollowEndpoints() {
			continue
		}
		applied := *restored
		if applied.LoadBalancer.Unmonitored = on.unmonitored; on.shared {
			applied.LoadBalancer.Shared, applied.LoadBalancer.Adopted = &model.Shared{}, on.adopted
		}
		want, same, err := c.compare(ctx, in, &applied)
		var invalid *message.InvalidError
		switch {
		case errors.As(err, &invalid):
			refused = cmp.Or(refused, err)
			continue
		case err != nil:
			return nil, nil, false, err
		case same:
			applied.LoadBalancer.AllNodes, applied.LoadBalancer.Pods = want.Followed.Forbidden, want.Followed.Pods
			return &applied, want, true, nil
		case i == 0:
			first = want
		}
		permitted = true
	}
	switch {
	case first != nil:
		return restored, first, false, nil
	case permitted:
		return nil, nil, false, nil
	}
	return nil, nil, false, refused
}

// placeholder returns a load balancer like the known one, as far as the desired state depends on it.
func placeholder(in Inputs, applied *state.Applied) *model.LoadBalancer {
	known := applied.LoadBalancer
	lb := model.LoadBalancer{Provider: known.Provider, VIP: known.VIPs, Shared: known.Shared, Adopted: known.Adopted || known.Unmonitored}
	lb.VIP.SubnetID = known.VIPSubnetID
	if known.Adopted && !known.Unmonitored {
		lb.Listeners = []model.Listener{{Pool: model.Pool{Monitor: &model.Monitor{}}}}
	}
	if applied.Depth != model.Listed {
		lb = *applied.Contents
	}
	if lb.FloatingIP = nil; known.FloatingIPID != "" {
		lb.FloatingIP = fittingFloatingIP(in.Settings)
	}
	return &lb
}

// servedBy returns the load balancer of an applied state, of a record as far as its settings without effect depend on
// it. It is nil for a record of another Service's load balancer: its addresses are in no record.
func servedBy(in Inputs, applied *state.Applied) *model.LoadBalancer {
	switch {
	case applied.Depth != model.Listed:
		return applied.Contents
	case applied.LoadBalancer.Shared != nil:
		return nil
	}
	lb := placeholder(in, applied)
	lb.ID = applied.LoadBalancer.ID
	return lb
}

// restore returns the recorded state of the Service if the cloud is still the same, else nil.
func (c *recaller) restore(ctx context.Context, in Inputs) (*state.Applied, error) {
	uid, settings := in.Owner.UID, in.Settings
	written, ok := c.memory.record(uid)
	if !ok || written.Digests.Full == "" || !in.Published.hasStatus() {
		return nil, nil
	}
	if settings.LoadBalancer.ID != "" && settings.LoadBalancer.ID != written.LoadBalancerID {
		return nil, nil // it shall move
	}
	snap, err := c.project.Snapshot(ctx, maxSnapshotAge)
	if err != nil {
		return nil, err
	}
	lb, there := snap.LoadBalancers[written.LoadBalancerID]
	if settings.LoadBalancer.ID == "" && lb.Name != in.ID.Name() {
		return nil, nil // it was a guest, and shall have its own now
	}
	if !there || lb.Status != model.StatusActive || !lb.UpdatedAt.Equal(written.UpdatedAt) {
		klog.FromContext(ctx).V(2).Info("The load balancer is not as it was written down, reading it", "status", lb.Status, "updatedAt", lb.UpdatedAt, "written", written.UpdatedAt)
		return nil, nil
	}
	if made := c.memory.Store.Get(uid).Made; made.Touched || len(made.Entered) > 0 || snap.Named(lb.Name) > 1 {
		return nil, nil // a change was begun, by this process or the last one, and may be incomplete
	}
	applied := &state.Applied{
		Service:  in.Owner.Key(),
		Identity: in.ID,
		Digests:  written.Digests,
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, VIPSubnetID: lb.VIPSubnetID,
			FloatingIPID: written.FloatingIPID, Weighed: written.Weighed, Named: settings.LoadBalancer.ID, Share: settings.LoadBalancer.Share,
			Adopted: in.ID.Claim(lb.Tags, lb.Description) != ownership.Ours,
		},
		Seen:      state.Seen{UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Operating, Since: snap.Began},
		Knowledge: model.Knowledge{Depth: model.Listed, Source: model.Record, Confirmed: written.Parts == ""},
		Parts:     written.Parts,
		Persisted: state.Persisted{Record: c.memory.hasRecord(uid) && written.Parts == ""},
	}
	if applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the floating IP differs from the record
	}
	if !settings.Floating.Keep && hasUnattachedFloatingIP(in.ID, snap) {
		c.memory.Store.Update(uid, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
		return nil, nil // remains of an incomplete change that was reverted
	}
	as := &model.LoadBalancer{VIP: model.VIP{Address: lb.VIPAddress, Additional: lb.AdditionalVIPs}}
	if written.FloatingIPID != "" {
		as.FloatingIP = &model.FloatingIP{Address: snap.FloatingIPs[written.FloatingIPID].Address}
	}
	addresses := addressesOn(as, settings)
	applied.Address, applied.MoreAddresses = addresses[0], addresses[1:]
	if !slices.EqualFunc(publish(addresses, settings).Ingress, in.Published.Status.Ingress, sameAddress) {
		return nil, nil // the status differs from the record
	}
	if len(lb.AdditionalVIPs) > 0 {
		applied.LoadBalancer.VIPs = as.VIP
	}
	applied.Persisted.Address = in.Published.written(lb.ID, settings.LoadBalancer.Share, applied.Address)
	return applied, nil
}

func sameAddress(a, b v1.LoadBalancerIngress) bool { return a.IP == b.IP && a.Hostname == b.Hostname }

// hasUnattachedFloatingIP reports whether a snapshot has an unattached floating IP of the Service.
func hasUnattachedFloatingIP(id ownership.Identity, snap *project.Snapshot) bool {
	return slices.ContainsFunc(snap.Described(id.FloatingIPs().Description()), func(fip project.FloatingIP) bool { return fip.PortID == "" })
}

// securityGroupsKept reports whether the security groups of a Service with an unchanged record are
// as desired. All such Services share the requests.
func (c *recaller) securityGroupsKept(ctx context.Context, in Inputs, want *Desired, known state.LoadBalancer) (bool, error) {
	spec := withVIPs(specOf(in, want), known.VIPs.Additional)
	if spec == nil {
		return true, nil
	}
	task, err := c.groups.Plan(ctx, securitygroup.Request{ID: in.ID, Spec: spec, VIPSubnet: known.VIPSubnetID, Before: true})
	if err != nil || !task.Empty() {
		return false, err
	}
	return true, c.groups.Close(ctx, task)
}
