package securitygroup

import (
	"context"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Drifted reads the rules and the ports of the project, with one request each, and returns the
// changes of other clients, by the UID of a Service to reconcile, which begins with Reread. It
// skips Services that are being reconciled.
func (g *Groups) Drifted(ctx context.Context) (map[string]string, error) {
	before := g.entries.atRest()
	if len(before) == 0 {
		return nil, nil
	}
	sharedID, sharedPorts := g.shared.snapshot()
	around, err := readAround(ctx, g.neutron)
	if err != nil {
		return nil, err
	}
	after, found := g.entries.atRest(), map[string]string{}
	for uid, s := range before {
		if after[uid] != s {
			continue
		}
		if g.mode == Shared {
			s = &State{GroupID: s.GroupID, Rules: s.Rules}
		}
		if why := around.differs(s, g.mode == PerService); why != "" {
			found[uid] = why
		}
	}
	if g.shared.lost(around, sharedID, sharedPorts) { // a round of any Service restores it on all ports
		found[slices.Min(slices.Collect(maps.Keys(before)))] = "the security group of the cluster was taken off a port"
	}
	return found, nil
}

// Reread makes the next round of a Service read its groups, and that of the cluster.
func (g *Groups) Reread(uid string) {
	g.entries.forget(uid)
	if g.mode == Shared {
		g.shared.unset()
	}
}

// surroundings are the rules of groups and the groups of ports at one time.
type surroundings struct {
	rules map[string][]string // IDs by group
	ports map[string]neutron.Port
}

func readAround(ctx context.Context, neutronAPI Neutron) (*surroundings, error) {
	rules, err := neutronAPI.SecurityGroupRuleIDs(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := neutronAPI.GroupsOfPorts(ctx)
	if err != nil {
		return nil, err
	}
	around := &surroundings{rules: rules, ports: make(map[string]neutron.Port, len(ports))}
	for _, port := range ports {
		around.ports[port.ID] = port
	}
	return around, nil
}

// lost reports whether an existing port does not use a group.
func (s *surroundings) lost(portID, groupID string) bool {
	port, there := s.ports[portID]
	return there && !port.UsesGroup(groupID)
}

// differs describes the difference between the surroundings and the known state; in a group of a
// single Service, rules of others count too.
func (s *surroundings) differs(known *State, alone bool) string {
	now := s.rules[known.GroupID]
	for _, rule := range known.Rules {
		if !slices.Contains(now, rule.ID) {
			return "a rule of its security group was deleted"
		}
	}
	if alone && len(now) > len(known.Rules) {
		return "a rule was added to its security group"
	}
	for _, port := range known.Ports {
		if s.lost(port, known.GroupID) {
			return "its security group was taken off a port"
		}
	}
	return ""
}

// lost reports whether a port does not use the group any more that used it before the surroundings were read, and still should.
func (s *sharedGroup) lost(around *surroundings, id string, before []string) bool {
	now, ports := s.snapshot()
	return id != "" && now == id && slices.ContainsFunc(before, func(port string) bool {
		_, there := slices.BinarySearch(ports, port)
		return there && around.lost(port, id)
	})
}
