package securitygroup

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Drifted reads the rules and the ports of the project, with one request each, and returns the
// changes of other clients, by the UID of a Service to reconcile, which begins with Reread. It
// skips Services that are being reconciled.
func (g *Groups) Drifted(ctx context.Context) (map[string]string, error) {
	before := g.atRest()
	if len(before) == 0 {
		return nil, nil
	}
	sharedID, sharedPorts := g.shared.snapshot()
	around, err := g.readAround(ctx)
	if err != nil {
		return nil, err
	}
	after, found := g.atRest(), map[string]string{}
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
	if uid, why := g.sharedDrifted(around, sharedID, sharedPorts, before); why != "" {
		found[uid] = why
	}
	return found, nil
}

// Reread makes the next round of a Service read its groups, and that of the cluster.
func (g *Groups) Reread(uid string) {
	g.Forget(uid)
	if g.mode == Shared {
		g.shared.unset()
	}
}

// sharedDrifted reports whether ports have lost the shared group: a round of any Service restores
// it on all of them.
func (g *Groups) sharedDrifted(around *surroundings, id string, ports []string, before map[string]*State) (uid, why string) {
	if g.mode != Shared || id == "" {
		return "", ""
	}
	now, still := g.shared.snapshot()
	lost := slices.ContainsFunc(ports, func(port string) bool {
		_, there := slices.BinarySearch(still, port)
		return now == id && there && around.lost(port, id)
	})
	if !lost {
		return "", ""
	}
	for one := range before {
		if uid == "" || one < uid {
			uid = one
		}
	}
	return uid, "the security group of the cluster was taken off a port"
}

// surroundings are the rules of groups and the groups of ports at one time.
type surroundings struct {
	rules map[string][]string // IDs by group
	ports map[string]neutron.Port
}

func (g *Groups) readAround(ctx context.Context) (*surroundings, error) {
	rules, err := g.neutron.SecurityGroupRuleIDs(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := g.neutron.GroupsOfPorts(ctx)
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
