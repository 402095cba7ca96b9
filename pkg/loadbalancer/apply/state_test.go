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

func TestEdit_UnpacksNothingForMembersUntilTheyAreNeeded(t *testing.T) {
	t.Parallel()
	member := model.Member{Name: "node-9", Address: "10.0.0.9", Port: 30080}
	for name, test := range map[string]struct {
		step   plan.Step
		packed bool // before
		stays  bool // packed after it
		after  []int
	}{
		"a member more":           {plan.AddMember{Pool: plan.PoolRef{ID: "pool-1"}, Member: member}, true, true, []int{2, 4}},
		"a member less":           {plan.RemoveMember{Pool: plan.PoolRef{ID: "pool-0"}, Member: model.Member{Address: "10.0.0.1", Port: 30080}}, true, true, []int{1, 3}},
		"a batch":                 {plan.SetMembers{Pool: plan.PoolRef{ID: "pool-0"}, Members: []model.Member{member}}, true, true, []int{1, 3}},
		"nothing is packed":       {plan.AddMember{Pool: plan.PoolRef{ID: "pool-1"}, Member: member}, false, false, []int{2, 4}},
		"a pool without listener": {plan.AddMember{Pool: plan.PoolRef{ID: "orphan"}, Member: member}, true, false, []int{2, 3}},
		"other than members":      {plan.UpdateLoadBalancer{ID: "lb"}, true, true, []int{2, 3}},
		"a monitor":               {plan.CreateMonitor{Pool: plan.PoolRef{ID: "pool-1"}}, true, true, []int{2, 3}},
		"a listener":              {plan.UpdateListener{Key: model.ListenerKey{Transport: model.TCP, Port: 80}}, true, true, []int{2, 3}},
		"a listener less":         {plan.DeleteListener{ID: "listener-0"}, true, false, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := state{observed: model.Observed{LoadBalancer: listening(2, 3)}}
			if test.packed {
				s.pack()
			}
			s.edit(packStep(test.step, model.PackedMembers{}), func(observed *model.Observed) { plan.Advance(observed, test.step) })
			if stays := s.loadBalancer != nil; stays != test.stays {
				t.Errorf("packed after it: %v", stays)
			}
			if test.stays {
				for range 2 { // it may be needed more than once
					if diff := cmp.Diff(test.after, counts(s.known())); diff != "" {
						t.Errorf("members after it: %s", diff)
					}
				}
			}
			if diff := cmp.Diff(test.after, counts(s.unpacked().LoadBalancer)); diff != "" {
				t.Errorf("members in the end: %s", diff)
			}
		})
	}
}

// What a creation replaces has the members that it had last.
func TestRetire_KeepsChangesOfMembers(t *testing.T) {
	t.Parallel()
	s := state{loadBalancer: model.Pack(listening(2), nil)}
	step := plan.AddMember{Pool: plan.PoolRef{ID: "pool-0"}, Member: model.Member{Name: "node-9", Address: "10.0.0.9", Port: 30080}}
	s.edit(step, func(observed *model.Observed) { plan.Advance(observed, step) })
	s.retire()
	s.replacePacked(model.Pack(listening(1), nil))
	observed := s.unpacked()
	if diff := cmp.Diff([][]int{{3}, {1}}, [][]int{counts(observed.Outgoing), counts(observed.LoadBalancer)}); diff != "" {
		t.Error(diff)
	}
}

func counts(lb *model.LoadBalancer) (all []int) {
	for _, l := range lb.Listeners {
		all = append(all, len(l.Pool.Members))
	}
	return all
}
