package securitygroup

import (
	"cmp"
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// observe returns the state of a Service in the cloud. It is read once, and then tracked.
func (g *Groups) observe(ctx context.Context, r Request) (*State, error) {
	s := g.entries.known(r.ID.ServiceUID)
	if g.mode == Shared {
		if err := g.shared.find(ctx, r.ID); err != nil {
			return nil, err
		}
		if id, _ := g.shared.snapshot(); s != nil && s.GroupID != id {
			s = nil // another client has deleted its group
		}
	}
	if s == nil {
		var err error
		first := g.entries.meets(r.ID.ServiceUID)
		if s, err = g.read(ctx, r.ID, first && r.Before); err != nil {
			return nil, err
		}
		if r.Before {
			if err := g.leftovers(ctx, r.ID, s); err != nil {
				return nil, err
			}
		}
	}
	if g.mode == Shared {
		s.GroupID, s.Ports = g.shared.snapshot()
	}
	return s, nil
}

// read reads the state in the present mode. The objects of an earlier process are read for all
// Services together.
func (g *Groups) read(ctx context.Context, id ownership.Identity, inherited bool) (*State, error) {
	s := &State{}
	switch g.mode {
	case PerService:
		if inherited {
			return g.inventory.inherited(ctx, id)
		}
		found, err := g.neutron.SecurityGroupsNamed(ctx, id.SecurityGroup().Name)
		if err != nil {
			return nil, err
		}
		return s, g.readOwn(ctx, owned(found, id), s)
	case Shared:
		group, _ := g.shared.snapshot()
		if group == "" {
			return s, nil
		}
		var lately bool
		if s.Rules, lately = g.shared.take(id.RuleDescription()); lately {
			return s, nil
		}
		rules, err := g.neutron.SecurityGroupRules(ctx, group, id.RuleDescription(), ownership.CommonRuleDescription)
		s.Rules = heldRules(rules)
		return s, err
	}
	return s, nil
}

// readOwn reads the Service's own group: the first of its name. A creation with a lost answer may
// have left others.
func (g *Groups) readOwn(ctx context.Context, found []neutron.SecurityGroup, s *State) error {
	if len(found) == 0 {
		return nil
	}
	for _, second := range found[1:] {
		s.Obsolete = append(s.Obsolete, second.ID)
	}
	s.GroupID, s.Rules = found[0].ID, heldRules(found[0].Rules)
	s.Untagged = untagged(found[0])
	var err error
	s.Ports, err = portsUsing(ctx, g.neutron, g.facts, s.GroupID)
	return err
}

func heldRules(rules []neutron.SecurityGroupRule) []Held {
	all := make([]Held, 0, len(rules))
	for _, r := range rules {
		h := held(r)
		h.Common = ownership.IsCommonRule(r.Description)
		all = append(all, h)
	}
	return all
}

func owned(all []neutron.SecurityGroup, id ownership.Identity) []neutron.SecurityGroup {
	own := id.SecurityGroup()
	ours := slices.DeleteFunc(slices.Clone(all), func(o neutron.SecurityGroup) bool { return !own.Is(o.Name, o.Tags) })
	slices.SortFunc(ours, func(a, b neutron.SecurityGroup) int { // the one in use comes first
		return cmp.Or(cmp.Compare(ingress(b), ingress(a)), cmp.Compare(a.ID, b.ID))
	})
	return ours
}

// untagged reports whether the creation of a Service's group was interrupted before it had tags: groups of
// cloud-provider-openstack have none either, but rules.
func untagged(group neutron.SecurityGroup) bool { return len(group.Tags) == 0 && ingress(group) == 0 }

// ingress returns the number of ingress rules: a group of an interrupted creation has none.
func ingress(group neutron.SecurityGroup) int {
	n := 0
	for _, r := range group.Rules {
		if r.Direction == "ingress" {
			n++
		}
	}
	return n
}

// leftovers adds the objects of an earlier process in another mode.
func (g *Groups) leftovers(ctx context.Context, id ownership.Identity, s *State) error {
	others, err := g.inventory.byName(ctx)
	if err != nil {
		return err
	}
	if g.mode != PerService {
		for _, group := range owned(others[id.SecurityGroup().Name], id) {
			s.Obsolete = append(s.Obsolete, group.ID)
		}
	}
	if g.mode == Shared {
		return nil
	}
	shared := id.SharedGroup()
	for _, group := range others[shared.Name] {
		if !shared.Is(group.Name, group.Tags) {
			continue
		}
		left, err := leftInShared(ctx, g.neutron, group.ID, id)
		if err != nil {
			return err
		}
		if left {
			s.ObsoleteRules = group.ID
		}
	}
	return nil
}

// Exists reports whether a security group or a rule of a Service still exists.
func (g *Groups) Exists(ctx context.Context, id ownership.Identity) (bool, error) {
	s, err := g.remains(ctx, id)
	if err != nil {
		return false, err
	}
	return len(s.Obsolete) > 0 || s.ObsoleteRules != "", nil
}

// remains returns all objects of a Service, in any mode, as obsolete.
func (g *Groups) remains(ctx context.Context, id ownership.Identity) (*State, error) {
	s := &State{}
	switch g.mode {
	case PerService:
		found, err := g.neutron.SecurityGroupsNamed(ctx, id.SecurityGroup().Name)
		if err != nil {
			return nil, err
		}
		for _, group := range owned(found, id) {
			s.Obsolete = append(s.Obsolete, group.ID)
		}
	case Shared:
		if err := g.shared.find(ctx, id); err != nil {
			return nil, err
		}
		if group, _ := g.shared.snapshot(); group != "" {
			left, err := leftInShared(ctx, g.neutron, group, id)
			if err != nil {
				return nil, err
			}
			if left {
				s.ObsoleteRules = group
			}
		}
	}
	return s, g.leftovers(ctx, id, s)
}
