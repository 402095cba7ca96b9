package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
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

// A provider that ignores weights cannot drain.
//
//proves:54
func TestDrain_IsRefusedWithoutWeights(t *testing.T) {
	t.Parallel()
	env, _, svc := following(t, "ovn", 1, "0 1")
	svc.Annotations[annotation.MemberWeights] = annotation.WeightsDrain
	env.refusedBeforeAnything(svc, env.nodes(2), annotation.Path(annotation.MemberWeights).String(), "no effect", "ovn")
}
