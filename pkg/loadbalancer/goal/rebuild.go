package goal

import (
	"context"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// After a restart only the record of a load balancer is known. If the desired state is the same
// except for nodes, only IDs and current members are missing. The status tree has both: one request
// replaces one for each pool and some more.

// anyAge accepts the last snapshot at any age: the record was compared with it, or with an earlier
// one.
const anyAge = 1 << 62 * time.Nanosecond

// rebuild returns a load balancer from its record alone, if that is sufficient and still true: else
// nil, and the load balancer must be read.
func (c *recaller) rebuild(ctx context.Context, in Inputs, applied *state.Applied, want *Desired) (*model.Observed, error) {
	if applied.Digests.Nodeless == "" || managesGroups(in) || applied.Digests.Nodeless != digest.Nodeless(want.LoadBalancer, in.Settings) {
		return nil, nil
	}
	snap, err := c.project.Snapshot(ctx, anyAge)
	if err != nil {
		return nil, err
	}
	known := applied.LoadBalancer
	listed, there := snap.LoadBalancers[known.ID]
	if !there || applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the record was compared with an earlier snapshot
	}
	if !provenOwn(in, listed) {
		return nil, nil // a record proves nothing
	}
	fip, ok := rebuildFloatingIP(in, snap, known.FloatingIPID)
	if !ok {
		return nil, nil
	}
	lb := want.LoadBalancer.Clone()
	lb.ID, lb.Provider, lb.UpdatedAt = known.ID, known.Provider, applied.Seen.UpdatedAt
	lb.VIP.PortID, lb.VIP.Address, lb.VIP.Additional, lb.Adopted = listed.VIPPortID, listed.VIPAddress, listed.AdditionalVIPs, known.Adopted
	if same, err := c.reader.Unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt); err != nil || !same {
		return nil, err
	}
	if same, err := c.reader.Observer.Fill(ctx, lb); err != nil || !same {
		return nil, err
	}
	lb.FloatingIP = fip
	return &model.Observed{LoadBalancer: lb}, nil
}

// provenOwn reports whether a load balancer of a snapshot is certainly the Service's own: by its
// tags or, if cloud-provider-openstack created it, by its name and the annotation.
func provenOwn(in Inputs, lb project.LoadBalancer) bool {
	switch in.ID.Claim(lb.Tags, "") {
	case ownership.Ours:
		return true
	case ownership.Unclaimed:
		return lb.ID == in.Settings.LoadBalancer.ID && slices.Contains(in.ID.Names(), lb.Name)
	default:
		return false
	}
}

// rebuildFloatingIP returns the recorded floating IP, nil for none. It is false if its owner
// depends on the creator of the load balancer, which a snapshot does not show.
func rebuildFloatingIP(in Inputs, snap *project.Snapshot, id string) (*model.FloatingIP, bool) {
	if id == "" {
		return nil, true
	}
	seen := snap.FloatingIPs[id]
	owned := in.ID.FloatingIPs().OwnOnVIP(seen.Description, false)
	if owned != in.ID.FloatingIPs().OwnOnVIP(seen.Description, true) {
		return nil, false
	}
	fip := fittingFloatingIP(in.Settings)
	fip.ID, fip.Address, fip.PortID, fip.Description, fip.Owned = seen.ID, seen.Address, seen.PortID, seen.Description, owned
	return fip, true
}
