package plan_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// inSubnet makes so many members in a subnet, from a number on.
func inSubnet(subnet string, from, n int) []model.Member {
	var members []model.Member
	for i := range n {
		m := memberOn(from+i, 80)
		m.SubnetID = subnet
		members = append(members, m)
	}
	return members
}

// While members move to another subnet, half of those that serve before
// and after go on serving: those that move go in halves, or at once where as many
// others stay.
func TestDiff_KeepsHalfOfMembersServingDuringMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after []model.Member
		steps, least  int
	}{
		"all of ten":             {inSubnet("a", 1, 10), inSubnet("b", 1, 10), 3, 5},
		"all of three":           {inSubnet("a", 1, 3), inSubnet("b", 1, 3), 3, 1},
		"both of two":            {inSubnet("a", 1, 2), inSubnet("b", 1, 2), 3, 1},
		"the only one":           {inSubnet("a", 1, 1), inSubnet("b", 1, 1), 2, 0},
		"one of ten":             {append(inSubnet("b", 1, 9), inSubnet("a", 10, 1)...), inSubnet("b", 1, 10), 2, 9},
		"all, and five more":     {inSubnet("a", 1, 5), inSubnet("b", 1, 10), 2, 5},
		"all, and five less":     {inSubnet("a", 1, 10), inSubnet("b", 1, 5), 3, 2},
		"none":                   {inSubnet("a", 1, 10), inSubnet("a", 1, 10), 0, 10},
		"no subnet is asked for": {inSubnet("a", 1, 10), inSubnet("", 1, 10), 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := func(members []model.Member) *model.LoadBalancer {
				lb := web(ports(listener(0, model.TCP, 80)))
				lb.Listeners[0].Pool.Members = model.MembersOf(members...)
				return lb
			}
			there := &cloud{observed: made(t, service(c.before))}
			there.identify()
			todo := plan.Diff(service(c.after), there.observed, plan.Options{MoveMembers: true})
			if len(todo.Steps) != c.steps {
				t.Errorf("%d steps, want %d:\n%s", len(todo.Steps), c.steps, todo)
			}
			least := len(c.before)
			for _, step := range todo.Steps {
				if err := there.do(step); err != nil {
					t.Fatal(err)
				}
				least = min(least, there.observed.LoadBalancer.Listeners[0].Pool.Members.Len())
			}
			if least < c.least {
				t.Errorf("at times %d members serve, want at least %d:\n%s", least, c.least, todo)
			}
		})
	}
}

// Without the option no member moves: the subnet was detected, and not configured.
func TestDiff_MovesNoMembersUnasked(t *testing.T) {
	t.Parallel()
	lb := web(ports(listener(0, model.TCP, 80)))
	observed := made(t, lb)
	wanted := web(ports(listener(0, model.TCP, 80)))
	wanted.Listeners[0].Pool.Members = model.MembersOf(inSubnet("b", 1, 3)...)
	if todo := plan.Diff(wanted, observed, plan.Options{}); !todo.Empty() {
		t.Errorf("plan:\n%s", todo)
	}
}
