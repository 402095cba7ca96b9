package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// onNodes returns members of node-1, node-2 and so on, in the given subnets; "?" is an unknown one.
func onNodes(first, port int, subnets ...string) (members []model.Member) {
	for i, subnet := range subnets {
		m := memberOn(first+i, port)
		if m.SubnetID = subnet; subnet == "?" {
			m.SubnetID, m.SubnetUnknown = "", true
		}
		members = append(members, m)
	}
	return members
}

func with(members []model.Member, more ...model.Member) []model.Member {
	return append(members[:len(members):len(members)], more...)
}

// Whatever becomes of where new members would go, a pool is not spread over subnets
// unless each of its members is in its node's.
func TestDiff_PutsNewMembersWhereTheirPoolIs(t *testing.T) {
	t.Parallel()
	a2 := onNodes(1, 80, "a", "a")
	for name, c := range map[string]struct {
		there, desired []model.Member
		opts           plan.Options
		want           []string // the resulting subnets
	}{
		"another subnet from now on":       {a2, onNodes(1, 80, "b", "b", "b"), plan.Options{}, []string{"a", "a", "a"}},
		"all nodes at once":                {a2, onNodes(3, 80, "b", "b"), plan.Options{}, []string{"a", "a"}},
		"members are to move":              {a2, onNodes(1, 80, "b", "b", "b"), plan.Options{MoveMembers: true}, []string{"b", "b", "b"}},
		"none is named":                    {onNodes(1, 80, "", ""), onNodes(1, 80, "b", "b", "b"), plan.Options{}, []string{"", "", ""}},
		"most of a mixed pool":             {onNodes(1, 80, "a", "b", "b"), onNodes(1, 80, "c", "c", "c", "c"), plan.Options{}, []string{"a", "b", "b", "b"}},
		"a tie":                            {onNodes(1, 80, "b", "a"), onNodes(1, 80, "c", "c", "c"), plan.Options{}, []string{"b", "a", "a"}},
		"nobody has read any":              {onNodes(1, 80, "?", "?"), onNodes(1, 80, "b", "b", "b"), plan.Options{}, []string{"", "", "b"}},
		"one is read":                      {onNodes(1, 80, "a", "?"), onNodes(1, 80, "b", "b", "b"), plan.Options{}, []string{"a", "", "a"}},
		"each in its node's":               {onNodes(1, 80, "a", "b"), onNodes(1, 80, "a", "b", "c"), plan.Options{NodesSubnets: true}, []string{"a", "b", "c"}},
		"one of them read":                 {onNodes(1, 80, "a", "?"), onNodes(1, 80, "a", "b", "c"), plan.Options{NodesSubnets: true}, []string{"a", "", "c"}},
		"all nodes at once, by nodes":      {a2, onNodes(3, 80, "b", "c"), plan.Options{NodesSubnets: true}, []string{"b", "c"}},
		"another controller's one subnet":  {onNodes(1, 80, "a", "a"), onNodes(1, 80, "a", "b", "b"), plan.Options{NodesSubnets: true}, []string{"a", "a", "a"}},
		"none is named, provider ovn":      {onNodes(1, 80, "", ""), onNodes(1, 80, "b", "b", "b"), plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{AlwaysSendSubnet: true}}}, []string{"", "", "vip"}},
		"none is named, by nodes":          {onNodes(1, 80, "", ""), onNodes(1, 80, "vip", "vip", "b"), plan.Options{NodesSubnets: true}, []string{"", "", "b"}},
		"one names none, others by nodes":  {onNodes(1, 80, "a", "", "b"), onNodes(1, 80, "a", "b", "b", "c"), plan.Options{NodesSubnets: true}, []string{"a", "b", "b", "c"}},
		"one names none, as does its node": {onNodes(1, 80, "a", ""), onNodes(1, 80, "a", "", "b"), plan.Options{NodesSubnets: true}, []string{"a", "", "b"}},
		"one names none, others elsewhere": {onNodes(1, 80, "a", "", "c"), onNodes(1, 80, "a", "b", "b"), plan.Options{NodesSubnets: true}, []string{"a", "", "c"}},
		"one names none, in the VIP's":     {onNodes(1, 80, "a", ""), onNodes(1, 80, "a", "vip"), plan.Options{NodesSubnets: true}, []string{"a", ""}},
		"another client's member leaves":   {with(onNodes(1, 80, "a"), onNodes(9, 9, "")...), onNodes(1, 80, "b", "b"), plan.Options{}, []string{"a", "a"}},
		"pods, others are in a subnet":     {a2, onNodes(1, 80, "a", "", "b"), plan.Options{Pods: true}, []string{"a", "a", "b"}},
		"pods, all are replaced":           {a2, onNodes(3, 80, "", "a"), plan.Options{Pods: true}, []string{"", "a"}},
		"pods, at addresses of nodes":      {a2, onNodes(1, 81, "", ""), plan.Options{Pods: true}, []string{"", ""}},
		"another NodePort":                 {a2, onNodes(1, 81, "b", "b", "b"), plan.Options{}, []string{"a", "a", "a"}},
		"another port, none is named":      {onNodes(1, 80, "", ""), onNodes(1, 81, "b", "b", "b"), plan.Options{}, []string{"b", "b", "b"}},
		"another port, of the only one":    {onNodes(1, 80, ""), onNodes(1, 81, "b"), plan.Options{}, []string{"b"}},
		"another port, one has it already": {with(onNodes(1, 80, "", ""), onNodes(1, 81, "b")...), onNodes(1, 81, "b", "b"), plan.Options{}, []string{"b", "b"}},
		"another port, one is unread":      {onNodes(1, 80, "", "?"), onNodes(1, 81, "b", "b"), plan.Options{}, []string{"", ""}},
		"another NodePort, one was unread": {onNodes(1, 80, "a", "?"), onNodes(1, 81, "b", "b"), plan.Options{}, []string{"a", "a"}},
	} {
		for _, serial := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, serial %v", name, serial), func(t *testing.T) {
				t.Parallel()
				opts := c.opts
				if serial {
					opts.Driver = opts.Driver.Without(driver.MemberBatches)
				}
				there := &cloud{observed: made(t, onePool(c.there)), driver: opts.Driver}
				there.identify()
				there.observed.LoadBalancer.VIP.SubnetID = "vip"
				todo := plan.Diff(onePool(c.desired), there.observed, opts)
				if err := there.run(todo.Steps); err != nil {
					t.Fatalf("%v\n%s", err, todo)
				}
				var got []string
				members := fixture.MembersOf(there.observed.LoadBalancer.Listeners[0].Pool)
				slices.SortFunc(members, func(a, b model.Member) int { return strings.Compare(a.Name, b.Name) }) // one that has moved comes last
				for _, m := range members {
					got = append(got, m.SubnetID)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s\n%s", diff, todo)
				}
			})
		}
	}
}

// A driver that needs subnets gets the desired one of a member of which none was read; others keep what they have.
func TestDiff_SendsTheSubnetOfAnUnreadMemberWhereTheDriverNeedsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		needs  bool
		wanted string
		sent   string
	}{
		"another driver": {false, "b", ""}, "one that needs it": {true, "b", "b"}, "one that needs it, none is known": {true, "", ""},
	} {
		observed := made(t, onePool(onNodes(1, 80, "?")))
		opts := plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{AlwaysSendSubnet: test.needs}}}
		set, is := plan.Diff(onePool(onNodes(1, 80, test.wanted, test.wanted, test.wanted)), observed, opts).Steps[0].(plan.SetMembers)
		if !is || set.Members.At(0).SubnetID != test.sent || set.Members.At(0).SubnetUnknown != (test.sent == "") {
			t.Errorf("%s: %+v", name, set)
		}
	}
}

func onePool(members []model.Member) *model.LoadBalancer {
	lb := web(ports(listener(0, model.TCP, 80)))
	lb.Listeners[0].Pool.Members = model.MembersOf(members...)
	return lb
}

// A new port is served in the subnet of the others; so is one with a recreated pool.
func TestDiff_PutsMembersOfNewPoolWhereOthersAre(t *testing.T) {
	t.Parallel()
	one, two := listener(0, model.TCP, 80), listener(1, model.TCP, 443)
	one.Pool.Members = model.MembersOf(onNodes(1, 80, "a", "a")...)
	observed := made(t, web(ports(one)))
	fixture.EditMember(&observed.LoadBalancer.Listeners[0].Pool, 0, func(m *model.Member) { m.Drained, m.AdminDown = true, true })
	one.Pool.Members, two.Pool.Members = model.MembersOf(onNodes(1, 80, "b", "b", "b")...), model.MembersOf(onNodes(1, 443, "b", "b", "b")...)
	one.Pool.Protocol = model.Proxy
	todo := plan.Diff(web(ports(one, two)), observed, plan.Options{})
	pools := 0
	for _, step := range todo.Steps {
		set, ok := step.(plan.SetMembers)
		if !ok {
			continue
		}
		pools++
		for i, m := range set.Members.All() {
			if m.SubnetID != "a" || m.Drained != (i == 0) || m.AdminDown != (i == 0) {
				t.Errorf("%s: member %+v", set, m)
			}
		}
	}
	if pools != 2 {
		t.Errorf("%d pools get members:\n%s", pools, todo)
	}
}

// Members that are out of service stay so when the pool changes, by a batch or by single steps; a
// node that comes back is a new member.
func TestDiff_LeavesMembersOutOfService(t *testing.T) {
	t.Parallel()
	for _, serial := range []bool{false, true} {
		var opts plan.Options
		if serial {
			opts.Driver = opts.Driver.Without(driver.MemberBatches)
		}
		there := &cloud{observed: made(t, onePool(onNodes(1, 80, "a", "a", "a", "a"))), driver: opts.Driver}
		there.identify()
		pool := func() *model.Pool { return &there.observed.LoadBalancer.Listeners[0].Pool }
		fixture.EditMembers(pool(), func(i int, m *model.Member) { m.Drained, m.AdminDown = i == 0 || i == 3, i == 1 })
		state := func() (out []string) {
			for _, m := range there.observed.LoadBalancer.Listeners[0].Pool.Members.All() {
				out = append(out, fmt.Sprintf("%s %v %v %d %s", m.Name, m.Drained, m.AdminDown, m.MonitorPort, m.Status.Provisioning))
			}
			return out
		}
		change := func(desired []model.Member, want ...string) {
			t.Helper()
			todo := plan.Diff(onePool(desired), there.observed, opts)
			if err := there.run(todo.Steps); err != nil {
				t.Fatalf("%v\n%s", err, todo)
			}
			if diff := cmp.Diff(want, state()); diff != "" {
				t.Errorf("serial %v: %s\n%s", serial, diff, todo)
			}
		}
		fixture.EditMember(pool(), 0, func(m *model.Member) { m.Status.Provisioning = "ERROR" }) // other drift on it is brought back
		probed := onNodes(1, 80, "a", "a", "a")
		probed[1].MonitorPort = 31000
		change(probed, "node-1 true false 0 ACTIVE", "node-2 false true 31000 ACTIVE", "node-3 false false 0 ACTIVE")
		change(with(probed, onNodes(4, 80, "a", "a")...), "node-1 true false 0 ACTIVE", "node-2 false true 31000 ACTIVE",
			"node-3 false false 0 ACTIVE", "node-4 false false 0 ACTIVE", "node-5 false false 0 ACTIVE")
	}
}
