package securitygroup

import "slices"

// Suppose takes steps for done, without a write: what is known of the Service's groups is then
// what would be there, and the next Plan begins from that. It is for a store that nobody else
// goes by.
func (g *Groups) Suppose(t *Task, steps []Step) {
	if len(steps) == 0 {
		return
	}
	s := *t.state
	for _, step := range steps {
		g.advance(&s, step)
	}
	t.state = &s
	g.keep(t.id.ServiceUID, s, false)
}

// advance changes what is there as a step would. Group and ports of the cluster's shared group
// are not the Service's: they are as they were found.
func (g *Groups) advance(s *State, step Step) {
	switch step := step.(type) {
	case CreateGroup:
		if s.Rules = nil; g.mode == PerService {
			s.GroupID = "new"
		}
	case TagGroup:
		s.Untagged = false
	case AddRules:
		s.Rules = slices.Concat(s.Rules, supposed(step.Own, false), supposed(step.Common, g.mode == Shared))
	case DeleteRules:
		s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(h Held) bool { return slices.Contains(step.Rules, h) })
	case JoinPorts:
		for _, port := range step.Ports {
			s.Ports = with(s.Ports, port.ID, true)
		}
	case LeavePorts:
		for _, port := range step.Ports {
			s.Ports = with(s.Ports, port.ID, false)
		}
	case DeleteGroup:
		s.Obsolete = slices.DeleteFunc(slices.Clone(s.Obsolete), func(id string) bool { return id == step.ID })
	case LeaveShared:
		s.ObsoleteRules = ""
	}
}

func supposed(rules []Rule, common bool) []Held {
	held := make([]Held, 0, len(rules))
	for _, r := range rules {
		held = append(held, Held{Rule: r, Common: common})
	}
	return held
}
