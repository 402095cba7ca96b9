package goal

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/internal/fixture"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// following is a load balancer in three subnets, and what is desired on nodes that are nearly those
// that it has members on.
func following(dice *rand.Rand) (have *model.LoadBalancer, want *Desired) {
	subnets := map[string]string{}
	template := &model.LoadBalancer{ID: "lb", VIP: model.VIP{SubnetID: "s0"}}
	have = &model.LoadBalancer{ID: "lb", VIP: model.VIP{SubnetID: "s0"}}
	ports := 1 + dice.IntN(3)
	for i := range ports {
		like := model.Member{Port: 30080 + i}
		template.Listeners = append(template.Listeners, model.Listener{Port: 80 + i, Pool: model.Pool{Members: []model.Member{like}}})
		have.Listeners = append(have.Listeners, model.Listener{
			ID: fmt.Sprint("listener-", i), Port: 80 + i, Pool: model.Pool{ID: fmt.Sprint("pool-", i)},
		})
	}
	want = &Desired{LoadBalancer: template, template: template, members: &members.Set{}, Facts: desire.Facts{MemberSubnets: subnets}}
	odd := dice.IntN(20)
	for n := range 2 + dice.IntN(18) {
		node := backend(fmt.Sprint("node-", n), fmt.Sprintf("10.0.0.%03d", n))
		subnets[node.Address] = fmt.Sprint("s", dice.IntN(3)*dice.IntN(2))
		where := dice.IntN(20)
		if where > 0 {
			want.members.ByAddress = append(want.members.ByAddress, node)
		}
		if where == 1 {
			continue
		}
		for i := range have.Listeners {
			m := model.Member{ID: uuid.NewString(), Name: node.Node.Name, Address: node.Address, Port: 30080 + i, SubnetID: "s1"}
			if n == odd && dice.IntN(3) == 0 {
				m.Drained, m.MonitorPort, m.Status.Provisioning = dice.IntN(2) == 0, dice.IntN(2), []string{"", "ERROR"}[dice.IntN(2)]
			}
			if m.SubnetUnknown = dice.IntN(40) == 0; m.SubnetUnknown {
				m.SubnetID = ""
			}
			have.Listeners[i].Pool.Members = append(have.Listeners[i].Pool.Members, m)
		}
	}
	return have, want
}

// A plan that goes by few members is the one for all of them, or does not suffice.
func TestExcerpt_PlansWhatAllMembersPlan(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(3, 4))
	batches := fixture.Amphora()
	excerpts, sufficient := 0, 0
	for n := range 4000 {
		have, want := following(dice)
		options := plan.Options{NodesSubnets: n%2 == 0, MoveMembers: n%5 == 0}
		if n%3 > 0 {
			options.Driver = batches
		}
		full := plan.Diff(want.Filled().LoadBalancer, model.Observed{LoadBalancer: have}, options)
		observed, excerpt := excerpt(model.Pack(have, nil), want)
		round := Round{Have: Observation{Observed: observed}, Want: excerpt}
		if observed.Rest == nil {
			continue
		}
		excerpts++
		todo := plan.Diff(excerpt.LoadBalancer, *observed, options)
		if round.Suffices(todo) {
			sufficient++
			if diff := cmp.Diff(full, todo, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v\nof %+v\nis not the plan for all members: %s", options, have, diff)
			}
		}
		round.Complete()
		round.Fill()
		if diff := cmp.Diff(full, plan.Diff(round.Want.LoadBalancer, *round.Have.Observed, options), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a round that goes by all members at last plans something else: %s", diff)
		}
	}
	t.Logf("%d excerpts, of which %d suffice", excerpts, sufficient)
	if excerpts < 500 || sufficient < excerpts/2 {
		t.Errorf("%d excerpts, of which %d suffice: too few to tell anything", excerpts, sufficient)
	}
}

func TestExcerpt_IsOnlyWhereOneNodeComesOrGoes(t *testing.T) {
	t.Parallel()
	at := func(nodes ...int) []members.Backend {
		var all []members.Backend
		for _, n := range nodes {
			all = append(all, backend(fmt.Sprint("node-", n), fmt.Sprintf("10.0.0.%03d", n)))
		}
		return all
	}
	for name, test := range map[string]struct {
		have, want []members.Backend
		about      string
	}{
		"one comes":               {at(1, 2, 3), at(1, 2, 3, 4), "10.0.0.004"},
		"one comes first":         {at(2, 3), at(1, 2, 3), "10.0.0.001"},
		"one goes":                {at(1, 2, 3), at(1, 3), "10.0.0.002"},
		"one comes, another goes": {at(1, 2, 3), at(1, 2, 4), ""},
		"two come":                {at(1, 2), at(1, 2, 3, 4), ""},
		"two go":                  {at(1, 2, 3), at(1), ""},
		"none":                    {at(1, 2, 3), at(1, 2, 3), ""},
		"all go":                  {at(1), nil, ""},
		"nobody stays":            {at(1), at(2), ""},
		"two at one address":      {at(1, 2), at(1, 2, 2), ""},
	} {
		template := &model.LoadBalancer{Listeners: []model.Listener{{Port: 80, Pool: model.Pool{Members: []model.Member{{Port: 30080}}}}}}
		want := &Desired{LoadBalancer: template, template: template, members: &members.Set{ByAddress: test.want}}
		lb := desire.Fill(template, test.have, desire.Facts{})
		for i := range lb.Listeners[0].Pool.Members {
			lb.Listeners[0].Pool.Members[i].ID = uuid.NewString()
		}
		observed, _ := excerpt(model.Pack(lb, nil), want)
		about := ""
		if observed.Rest != nil {
			about = observed.Rest.About()
		}
		if about != test.about {
			t.Errorf("%s: about %q, want %q", name, about, test.about)
		}
		if observed.Rest == nil && len(observed.LoadBalancer.Listeners[0].Pool.Members) != len(test.have) {
			t.Errorf("%s: not all members are there", name)
		}
	}
}
