package securitygroup

import (
	"context"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// snapshot is the state of all security groups and their ports at one time: a new process needs it
// for all Services, and reads it with two requests.
type snapshot struct {
	groups map[string][]neutron.SecurityGroup // by name
	ports  map[string][]string                // IDs by group
}

// inherited returns the state of a Service that this process has not reconciled yet.
func (g *Groups) inherited(ctx context.Context, id ownership.Identity) (*State, error) {
	all, err := g.snapshots.Get(ctx, g.clock, snapshotAge, g.takeSnapshot)
	if err != nil {
		return nil, err
	}
	s := &State{}
	for i, group := range owned(all.groups[id.SecurityGroupName()], id) {
		if i > 0 {
			s.Obsolete = append(s.Obsolete, group.ID)
			continue
		}
		s.GroupID, s.Rules, s.Ports = group.ID, heldRules(group.Rules), all.ports[group.ID]
	}
	return s, nil
}

// takeSnapshot reads all security groups and their ports.
func (g *Groups) takeSnapshot(ctx context.Context, _ time.Time) (*snapshot, error) {
	all := &snapshot{groups: map[string][]neutron.SecurityGroup{}, ports: map[string][]string{}}
	groups, err := g.neutron.AllSecurityGroups(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := g.neutron.GroupsOfPorts(ctx)
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
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.others == nil {
		g.others = names
	}
	return all, nil
}
