package securitygroup

import (
	"fmt"
	"slices"
	"strings"
)

// Desired is the wanted state of a Service.
type Desired struct {
	// Name, Description and Tags are those of the group.
	Name, Description string
	Tags              []string
	// Own are the Service's rules; Common are rules that several Services may need, which are
	// deleted only with the group.
	Own, Common []Rule
	// Ports are the nodes' ports that must use the group. Stay are the IDs of ports that keep the
	// group if they have it: they have the address of a node, and another Service may use them.
	Ports []NodePort
	Stay  []string
}

// NodePort is the Neutron port of a node.
type NodePort struct{ ID, Node string }

// String prints a port by its node.
func (p NodePort) String() string {
	if p.Node == "" {
		return p.ID
	}
	return p.Node
}

// State is the state of a Service in the cloud.
type State struct {
	// GroupID is empty if there is no group.
	GroupID string
	// Untagged is set if the group lacks its tags, because its creation was interrupted.
	Untagged bool
	// Rules are the Service's and the common rules of the group.
	Rules []Held
	// Ports are the IDs of the ports that use the group, sorted.
	Ports []string
	// Obsolete are groups that are no longer needed: those of another mode, or a second one of the
	// name after a lost answer.
	Obsolete []string
	// ObsoleteRules is the shared group if it still has rules of the Service that the mode does not
	// need.
	ObsoleteRules string
}

// Plan holds the steps: Open precedes any traffic of the load balancer, Close follows its end.
// Steps that exclude clients do not wait: they are in Open.
type Plan struct{ Open, Close []Step }

// Empty reports whether there are no steps.
func (p Plan) Empty() bool { return len(p.Open) == 0 && len(p.Close) == 0 }

// Creates reports whether the plan creates a group, or the first rules of a Service.
func (p Plan) Creates() bool {
	return slices.ContainsFunc(p.Open, func(s Step) bool {
		_, group := s.(CreateGroup)
		rules, add := s.(AddRules)
		return group || add && rules.First
	})
}

// Steps returns all steps in order.
func (p Plan) Steps() []Step { return slices.Concat(p.Open, p.Close) }

// Step is one change of the cloud. String returns it in one line.
type Step interface {
	fmt.Stringer
	step()
}

// The steps.
type (
	// CreateGroup creates the group without rules.
	CreateGroup struct {
		Name, Description string
		Tags              []string
	}
	// TagGroup sets the tags of a group.
	TagGroup struct {
		Name string
		Tags []string
	}
	// AddRules adds rules; First is set if the Service has none yet.
	AddRules struct {
		Name        string
		Own, Common []Rule
		First       bool
	}
	// DeleteRules deletes rules.
	DeleteRules struct {
		Name  string
		Rules []Held
	}
	// JoinPorts adds the group to ports.
	JoinPorts struct {
		Name  string
		Ports []NodePort
	}
	// LeavePorts removes the group from ports.
	LeavePorts struct {
		Name  string
		Ports []NodePort
	}
	// DeleteGroup removes a group from all ports and deletes it.
	DeleteGroup struct{ ID string }
	// LeaveShared deletes the Service's rules in the shared group, and the group if no other
	// Service has rules there.
	LeaveShared struct{ ID string }
)

func (CreateGroup) step() {}
func (TagGroup) step()    {}
func (AddRules) step()    {}
func (DeleteRules) step() {}
func (JoinPorts) step()   {}
func (LeavePorts) step()  {}
func (DeleteGroup) step() {}
func (LeaveShared) step() {}

// String implements Step.
func (s CreateGroup) String() string { return "security group " + s.Name + ": create" }

// String implements Step.
func (s TagGroup) String() string { return "security group " + s.Name + ": tag" }

// String implements Step.
func (s AddRules) String() string {
	return fmt.Sprintf("security group %s: allow %s", s.Name, some(slices.Concat(s.Own, s.Common)))
}

// String implements Step.
func (s DeleteRules) String() string {
	return fmt.Sprintf("security group %s: no longer allow %s", s.Name, some(s.Rules))
}

// String implements Step.
func (s JoinPorts) String() string {
	return fmt.Sprintf("security group %s: put on the ports of %s", s.Name, some(s.Ports))
}

// String implements Step.
func (s LeavePorts) String() string {
	return fmt.Sprintf("security group %s: take off the ports %s", s.Name, some(s.Ports))
}

// String implements Step.
func (s DeleteGroup) String() string {
	return fmt.Sprintf("security group %s: take off all ports and delete", s.ID)
}

// String implements Step.
func (s LeaveShared) String() string {
	return fmt.Sprintf("security group %s: delete the Service's rules", s.ID)
}

// Diff returns the steps from the present to the wanted state; nil means that nothing is wanted.
//
//	rule that is there                       step
//	wanted                                   none
//	common                                   none: others may need it
//	its port is wanted from other prefixes   deleted in Open, after the additions: it may admit too many
//	not representable as a Rule              deleted in Open, likewise
//	its port is not wanted any more          deleted in Close, after the end of the traffic
func Diff(d *Desired, s State) Plan {
	var p Plan
	for _, id := range s.Obsolete {
		p.Close = append(p.Close, DeleteGroup{id})
	}
	if s.ObsoleteRules != "" {
		p.Close = append(p.Close, LeaveShared{s.ObsoleteRules})
	}
	if d == nil {
		return p
	}
	if s.GroupID == "" {
		p.Open = append(p.Open, CreateGroup{d.Name, d.Description, d.Tags})
	}
	if s.Untagged {
		p.Open = append(p.Open, TagGroup{d.Name, d.Tags})
	}
	add := AddRules{Name: d.Name, Own: missing(d.Own, s.Rules), Common: missing(d.Common, s.Rules)}
	add.First = !slices.ContainsFunc(s.Rules, func(h Held) bool { return !h.Common })
	if len(add.Own)+len(add.Common) > 0 {
		p.Open = append(p.Open, add)
	}
	tighten, drop := surplus(d, s.Rules)
	if len(tighten) > 0 {
		p.Open = append(p.Open, DeleteRules{d.Name, tighten})
	}
	join, leave := ports(d.Ports, d.Stay, s.Ports)
	if len(join) > 0 {
		p.Open = append(p.Open, JoinPorts{d.Name, join})
	}
	if len(leave) > 0 {
		p.Close = append(p.Close, LeavePorts{d.Name, leave})
	}
	if len(drop) > 0 {
		p.Close = append(p.Close, DeleteRules{d.Name, drop})
	}
	return p
}

// missing returns the wanted rules that do not exist.
func missing(wanted []Rule, have []Held) []Rule {
	return slices.DeleteFunc(slices.Clone(wanted), func(r Rule) bool {
		return slices.ContainsFunc(have, func(h Held) bool { return h.Text == "" && h.Rule == r })
	})
}

// surplus returns the existing rules that are not wanted.
func surplus(d *Desired, have []Held) (tighten, drop []Held) {
	for _, h := range have {
		switch {
		case h.Common || h.Text == "" && (slices.Contains(d.Own, h.Rule) || slices.Contains(d.Common, h.Rule)):
		case h.Text != "", slices.ContainsFunc(d.Own, func(r Rule) bool { return r.Opening == h.Rule.Opening }):
			tighten = append(tighten, h)
		default:
			drop = append(drop, h)
		}
	}
	return tighten, drop
}

// ports returns the ports that must get the group, and those that must lose it.
func ports(wanted []NodePort, stay, have []string) (join, leave []NodePort) {
	keep := map[string]bool{}
	for _, id := range stay {
		keep[id] = true
	}
	for _, port := range wanted {
		keep[port.ID] = true
		if _, uses := slices.BinarySearch(have, port.ID); !uses {
			join = append(join, port)
		}
	}
	for _, id := range have {
		if !keep[id] {
			leave = append(leave, NodePort{ID: id})
		}
	}
	return join, leave
}

// String returns a plan with one step per line.
func (p Plan) String() string {
	var b strings.Builder
	for _, step := range p.Steps() {
		fmt.Fprintln(&b, step)
	}
	return b.String()
}
