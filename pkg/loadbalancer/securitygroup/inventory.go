package securitygroup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// snapshot is the state of all security groups and their ports at one time: a new process needs it
// for all Services, and reads it with two requests.
type snapshot struct {
	groups map[string][]neutron.SecurityGroup // by name
	ports  map[string][]string                // IDs by group
}

// inventory has the security groups of the project. It is safe for concurrent use.
type inventory struct {
	neutron Neutron
	clock   clock.PassiveClock

	snapshots async.Recent[*snapshot]
	reads     async.Flight[struct{}] // their result is in groups

	mu sync.Mutex
	// groups are those of the first read of this process, by name, without the ones that it has deleted. It
	// creates groups of its own mode only, so that those of other modes can only decrease.
	groups map[string][]neutron.SecurityGroup
}

// inherited returns the state of a Service that this process has not reconciled yet.
func (i *inventory) inherited(ctx context.Context, id ownership.Identity) (*State, error) {
	all, err := i.snapshots.Get(ctx, i.clock, snapshotAge, i.take)
	if err != nil {
		return nil, err
	}
	s := &State{}
	for at, group := range owned(all.groups[id.SecurityGroup().Name], id) {
		if at > 0 {
			s.Obsolete = append(s.Obsolete, group.ID)
			continue
		}
		s.GroupID, s.Rules, s.Ports, s.Untagged = group.ID, heldRules(group.Rules), all.ports[group.ID], untagged(group)
	}
	return s, nil
}

// take reads all security groups and their ports.
func (i *inventory) take(ctx context.Context, _ time.Time) (*snapshot, error) {
	all := &snapshot{groups: map[string][]neutron.SecurityGroup{}, ports: map[string][]string{}}
	groups, err := i.neutron.AllSecurityGroups(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := i.neutron.GroupsOfPorts(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string][]neutron.SecurityGroup{}
	for _, group := range groups {
		all.groups[group.Name] = append(all.groups[group.Name], group)
		group.Rules = nil
		names[group.Name] = append(names[group.Name], group)
	}
	for _, port := range ports {
		for _, group := range port.SecurityGroups {
			all.ports[group] = append(all.ports[group], port.ID)
		}
	}
	for _, ids := range all.ports {
		slices.Sort(ids)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.groups == nil {
		i.groups = names
	}
	return all, nil
}

// byName returns the groups of the first read of this process, without those that it has deleted.
func (i *inventory) byName(ctx context.Context) (map[string][]neutron.SecurityGroup, error) {
	i.mu.Lock()
	known := i.groups
	i.mu.Unlock()
	if known != nil {
		return known, nil
	}
	_, err := i.reads.Do(ctx, "", func(ctx context.Context) (done struct{}, err error) {
		all, err := i.neutron.SecurityGroupNames(ctx)
		if err != nil {
			return done, err
		}
		byName := map[string][]neutron.SecurityGroup{}
		for _, group := range all {
			byName[group.Name] = append(byName[group.Name], group)
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		i.groups = byName
		return done, nil
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.groups, err
}

// drop records that a group was deleted. The map is replaced, because others may be reading it.
func (i *inventory) drop(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	left := maps.Clone(i.groups)
	for name, groups := range left {
		left[name] = slices.DeleteFunc(slices.Clone(groups), func(o neutron.SecurityGroup) bool { return o.ID == id })
	}
	i.groups = left
}
