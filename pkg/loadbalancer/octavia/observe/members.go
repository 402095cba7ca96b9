package observe

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// smallPool is the number of members that are always listed: Octavia before 16.0 takes 0.25 s for a
// hundred, and 30 s for a thousand.
const smallPool = 100

// memberReader reads the members of pools.
type memberReader struct{ octavia Octavia }

// all reads the members of pools, by pool ID. A list of a large pool takes too long on Octavia
// before 16.0: instead the status tree has address, port and status of all, and one member of each
// pool is read in full. Its settings are assumed for the others, except the subnet, which is that
// of the node, and except members that changed finds.
func (r memberReader) all(ctx context.Context, lbID string, pools []octavia.Pool, version model.Version) (members map[string][]octavia.Member, sampled map[string]bool, err error) {
	found := make([][]octavia.Member, len(pools))
	var tree map[string][]octavia.MemberStatus
	if !version.AtLeast(driver.VersionLinearMembers) {
		read, err := r.octavia.StatusTree(ctx, lbID)
		if err != nil {
			return nil, nil, err
		}
		tree = membersByPool(read)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, pool := range pools {
		group.Go(func() (err error) {
			if statuses := tree[pool.ID]; len(statuses) > smallPool {
				found[i], err = r.sampled(ctx, pool.ID, statuses)
			} else if len(pool.Members) > 0 {
				found[i], err = r.octavia.Members(ctx, pool.ID)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	members, sampled = map[string][]octavia.Member{}, map[string]bool{}
	for i, pool := range pools {
		members[pool.ID] = found[i]
		sampled[pool.ID] = len(tree[pool.ID]) > smallPool
	}
	return members, sampled, nil
}

func membersByPool(tree *octavia.StatusTree) map[string][]octavia.MemberStatus {
	members := map[string][]octavia.MemberStatus{}
	for _, listener := range tree.Listeners {
		for _, pool := range listener.Pools {
			members[pool.ID] = pool.Members
		}
	}
	return members
}

// sampled returns members with the data of the status tree and the settings of the first of them.
func (r memberReader) sampled(ctx context.Context, poolID string, statuses []octavia.MemberStatus) ([]octavia.Member, error) {
	if len(statuses) == 0 {
		return nil, nil
	}
	like, err := r.sample(ctx, poolID, statuses[0])
	if err != nil {
		return nil, err
	}
	changed, err := r.changed(ctx, poolID, statuses)
	if err != nil {
		return nil, err
	}
	changed[Member(like).Key()] = like
	return alike(like, statuses, changed), nil
}

// sample reads a member in full; it returns an empty one if that is gone.
func (r memberReader) sample(ctx context.Context, poolID string, of octavia.MemberStatus) (octavia.Member, error) {
	found, err := r.octavia.MemberAt(ctx, poolID, of.Address, of.Port)
	if err != nil || len(found) == 0 {
		return octavia.Member{}, err
	}
	return found[0], nil
}

// alike returns members with the data of the status tree, the settings of one of them, and those
// that were read. The subnet is known only of the first.
func alike(like octavia.Member, statuses []octavia.MemberStatus, read map[model.MemberKey]octavia.Member) []octavia.Member {
	members := make([]octavia.Member, 0, len(statuses))
	weight, up := new(1), new(true)
	for i, s := range statuses {
		m := like
		if i > 0 {
			m.SubnetID = ""
		}
		m.Weight, m.AdminStateUp, m.Backup, m.MonitorAddress = weight, up, false, ""
		if known, ok := read[model.MemberKey{Address: s.Address, Port: s.Port}]; ok {
			m.Weight, m.AdminStateUp, m.Backup = known.Weight, known.AdminStateUp, known.Backup
			m.MonitorPort, m.MonitorAddress = known.MonitorPort, known.MonitorAddress
		}
		m.ID, m.Name, m.Address, m.Port = s.ID, s.Name, s.Address, s.Port
		m.ProvisioningStatus, m.OperatingStatus = s.ProvisioningStatus, s.OperatingStatus
		members = append(members, m)
	}
	return members
}
