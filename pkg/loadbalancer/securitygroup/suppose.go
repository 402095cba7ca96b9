package securitygroup

import "slices"

// Suppose records the result of steps without a write, so that the next Plan starts from it. It
// requires a store that no other caller uses.
func (g *Groups) Suppose(t *Task, steps []Step) {
	if len(steps) == 0 {
		return
	}
	s := *t.state
	for _, step := range steps {
		s.advance(step, g.mode)
	}
	t.state = &s
	g.entries.keep(t.id.ServiceUID, s, false)
}

// advance changes the known state as a step would in a mode. It does not change group and ports of the shared
// group, which are not the Service's.
func (s *State) advance(step Step, mode string) {
	switch step := step.(type) {
	case CreateGroup:
		if s.Rules = nil; mode == PerService {
			s.GroupID = "new"
		}
	case TagGroup:
		s.Untagged = false
	case AddRules:
		s.Rules = slices.Concat(s.Rules, supposed(step.Own, false), supposed(step.Common, mode == Shared))
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
