package apply

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// listening returns a load balancer with a listener for each number of members, and a pool
// without one.
func listening(members ...int) *model.LoadBalancer {
	lb := &model.LoadBalancer{ID: "lb", Orphans: []model.Pool{{ID: "orphan"}}}
	for i, n := range members {
		listener := model.Listener{ID: fmt.Sprint("listener-", i), Port: 80 + i, Protocol: model.TCP, Pool: model.Pool{ID: fmt.Sprint("pool-", i)}}
		for m := range n {
			listener.Pool.Members = append(listener.Pool.Members, model.Member{Name: fmt.Sprint("node-", m), Address: fmt.Sprint("10.0.0.", m), Port: 30080})
		}
		lb.Listeners = append(lb.Listeners, listener)
	}
	return lb
}

func TestEdit_UnpacksMembersOfTheOnlyPoolThatAStepChanges(t *testing.T) {
	t.Parallel()
	member := model.Member{Name: "node-9", Address: "10.0.0.9", Port: 30080}
	for name, test := range map[string]struct {
		step   plan.Step
		packed bool
		there  []int // members of each listener while it is changed
		after  []int
	}{
		"a member more":            {plan.AddMember{Pool: plan.PoolRef{ID: "pool-1"}, Member: member}, true, []int{0, 3}, []int{2, 4}},
		"a batch":                  {plan.SetMembers{Pool: plan.PoolRef{ID: "pool-0"}, Members: []model.Member{member}}, true, []int{2, 0}, []int{1, 3}},
		"nothing is packed":        {plan.AddMember{Pool: plan.PoolRef{ID: "pool-1"}, Member: member}, false, []int{2, 3}, []int{2, 4}},
		"a pool without listener":  {plan.AddMember{Pool: plan.PoolRef{ID: "orphan"}, Member: member}, true, []int{2, 3}, []int{2, 3}},
		"more than members change": {plan.UpdateLoadBalancer{ID: "lb"}, true, []int{2, 3}, []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := state{observed: model.Observed{LoadBalancer: listening(2, 3)}}
			if test.packed {
				s.pack()
			}
			s.edit(test.step, func(observed *model.Observed) {
				if diff := cmp.Diff(test.there, counts(observed.LoadBalancer)); diff != "" {
					t.Errorf("members meanwhile: %s", diff)
				}
				plan.Advance(observed, test.step)
			})
			if diff := cmp.Diff(test.after, counts(s.unpacked().LoadBalancer)); diff != "" {
				t.Errorf("members after it: %s", diff)
			}
		})
	}
}

func counts(lb *model.LoadBalancer) (all []int) {
	for _, l := range lb.Listeners {
		all = append(all, len(l.Pool.Members))
	}
	return all
}
