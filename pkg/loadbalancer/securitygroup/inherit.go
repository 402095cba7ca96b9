package securitygroup

import (
	"context"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// everything is all security groups and who uses them, at one moment: a process that
// starts meets all Services at once, and takes two requests for it.
type everything struct {
	began  time.Time
	groups map[string][]neutron.SecurityGroup // by name
	ports  map[string][]string                // IDs by group
}

// inherited returns what there is for a Service that this process has not worked on.
func (g *Groups) inherited(ctx context.Context, id ownership.Identity) (*State, error) {
	all, err := g.lookAtAll(ctx)
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

// lookAtAll takes a look, or gives one that is not too old.
func (g *Groups) lookAtAll(ctx context.Context) (*everything, error) {
	g.mu.Lock()
	last := g.all
	g.mu.Unlock()
	if last != nil && g.clock.Since(last.began) <= lookAge {
		return last, nil
	}
	return g.readAll.Do(ctx, "", g.takeLook)
}

func (g *Groups) takeLook(ctx context.Context) (*everything, error) {
	all := &everything{began: g.clock.Now(), groups: map[string][]neutron.SecurityGroup{}, ports: map[string][]string{}}
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
	g.all = all
	if g.others == nil {
		g.others = names
	}
	return all, nil
}
