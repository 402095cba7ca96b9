package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// onWeights returns members of node-1, node-2 and so on with weights; 0 is a drained one.
func onWeights(first, port int, weights ...int) (members []model.Member) {
	for i, weight := range weights {
		m := memberOn(first+i, port)
		m.Weight, m.Drained = weight, weight == 0
		members = append(members, m)
	}
	return members
}

// weights prints members as "1:30080*5": node 1 has port 30080 and weight 5.
func weights(pool model.Pool) (all []string) {
	for _, m := range fixture.MembersOf(pool) {
		text := fmt.Sprintf("%s:%d*%d", m.Name[len("node-"):], m.Port, m.EffectiveWeight())
		if m.Leaving || m.ID != "" || m.Status != (model.Status{}) {
			text += fmt.Sprintf(" leaving %v, %q %v", m.Leaving, m.ID, m.Status)
		}
		all = append(all, text)
	}
	return all
}

func leaving(members []model.Member) []model.Member {
	members = slices.Clone(members)
	for i := range members {
		members[i].Leaving = true
	}
	return members
}

func TestHold_AddsNoMember(t *testing.T) {
	t.Parallel()
	ones := func(first, n int) []model.Member { return onWeights(first, 80, slices.Repeat([]int{1}, n)...) }
	for name, test := range map[string]struct {
		there, wanted []model.Member
		free          bool // not held
		opts          plan.Options
		want          []string
	}{
		"some are wanted":                  {there: ones(1, 3), wanted: ones(2, 3), want: []string{"2:30080*1", "3:30080*1"}},
		"none is wanted":                   {there: ones(1, 2), wanted: ones(3, 2), want: []string{"1:30080*1", "2:30080*1"}},
		"no member is wanted":              {there: ones(1, 2), want: []string{"1:30080*1", "2:30080*1"}},
		"none exists":                      {wanted: ones(1, 2)},
		"another port":                     {there: ones(1, 2), wanted: onWeights(1, 81, 1, 1, 1), want: []string{"1:30081*1", "2:30081*1"}},
		"they have weights":                {there: onWeights(1, 80, 5, 0), wanted: ones(1, 3), want: []string{"1:30080*5", "2:30080*0"}},
		"weights are switched off":         {there: onWeights(1, 80, 5, 0), wanted: ones(1, 3), opts: plan.Options{Weighed: true}, want: []string{"1:30080*1", "2:30080*1"}},
		"weights are still used":           {there: onWeights(1, 80, 5, 0), wanted: ones(1, 3), opts: plan.Options{Weighed: true, Drains: true}, want: []string{"1:30080*5", "2:30080*0"}},
		"weights of others switched off":   {there: onWeights(1, 80, 5, 0), wanted: ones(3, 1), opts: plan.Options{Weighed: true}, want: []string{"1:30080*1", "2:30080*1"}},
		"one that leaves exists":           {free: true, there: ones(1, 2), wanted: append(ones(1, 1), leaving(ones(2, 1))...), want: []string{"1:30080*1", "2:30080*1"}},
		"one that leaves does not exist":   {free: true, there: ones(1, 1), wanted: append(ones(1, 1), leaving(ones(2, 1))...), want: []string{"1:30080*1"}},
		"one that leaves has another port": {free: true, there: ones(1, 1), wanted: append(leaving(onWeights(1, 81, 1)), onWeights(2, 81, 1)...), want: []string{"1:30081*1", "2:30081*1"}},
		"a pod that leaves, and another at its address": {
			free: true, opts: plan.Options{Pods: true}, there: ones(1, 1), wanted: append(leaving(onWeights(1, 81, 1)), onWeights(2, 81, 1)...), want: []string{"2:30081*1"},
		},
	} {
		desired := onePool(test.wanted)
		desired.Listeners[0].Pool.Held = !test.free
		before := text(t, desired)
		for where, observed := range map[string]model.Observed{
			"existing": made(t, onePool(test.there)),
			"replaced": {LoadBalancer: made(t, onePool(nil)).LoadBalancer, Outgoing: made(t, onePool(test.there)).LoadBalancer},
		} {
			held := plan.Hold(desired, observed, test.opts)
			if diff := cmp.Diff(test.want, weights(held.Listeners[0].Pool)); diff != "" || held.Listeners[0].Pool.Held {
				t.Errorf("%s, %s: held: %v, members %s", name, where, held.Listeners[0].Pool.Held, diff)
			}
		}
		if after := text(t, desired); after != before || desired.Listeners[0].Pool.Held == test.free {
			t.Errorf("%s: the argument has changed to %s", name, after)
		}
	}
}

// Each pool is held by itself, in any order of the ports.
func TestHold_ConcernsTheHeldPoolsOnly(t *testing.T) {
	t.Parallel()
	for _, held := range [][]bool{{true, false}, {false, true}, {true, true}} {
		desired := web(nodes(2, 3, 4))
		for i := range desired.Listeners {
			desired.Listeners[i].Pool.Held = held[i]
		}
		got := plan.Hold(desired, made(t, web(nodes(1, 2, 3))), plan.Options{})
		for i, is := range held {
			if members, want := got.Listeners[i].Pool.Members.Len(), map[bool]int{true: 2, false: 3}[is]; members != want {
				t.Errorf("held %v: pool %d has %d members, want %d", held, i, members, want)
			}
		}
	}
}

func TestHold_GivesAPoolThatDoesNotExistNoMembers(t *testing.T) {
	t.Parallel()
	desired := web(onPools(func(pool *model.Pool) { pool.Held = true }))
	for name, observed := range map[string]model.Observed{"no load balancer": {}, "another port": made(t, web(ports(listener(0, model.TCP, 8080))))} {
		if members := plan.Hold(desired, observed, plan.Options{}).CountMembers(); members != 0 {
			t.Errorf("%s: %d members", name, members)
		}
	}
	free := web()
	if plan.Hold(free, made(t, web(nodes(1))), plan.Options{Weighed: true}) != free {
		t.Error("a load balancer without held pools is copied")
	}
}

// Weight 0 is an operator's unless the Service has weights, or had some until now. The administrative state is always an operator's.
func TestKeepMembers_KeepsWeightsOfOperatorsOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts   plan.Options
		wanted int
		want   int
	}{
		"an operator's":                       {plan.Options{}, 1, 0},
		"the Service has weights":             {plan.Options{Drains: true}, 5, 5},
		"the Service had weights":             {plan.Options{Weighed: true}, 1, 1},
		"the Service drains it":               {plan.Options{Drains: true}, 0, 0},
		"an operator's, and the Service's":    {plan.Options{}, 0, 0},
		"the Service had weights, and drains": {plan.Options{Weighed: true, Drains: true}, 0, 0},
	} {
		there := made(t, onePool(onWeights(1, 80, 0))).LoadBalancer
		fixture.EditMember(&there.Listeners[0].Pool, 0, func(m *model.Member) { m.AdminDown = true })
		got := plan.KeepMembers(onePool(onWeights(1, 80, test.wanted)), there, test.opts).Listeners[0].Pool.Members.At(0)
		if got.EffectiveWeight() != test.want || !got.AdminDown {
			t.Errorf("%s: weight %d, want %d, switched off: %v", name, got.EffectiveWeight(), test.want, got.AdminDown)
		}
	}
}
