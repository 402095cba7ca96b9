package securitygroup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func rule(protocol string, port int, prefix string) Rule {
	return Rule{Opening{protocol, port}, prefix}
}

func there(id string, r Rule) Held { return Held{ID: id, Rule: r} }

func TestDiff_PlansWhatOpensAndWhatCloses(t *testing.T) {
	t.Parallel()
	lb, everybody, office := rule("tcp", 30080, "10.6.0.0/16"), rule("tcp", 30080, "0.0.0.0/0"), rule("tcp", 30080, "192.0.2.0/24")
	old, egress := rule("tcp", 31000, "10.6.0.0/16"), Held{ID: "e", Text: "egress IPv4 of any protocol"}
	nodes := []NodePort{{"port-1", "node-1"}, {"port-2", "node-2"}}
	desired := func(own ...Rule) *Desired { return &Desired{Name: "sg", Own: own, Ports: nodes} }
	for name, c := range map[string]struct {
		desired     *Desired
		state       State
		open, close string
		creates     bool
	}{
		"nothing there": {
			desired: desired(lb), creates: true,
			open: "security group sg: create\nsecurity group sg: allow tcp/30080 from 10.6.0.0/16\n" +
				"security group sg: put on the ports of node-1, node-2",
		},
		"all there": {
			desired: desired(lb),
			state:   State{GroupID: "g", Rules: []Held{there("r", lb)}, Ports: []string{"port-1", "port-2"}},
		},
		"a node comes and one goes": {
			desired: desired(lb),
			state:   State{GroupID: "g", Rules: []Held{there("r", lb)}, Ports: []string{"port-0", "port-1"}},
			open:    "security group sg: put on the ports of node-2",
			close:   "security group sg: take off the ports port-0",
		},
		"another NodePort: the old one closes last": {
			desired: desired(lb),
			state:   State{GroupID: "g", Rules: []Held{there("r", old)}, Ports: []string{"port-1", "port-2"}},
			open:    "security group sg: allow tcp/30080 from 10.6.0.0/16",
			close:   "security group sg: no longer allow tcp/31000 from 10.6.0.0/16",
		},
		"fewer clients: the others go at once": {
			desired: desired(office),
			state:   State{GroupID: "g", Rules: []Held{there("r", everybody)}, Ports: []string{"port-1", "port-2"}},
			open:    "security group sg: allow tcp/30080 from 192.0.2.0/24\nsecurity group sg: no longer allow tcp/30080 from 0.0.0.0/0",
		},
		"the rules that Neutron adds": {
			desired: desired(lb),
			state:   State{GroupID: "g", Rules: []Held{egress, there("r", lb)}, Ports: []string{"port-1", "port-2"}},
			open:    "security group sg: no longer allow egress IPv4 of any protocol",
		},
		"a common rule that others may need": {
			desired: desired(lb),
			state: State{
				GroupID: "g", Rules: []Held{{ID: "c", Rule: rule("tcp", 10256, "10.6.0.0/16"), Common: true}, there("r", lb)},
				Ports: []string{"port-1", "port-2"},
			},
		},
		"not wanted any more": {
			state: State{Obsolete: []string{"g", "h"}, ObsoleteRules: "s"},
			close: "security group g: take off all ports and delete\nsecurity group h: take off all ports and delete\n" +
				"security group s: delete the Service's rules",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Diff(c.desired, c.state)
			if diff := cmp.Diff(c.open, printed(p.Open)); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.close, printed(p.Close)); diff != "" {
				t.Errorf("close (-want +got):\n%s", diff)
			}
			if p.Creates() != c.creates {
				t.Errorf("creates: %v", p.Creates())
			}
		})
	}
}

func printed(steps []Step) string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

// After the steps of a plan nothing differs, whatever was there.
func TestDiff_ConvergesInOnePlan(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d, s := randomDesired(random), randomState(random)
		p := Diff(d, s)
		if after := Diff(d, advance(s, p)); !after.Empty() {
			t.Fatalf("from %+v to %+v by\n%sthis is left:\n%s", s, d, p, after)
		}
	}
}

func randomRules(random *rand.Rand) []Rule {
	var rules []Rule
	for range random.IntN(4) {
		rules = append(rules, rule([]string{"tcp", "udp"}[random.IntN(2)], 30000+random.IntN(3), []string{"10.0.0.0/8", "0.0.0.0/0"}[random.IntN(2)]))
	}
	return sortRules(rules)
}

func randomDesired(random *rand.Rand) *Desired {
	if random.IntN(5) == 0 {
		return nil
	}
	d := &Desired{Name: "sg", Own: randomRules(random)}
	for _, id := range []string{"a", "b", "c"} {
		if random.IntN(2) == 0 {
			d.Ports = append(d.Ports, NodePort{ID: id})
		}
	}
	return d
}

func randomState(random *rand.Rand) State {
	var s State
	if random.IntN(3) == 0 {
		s.Obsolete = []string{"x"}
	}
	if random.IntN(3) == 0 {
		return s
	}
	s.GroupID = "g"
	for i, r := range randomRules(random) {
		s.Rules = append(s.Rules, there(string(rune('a'+i)), r))
	}
	if random.IntN(3) == 0 {
		s.Rules = append(s.Rules, Held{ID: "e", Text: "egress IPv4"})
	}
	for _, id := range []string{"b", "c", "d"} {
		if random.IntN(2) == 0 {
			s.Ports = append(s.Ports, id)
		}
	}
	return s
}

// advance changes a state as the steps change the cloud.
func advance(s State, p Plan) State {
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case CreateGroup:
			s.GroupID = "new"
		case AddRules:
			for _, r := range slices.Concat(step.Own, step.Common) {
				s.Rules = append(slices.Clone(s.Rules), there("new "+r.String(), r))
			}
		case DeleteRules:
			s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(h Held) bool {
				return slices.ContainsFunc(step.Rules, func(o Held) bool { return o.ID == h.ID })
			})
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
	return s
}
