package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// comparer compares load balancers in the cloud with their applied states. It only reads.
type comparer struct {
	octavia  Octavia
	observer Observer
}

// read reads a load balancer as far as the inspection requires, and reports whether it has its
// applied state.
func (c comparer) read(ctx context.Context, id ownership.Identity, i inspection) (same bool, err error) {
	if i.health {
		same, err = c.sameParts(ctx, i.contents)
	} else {
		same, err = c.sameSettings(ctx, id, i)
	}
	if err != nil || !same || !i.others || i.health && !serviceChanged(i.contents) {
		return same, err
	}
	changed, err := c.observer.MembersChanged(ctx, i.contents, i.depth, i.weighed)
	return !changed, err
}

// sameParts compares the parts of a load balancer with the status tree, and records their statuses.
func (c comparer) sameParts(ctx context.Context, lb *model.LoadBalancer) (bool, error) {
	tree, err := c.octavia.StatusTree(ctx, lb.ID)
	if err != nil || observe.Compare(lb, tree) != "" {
		return false, err
	}
	observe.Statuses(lb, tree)
	return lb.Status.Sound() && len(lb.Unsound()) == 0, nil
}

// sameSettings reads listeners, pools and monitors of a load balancer in a snapshot, and reports
// whether they match the applied ones: no step is left, and no other client has added or removed
// anything.
func (c comparer) sameSettings(ctx context.Context, id ownership.Identity, i inspection) (bool, error) {
	lb := i.contents
	read, members, err := c.settings(ctx, id, lb, i.seen, i.settings)
	if err != nil {
		return false, err
	}
	for _, l := range lb.Listeners {
		if there := read.Listener(l.Key()); there != nil {
			there.Pool.Members = withIDs(l.Pool.Members, members(there.Pool.ID))
		}
	}
	return slices.Equal(partIDs(lb), partIDs(read)) && nothingToDo(lb, read), nil
}

// sameAsRecorded is sameSettings for a state that the previous process has recorded: the same parts
// exist, by their IDs, with the desired settings.
func (c comparer) sameAsRecorded(ctx context.Context, applied *state.Applied, seen project.LoadBalancer) (bool, error) {
	lb := applied.Contents.Clone()
	lb.ID, lb.Name, lb.Description, lb.Tags, lb.Provider = seen.ID, seen.Name, seen.Description, seen.Tags, seen.Provider
	lb.Status = model.Status{Provisioning: seen.Status, Operating: seen.Operating}
	read, members, err := c.settings(ctx, applied.Identity, lb, seen, nil)
	if err != nil {
		return false, err
	}
	for i := range read.Listeners {
		pool := &read.Listeners[i].Pool
		pool.Members = withIDs(model.Members{}, members(pool.ID))
	}
	if partsOf(read) != applied.Parts {
		return false, nil
	}
	return nothingToDo(lb, read.WithoutMembers()), nil // its members were just compared
}

// settings reads listeners, pools and monitors of a load balancer in a snapshot, unless they were
// read in a group. Of members it returns only the IDs, by the ID of their pool.
func (c comparer) settings(ctx context.Context, id ownership.Identity, lb *model.LoadBalancer, seen project.LoadBalancer, together settingsRead) (*model.LoadBalancer, func(poolID string) []string, error) {
	listed := octavia.LoadBalancer{ID: lb.ID, Name: lb.Name, Description: lb.Description, Tags: lb.Tags, Provider: lb.Provider}
	parts, there := together[lb.ID]
	if !there {
		var err error
		if parts, err = c.observer.Settings(ctx, id, listed); err != nil {
			return nil, nil, err
		}
	}
	parts.LoadBalancer = listed
	read := parts.Model(id)
	read.Status, read.VIP, read.FlavorID, read.AvailabilityZone = lb.Status, lb.VIP, lb.FlavorID, lb.AvailabilityZone
	read.AdminDown = seen.AdminDown
	read.VIP.VIPSettings = model.VIPSettings{QoSPolicyID: seen.VIPQoSPolicyID, SecurityGroupIDs: seen.VIPSecurityGroupIDs}
	return read, parts.MemberIDs, nil
}

// nothingToDo reports whether no step leads from the read state to the applied one. Pools without a
// listener may stay: see goal.Kept.
func nothingToDo(applied, read *model.LoadBalancer) bool {
	wanted := *applied
	wanted.FloatingIP, read.Orphans = nil, nil
	return plan.Diff(&wanted, model.Observed{LoadBalancer: read}, plan.Options{}).Empty()
}

// withIDs returns the members with one of the IDs, and a placeholder for every other ID.
func withIDs(members model.Members, ids []string) model.Members {
	byID := make(map[string]model.Member, members.Len())
	for _, m := range members.All() {
		byID[m.ID] = m
	}
	there := make([]model.Member, 0, len(ids))
	for _, id := range ids {
		m, ok := byID[id]
		if !ok {
			m = model.Member{ID: id, Address: fmt.Sprintf("of member %s", id)}
		}
		there = append(there, m)
	}
	return model.MembersOf(there...)
}

// partIDs returns the sorted IDs of all listeners and pools, of all owners.
func partIDs(lb *model.LoadBalancer) []string {
	var ids []string
	for _, l := range lb.Listeners {
		if ids = append(ids, l.ID); l.Protocol.HasPool() {
			ids = append(ids, l.Pool.ID)
		}
	}
	for _, pool := range lb.Orphans {
		ids = append(ids, pool.ID)
	}
	for _, foreign := range lb.Foreign {
		ids = append(ids, foreign.ID)
	}
	slices.Sort(ids)
	return ids
}
