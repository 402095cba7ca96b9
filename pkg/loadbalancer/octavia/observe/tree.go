package observe

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Contents reads all parts of a listed load balancer: listeners, pools and monitors with one
// request each, members with one per pool (see Members).
func (o *Observer) Contents(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (*model.LoadBalancer, error) {
	parts := Parts{LoadBalancer: lb}
	if len(lb.Listeners) == 0 && len(lb.Pools) == 0 {
		return parts.Model(id), nil
	}
	version, err := o.Version(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.listenersAndPools(ctx, &parts); err != nil {
		return nil, err
	}
	if o.Depth == model.Settings {
		if err := o.brief(ctx, id, &parts); err != nil {
			return nil, err
		}
		return parts.Model(id), nil
	}
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		parts.Monitors, err = o.monitors(grouped, id, parts.Pools)
		return err
	})
	group.Go(func() (err error) {
		parts.Members, parts.Sampled, err = o.members(grouped, lb.ID, parts.Pools, version)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return parts.Model(id), nil
}

// Settings reads the same as Contents, but only the IDs of members.
func (o *Observer) Settings(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (Parts, error) {
	parts := Parts{LoadBalancer: lb}
	err := o.listenersAndPools(ctx, &parts)
	if err == nil {
		parts.Monitors, err = o.monitors(ctx, id, parts.Pools)
	}
	return parts, err
}

func (o *Observer) listenersAndPools(ctx context.Context, parts *Parts) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		parts.Listeners, err = o.Octavia.Listeners(ctx, parts.LoadBalancer.ID)
		return err
	})
	group.Go(func() (err error) {
		parts.Pools, err = o.Octavia.Pools(ctx, parts.LoadBalancer.ID)
		return err
	})
	return group.Wait()
}

// monitors reads the health monitors of pools: ours by their tag in one request, those of
// cloud-provider-openstack, which have no tag, one by one.
func (o *Observer) monitors(ctx context.Context, id ownership.Identity, all []octavia.Pool) (map[string]octavia.HealthMonitor, error) {
	found := map[string]octavia.HealthMonitor{}
	missing := func() (ids []string) {
		for _, p := range all {
			if _, ok := found[p.MonitorID]; p.MonitorID != "" && !ok {
				ids = append(ids, p.MonitorID)
			}
		}
		return ids
	}
	if len(missing()) > 1 && !id.Untagged {
		tagged, err := o.Octavia.MonitorsTagged(ctx, id.ServiceTag())
		if err != nil {
			return nil, err
		}
		for _, m := range tagged {
			found[m.ID] = m
		}
	}
	for _, monitorID := range missing() {
		m, err := o.Octavia.Monitor(ctx, monitorID)
		if err != nil {
			return nil, err
		}
		found[m.ID] = *m
	}
	return found, nil
}

// smallPool is the number of members that are always listed: Octavia before 16.0 takes 0.25 s for a
// hundred, and 30 s for a thousand.
const smallPool = 100

// members reads the members of pools, by pool ID. A list of a large pool takes too long on Octavia
// before 16.0: instead the status tree has address, port and status of all, and one member of each
// pool is read in full. Its settings are assumed for the others, except the subnet, which is that
// of the node, and except members that changedMembers finds.
func (o *Observer) members(ctx context.Context, lbID string, all []octavia.Pool, version model.Version) (members map[string][]octavia.Member, sampled map[string]bool, err error) {
	found := make([][]octavia.Member, len(all))
	var tree map[string][]octavia.MemberStatus
	if !version.AtLeast(driver.VersionLinearMembers) {
		read, err := o.Octavia.StatusTree(ctx, lbID)
		if err != nil {
			return nil, nil, err
		}
		tree = membersByPool(read)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, pool := range all {
		group.Go(func() (err error) {
			if statuses := tree[pool.ID]; len(statuses) > smallPool {
				found[i], err = o.sampled(ctx, pool.ID, statuses)
			} else if len(pool.Members) > 0 {
				found[i], err = o.Octavia.Members(ctx, pool.ID)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	members, sampled = map[string][]octavia.Member{}, map[string]bool{}
	for i, pool := range all {
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
func (o *Observer) sampled(ctx context.Context, poolID string, statuses []octavia.MemberStatus) ([]octavia.Member, error) {
	if len(statuses) == 0 {
		return nil, nil
	}
	like, err := o.sample(ctx, poolID, statuses[0])
	if err != nil {
		return nil, err
	}
	changed, err := o.changedMembers(ctx, poolID, statuses)
	if err != nil {
		return nil, err
	}
	changed[Member(like).Key()] = like
	return alike(like, statuses, changed), nil
}

// sample reads a member in full; it returns an empty one if that is gone.
func (o *Observer) sample(ctx context.Context, poolID string, of octavia.MemberStatus) (octavia.Member, error) {
	found, err := o.Octavia.MemberAt(ctx, poolID, of.Address, of.Port)
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

// Parts are the load balancer service's objects of one load balancer.
type Parts struct {
	LoadBalancer octavia.LoadBalancer
	Listeners    []octavia.Listener
	Pools        []octavia.Pool
	Monitors     map[string]octavia.HealthMonitor // by ID
	Members      map[string][]octavia.Member      // by pool ID
	// Sampled are the pools of which only the first member was read in full.
	Sampled map[string]bool
	// Depth is model.Settings if not even one member of each pool was read in full.
	Depth model.Depth
}

// MemberIDs returns the IDs of the members of a pool.
func (p Parts) MemberIDs(poolID string) []string {
	var ids []string
	for _, pool := range p.Pools {
		if pool.ID == poolID {
			for _, m := range pool.Members {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

// Created returns the parts in the answer to a fully populated create.
func Created(lb octavia.LoadBalancer) Parts {
	parts := Parts{LoadBalancer: lb, Listeners: lb.Listeners, Pools: slices.Clone(lb.Pools), Monitors: map[string]octavia.HealthMonitor{}}
	for i := range parts.Pools {
		if monitor := parts.Pools[i].Monitor; monitor != nil {
			parts.Pools[i].MonitorID = monitor.ID
			parts.Monitors[monitor.ID] = *monitor
		}
	}
	return parts
}
