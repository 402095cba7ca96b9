package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// weigh compares the weights of the members of each pool, as "0:1 1:0" by the numbers of the nodes.
func (env *environment) weigh(want string) {
	env.T.Helper()
	for _, pool := range env.loadBalancer().Pools {
		var weights []string
		for _, m := range pool.Members {
			weights = append(weights, fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Name, "node-"), m.Weight))
		}
		slices.Sort(weights)
		if got := strings.Join(weights, " "); got != want {
			env.T.Errorf("the members of %s have the weights %s, want %s", pool.Name, got, want)
		}
	}
}

// A node with endpoints that terminate but still serve gets the weight 0, and leaves when none
// serves. Each step is one write for each pool. A restart in between costs no write, and a node that
// serves again has the weight 1.
//
//proves:54
func TestDrain_GivesWeight0WhileEndpointsTerminate(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "amphora", 2, "0 1 2")
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	env.weigh("0:1 1:1 2:1")
	f.on(svc, "0 1 2-")
	env.follow(svc, nodes, 2, "0 1 2; 0 1 2")
	env.weigh("0:1 1:1 2:0")
	env.restart()
	env.follow(svc, nodes, 0, "0 1 2; 0 1 2")
	env.weigh("0:1 1:1 2:0")
	f.on(svc, "0 1")
	env.follow(svc, nodes, 2, "0 1; 0 1")
	f.on(svc, "0 1-")
	env.follow(svc, nodes, 2, "0 1; 0 1")
	env.weigh("0:1 1:0")
	env.restart()
	f.on(svc, "0 1- 1")
	env.follow(svc, nodes, 2, "0 1; 0 1")
	env.weigh("0:1 1:1")
	f.on(svc, "0- 1-") // kube-proxy sends them new connections
	env.follow(svc, nodes, 0, "0 1; 0 1")
	env.weigh("0:1 1:1")
	env.unchanged(svc, nodes)
}

// A Service that is refused is drained as well, and its nodes come back.
//
//proves:54
func TestDrain_GoesOnWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "amphora", 1, "0 1")
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	nodes := env.nodes(2)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.MaxMembers] = "many"
	f.on(svc, "0 1-")
	env.refused(svc, nodes, "max-members")
	env.weigh("0:1 1:0")
	f.on(svc, "0 1")
	env.refused(svc, nodes, "max-members")
	env.weigh("0:1 1:1")
}

// Members that stay because there are no endpoints keep their weights while the Service is refused, and get the default
// when weights are switched off.
//
//proves:54
func TestDrain_KeepsWeightsWithoutEndpointsWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	for weights, want := range map[string]string{annotation.WeightsDrain: "0:1 1:0", annotation.WeightsEndpoints: "0:2 1:1 2:0"} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarts %v", weights, restarts), func(t *testing.T) {
				t.Parallel()
				env, f, svc := following(t, "amphora", 1, "0 1")
				svc.Annotations[annotation.MemberWeights] = weights
				nodes := env.nodes(3)
				env.ensure(svc, nodes)
				f.on(svc, map[string]string{annotation.WeightsDrain: "0 1-", annotation.WeightsEndpoints: "0 0 1 2-"}[weights])
				env.ensure(svc, nodes)
				env.weigh(want)
				f.on(svc, "")
				svc.Annotations[annotation.MaxMembers] = "many"
				for range 2 {
					if restarts {
						env.end()
						env.restart()
					}
					env.Cloud.RequestLog.Reset()
					env.refused(svc, nodes, "max-members")
					env.writes(0)
					env.weigh(want)
				}
				delete(svc.Annotations, annotation.MemberWeights)
				env.refused(svc, nodes, "max-members")
				delete(svc.Annotations, annotation.MaxMembers)
				env.ensure(svc, nodes)
				env.weigh(map[string]string{annotation.WeightsDrain: "0:1 1:1", annotation.WeightsEndpoints: "0:1 1:1 2:1"}[weights])
			})
		}
	}
}

// A typing error in the setting itself does not end the draining, in this process and in the next one.
//
//proves:54
func TestDrain_GoesOnWhileItsOwnSettingIsRefused(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		env, f, svc := following(t, "amphora", 1, "0 1")
		svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
		nodes := env.nodes(2)
		env.ensure(svc, nodes)
		f.on(svc, "0 1-")
		env.ensure(svc, nodes)
		svc.Annotations[annotation.MemberWeights] = "drian"
		for _, endpoints := range []string{"0 1-", "", "0 1-"} {
			f.on(svc, endpoints)
			if restarts {
				env.end()
				env.restart()
			}
			env.Cloud.RequestLog.Reset()
			env.refused(svc, nodes, "drian")
			env.writes(0)
			env.weigh("0:1 1:0")
		}
	}
}

// Without the setting, weights are those of others.
//
//proves:54,89
func TestDrain_LeavesWeightsOfOthersByDefault(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "amphora", 1, "0 1")
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	env.nextSecond()
	env.changeMember("node-1", func(m *octaviaapi.Member) { m.Weight = new(0) })
	f.on(svc, "0 1 2")
	env.restart()
	env.ensure(svc, nodes)
	env.weigh("0:1 1:0 2:1")
	env.nextSecond()
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	env.ensure(svc, nodes)
	env.weigh("0:1 1:1 2:1")
}

// When weights are switched off, members without new connections get them again, in this process and in the next one. A
// weight 0 that another client sets afterwards stays.
//
//proves:54,89
func TestDrain_RestoresWeightsWhenSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"all nodes", "no endpoints", "refused at first"} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarts %v", how, restarts), func(t *testing.T) {
				t.Parallel()
				env, f, svc := following(t, "amphora", 1, "0 1")
				svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
				nodes := env.nodes(2)
				env.ensure(svc, nodes)
				f.on(svc, "0 1-")
				env.ensure(svc, nodes)
				env.weigh("0:1 1:0")
				again := func() {
					if restarts {
						env.end()
						env.restart()
					}
				}
				again()
				delete(svc.Annotations, annotation.MemberWeights)
				switch how {
				case "all nodes":
					svc.Annotations[annotation.Members] = annotation.MembersNodes
				case "no endpoints":
					f.on(svc, "")
				case "refused at first":
					svc.Annotations[annotation.Members], svc.Annotations[annotation.MaxMembers] = annotation.MembersNodes, "many"
					env.refused(svc, nodes, "max-members")
					delete(svc.Annotations, annotation.MaxMembers)
				}
				env.ensure(svc, nodes)
				env.weigh("0:1 1:1")
				again()
				env.nextSecond()
				env.changeMember("node-1", func(m *octaviaapi.Member) { m.Weight = new(0) })
				svc.Annotations[annotation.Method] = "LEAST_CONNECTIONS"
				env.ensure(svc, nodes)
				env.weigh("0:1 1:0")
			})
		}
	}
}

// The first change with weights has taken effect, but its answer was lost. Then weights are switched off again: the
// weight 0 is not that of an operator.
func TestDrain_RestoresWeightsOfAnInterruptedChangeWhenSwitchedOff(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "amphora", 1, "0 1 2")
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	f.on(svc, "0 1 2-")
	answers := env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: membersRoute, AfterWork: true, Drop: true})
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("no answer was lost")
	}
	answers()
	env.weigh("0:1 1:1 2:0")
	delete(svc.Annotations, annotation.MemberWeights)
	f.on(svc, "0 1 2")
	env.ensure(svc, nodes)
	env.weigh("0:1 1:1 2:1")
	env.nextSecond()
	env.changeMember("node-1", func(m *octaviaapi.Member) { m.Weight = new(0) })
	svc.Annotations[annotation.Method] = "LEAST_CONNECTIONS"
	env.ensure(svc, nodes)
	env.weigh("0:1 1:0 2:1")
}

// Without the right to watch EndpointSlices, all nodes are members with the same weight, and an event states that.
//
//proves:54
func TestDrain_IsReportedWithoutRight(t *testing.T) {
	t.Parallel()
	for weights, want := range map[string]bool{annotation.WeightsDrain: true, annotation.WeightsEndpoints: true, annotation.WeightsEqual: false} {
		env, f, svc := following(t, "amphora", 1, "0 1-")
		f.forbidden = true
		svc.Annotations[annotation.MemberWeights] = weights
		nodes := env.nodes(2)
		env.ensure(svc, nodes)
		env.weigh("0:1 1:1")
		text := annotation.MemberWeights + ": " + weights + " has no effect"
		if emitted := env.emitted(); strings.Contains(emitted, text) != want {
			t.Errorf("%s: events:\n%s", weights, emitted)
		}
		f.forbidden = false
		env.restart()
		env.ensure(svc, nodes)
		if emitted := env.emitted(); strings.Contains(emitted, text) {
			t.Errorf("%s, with the right: events:\n%s", weights, emitted)
		}
	}
}

// A provider that ignores weights cannot drain.
//
//proves:54
func TestDrain_IsRefusedWithoutWeights(t *testing.T) {
	t.Parallel()
	env, _, svc := following(t, "ovn", 1, "0 1")
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	env.refusedBeforeAnything(svc, env.nodes(2), annotation.Path(annotation.MemberWeights).String(), "no effect", "ovn")
}

// With weights by endpoints, connections are distributed over nodes in proportion to their ready endpoints. The
// same number on each node costs no write, a restart none, and a change one for each pool.
//
//proves:54
func TestWeights_FollowNumberOfEndpoints(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "amphora", 2, "0 0 0 1 2")
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsEndpoints
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	env.weigh("0:3 1:1 2:1")
	for _, step := range []struct {
		endpoints string
		writes    int
		want      string
	}{
		{"0 0 1 2", 2, "0:2 1:1 2:1"},
		{"0 0 1 1 2 2", 2, "0:1 1:1 2:1"},
		{"0 1 2", 0, "0:1 1:1 2:1"},
		{"0 0 1 2-", 2, "0:2 1:1 2:0"},
		{"0 0 0 0 1 1 2-", 0, "0:2 1:1 2:0"},
		{"", 0, "0:2 1:1 2:0"},
		{"0- 0- 1-", 2, "0:1 1:1"},
	} {
		f.on(svc, step.endpoints)
		members := "0 1 2; 0 1 2"
		if step.want == "0:1 1:1" {
			members = "0 1; 0 1"
		}
		env.follow(svc, nodes, step.writes, members)
		env.weigh(step.want)
		env.restart()
		env.follow(svc, nodes, 0, members)
		env.weigh(step.want)
	}
	env.unchanged(svc, nodes)
}

// Weights of a large pool are read by lists, and a member that another client has changed gets its weight back.
//
//proves:54
func TestWeights_AreRestoredInLargePools(t *testing.T) {
	t.Parallel()
	var endpoints []string
	for i := range 120 {
		endpoints = append(endpoints, fmt.Sprint(i))
	}
	endpoints = append(endpoints, "7", "60")
	env, _, svc := following(t, "amphora", 1, strings.Join(endpoints, " "))
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsEndpoints
	nodes := env.nodes(120)
	env.ensure(svc, nodes)
	weights := func() (all []string) {
		for _, m := range env.loadBalancer().Pools[0].Members {
			if m.Weight != 1 {
				all = append(all, fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Name, "node-"), m.Weight))
			}
		}
		slices.Sort(all)
		return all
	}
	if got, want := weights(), []string{"60:2", "7:2"}; !slices.Equal(got, want) {
		t.Fatalf("weights %q, want %q", got, want)
	}
	env.nextSecond()
	env.changeMember("node-9", func(m *octaviaapi.Member) { m.Weight = new(2) })
	env.restart()
	env.ensure(svc, nodes)
	if got, want := weights(), []string{"60:2", "7:2"}; !slices.Equal(got, want) {
		t.Errorf("weights %q after another client's change and a restart, want %q", got, want)
	}
}

// With weights of the Service's own, a weight that another client sets is drift, in pools of any size: of a member in or
// out of service, and of all that are above others.
//
//proves:54
func TestWeights_OfOthersAreDrift(t *testing.T) {
	t.Parallel()
	for release, sizes := range map[string][]int{"2024.2": {4, 120}, "2026.1": {4}} { // which reads large pools as small ones
		for _, nodes := range sizes {
			for name, test := range map[string]struct {
				node   string
				weight int
			}{
				"a ready node is taken out of service": {"node-3", 0},
				"a drained node gets connections":      {"node-2", 1},
				"a node gets fewer connections":        {"node-1", 1},
				"a node gets more connections":         {"node-3", 7},
			} {
				t.Run(fmt.Sprintf("%s of %d on %s", name, nodes, release), func(t *testing.T) {
					t.Parallel()
					endpoints := "0 1 1 2-"
					for i := 3; i < nodes; i++ {
						endpoints += fmt.Sprint(" ", i)
					}
					env, _, svc := followingWith(t, "amphora", 1, endpoints, environmentOptions{simulator: simulator.Options{Release: release}})
					svc.Annotations[annotation.MemberWeights] = annotation.WeightsEndpoints
					all := env.nodes(nodes)
					env.ensure(svc, all)
					env.nextSecond()
					pool := env.loadBalancer().Pools[0].ID
					if err := octaviaAsSomebodyElse(t, env).Octavia().UpdateMember(env.ctx, pool, env.memberOf(test.node).ID, octaviaapi.Changes{"weight": test.weight}); err != nil {
						t.Fatal(err)
					}
					env.repair(svc, all)
					for _, m := range env.loadBalancer().Pools[0].Members {
						want := map[string]int{"node-1": 2, "node-2": 0}
						weight, is := want[m.Name]
						if !is {
							weight = 1
						}
						if m.Weight != weight {
							t.Errorf("%s has the weight %d, want %d", m.Name, m.Weight, weight)
						}
					}
				})
			}
		}
	}
}
