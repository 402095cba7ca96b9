package plan_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// numbers returns from, from+1 … to.
func numbers(from, to int) (all []int) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// A driver that works on each member of a batch gets few of many by themselves: those that come before
// those that go. Others get a batch, which is one request.
func TestDiff_ChangesFewMembersOfManyByThemselvesWhereABatchWorksOnAll(t *testing.T) {
	t.Parallel()
	byMember, probed := driver.Driver{Quirks: driver.Quirks{MemberByMember: true}}, func(pool *model.Pool) { fixture.EditMember(pool, 0, func(m *model.Member) { m.MonitorPort = 31000 }) }
	for name, test := range map[string]struct {
		driver   driver.Driver
		from, to func(*model.LoadBalancer)
		change   func(*model.LoadBalancer)
		want     string
	}{
		"another driver":             {driver.Driver{}, nodes(numbers(1, 38)...), nodes(numbers(1, 40)...), nil, "set"},
		"two of forty come":          {byMember, nodes(numbers(1, 38)...), nodes(numbers(1, 40)...), nil, "add add"},
		"two of forty go":            {byMember, nodes(numbers(1, 40)...), nodes(numbers(1, 38)...), nil, "remove remove"},
		"two of forty are others":    {byMember, nodes(numbers(1, 40)...), nodes(numbers(3, 42)...), nil, "add add remove remove"},
		"a third":                    {byMember, nodes(numbers(1, 8)...), nodes(numbers(1, 12)...), nil, "add add add add"},
		"more than a third":          {byMember, nodes(numbers(1, 7)...), nodes(numbers(1, 11)...), nil, "set"},
		"seven of forty leave":       {byMember, nodes(numbers(1, 40)...), nodes(numbers(1, 33)...), nil, strings.TrimSpace(strings.Repeat("remove ", 7))},
		"sixteen of a hundred":       {byMember, nodes(numbers(1, 84)...), nodes(numbers(1, 100)...), nil, strings.TrimSpace(strings.Repeat("add ", 16))},
		"seventeen of a hundred":     {byMember, nodes(numbers(1, 83)...), nodes(numbers(1, 100)...), nil, "set"},
		"one that stays changes too": {byMember, nodes(numbers(1, 38)...), nodes(numbers(1, 40)...), onPools(probed), "set"},
	} {
		observed, desired := made(t, web(test.from)), web(test.to)
		if test.change != nil {
			test.change(desired)
		}
		var have []string
		for _, step := range plan.Diff(desired, observed, plan.Options{Driver: test.driver}).Steps {
			switch step.(type) {
			case plan.SetMembers:
				have = append(have, "set")
			case plan.AddMember:
				have = append(have, "add")
			case plan.RemoveMember:
				have = append(have, "remove")
			}
		}
		if got, want := strings.Join(have, " "), test.want+" "+test.want; got != want { // for each of the two pools
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A member is removed by its ID: without one, a batch leaves it out.
func TestDiff_RemovesMembersWithoutIDByBatch(t *testing.T) {
	t.Parallel()
	one := ports(listener(0, model.TCP, 80))
	observed := made(t, web(one, nodes(numbers(1, 40)...)))
	fixture.EditMembers(&observed.LoadBalancer.Listeners[0].Pool, func(_ int, m *model.Member) {
		if m.Name == "node-40" {
			m.ID = ""
		}
	})
	for name, test := range map[string]struct {
		stay []int
		want string
	}{
		"with IDs":     {numbers(3, 40), "2×RemoveMember"},
		"one of two":   {numbers(2, 39), "1×SetMembers"},
		"the only one": {numbers(1, 39), "1×SetMembers"},
		"it stays":     {numbers(2, 40), "1×RemoveMember"},
	} {
		todo := plan.Diff(web(one, nodes(test.stay...)), observed, plan.Options{Driver: driver.Driver{Quirks: driver.Quirks{MemberByMember: true}}})
		if got := kinds(todo.Steps); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
