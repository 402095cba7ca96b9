package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// states returns copies of the nodes, each with a label or a taint.
func states(nodes []*v1.Node, change func(*v1.Node)) []*v1.Node {
	var changed []*v1.Node
	for _, node := range nodes {
		node = node.DeepCopy()
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		change(node)
		changed = append(changed, node)
	}
	return changed
}

func labelled(node *v1.Node) { node.Labels[v1.LabelNodeExcludeBalancers] = "" }

func tainted(node *v1.Node) {
	node.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: v1.TaintEffectNoSchedule}}
}

// A user who excludes all nodes from load balancers gets empty pools, as with
// cloud-provider-openstack, also for a new port. An event reports it.
//
//proves:53
func TestMembers_AreNoneWhereAllNodesAreExcluded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys    map[string]string
		exclude func(svc *v1.Service, nodes []*v1.Node) []*v1.Node
		event   string
	}{
		"by their label": {nil, func(_ *v1.Service, nodes []*v1.Node) []*v1.Node { return states(nodes, labelled) }, "all nodes have the label"},
		"by the selector of the Service": {nil, func(svc *v1.Service, nodes []*v1.Node) []*v1.Node {
			svc.Annotations[annotation.NodeSelector] = "pool=none"
			return nodes
		}, `matches the node selector "pool=none"`},
		"by the selector of cloud.conf, as labels change": {map[string]string{"node-selector": "!old"}, func(_ *v1.Service, nodes []*v1.Node) []*v1.Node {
			return states(nodes, func(node *v1.Node) { node.Labels["old"] = "" })
		}, `matches the node selector "!old"`},
		"the last by its label, another being deleted": {nil, func(_ *v1.Service, nodes []*v1.Node) []*v1.Node {
			excluded := states(nodes, labelled)
			tainted(excluded[0])
			return excluded
		}, "all nodes have the label"},
	} {
		for _, sg := range []string{"", "per-service", "shared"} {
			t.Run(strings.TrimSpace(name+" "+sg), func(t *testing.T) {
				t.Parallel()
				keys := map[string]string{"create-monitor": "true"}
				if sg != "" {
					keys = managed(sg, "create-monitor", "true")
				}
				for key, value := range c.keys {
					keys[key] = value
				}
				env := newEnvironment(t, environmentOptions{keys: keys})
				nodes, svc := env.nodes(3), service("web", 2)
				env.ensure(svc, nodes)
				excluded := c.exclude(svc, nodes)
				env.emitted()
				env.ensure(svc, excluded)
				env.membersAre(nil)
				if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerNoMembers") || !strings.Contains(emitted, c.event) {
					t.Errorf("events:\n%s\nwant one with %q", emitted, c.event)
				}
				svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
				env.ensure(svc, excluded)
				env.membersAre(nil)
				if got := len(env.loadBalancer().Listeners); got != 3 {
					t.Errorf("%d listeners, want 3", got)
				}
				env.unchanged(svc, excluded)
				delete(svc.Annotations, annotation.NodeSelector)
				env.ensure(svc, nodes)
				env.membersAre(nodes)
				env.unchanged(svc, nodes)
			})
		}
	}
}

// If all nodes are about to go, these serve until others come.
func TestMembers_StayWhereAllNodesAreAboutToGo(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared")})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	going := append(states(nodes[:1], labelled), states(nodes[1:], tainted)...)
	env.emitted()
	env.ensure(svc, going)
	env.membersAre(nodes[1:])
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerLastMembers") || !strings.Contains(emitted, "node-1, node-2") {
		t.Errorf("events:\n%s", emitted)
	}
	env.unchanged(svc, going)
	if _, err := env.engine.Ensure(env.ctx, svc, nil); err == nil || !strings.Contains(err.Error(), "keeping the existing members") {
		t.Errorf("no nodes: %v", err)
	}
	env.membersAre(nodes[1:])
	added := append(going, env.node(3))
	env.ensure(svc, added)
	env.membersAre(added[3:])
	env.unchanged(svc, added)
}

// A Service can be created before any node can serve it.
func TestMembers_ComeLaterThanLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	excluded := states(nodes, labelled)
	env.ensure(svc, excluded)
	env.membersAre(nil)
	env.unchanged(svc, excluded)
	env.ensure(svc, nodes)
	env.membersAre(nodes)
	env.unchanged(svc, nodes)
}

// A refused Service follows the nodes, too. Its new settings, which may include its selector, wait.
func TestRefusal_FollowsExclusionOfAllNodes(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "same process", true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed("per-service", "create-monitor", "true")})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes)
			svc.Annotations[annotation.MaxMembers] = "many"
			if restart {
				env.restart()
			}
			svc.Annotations[annotation.NodeSelector] = "pool=none"
			env.refused(svc, nodes[1:], "follows its nodes or pods")
			env.membersAre(nodes[1:])
			delete(svc.Annotations, annotation.NodeSelector)
			env.refused(svc, states(nodes, labelled), "follows its nodes or pods")
			env.membersAre(nil)
			env.refused(svc, nodes, "follows its nodes or pods")
			env.membersAre(nodes)
			delete(svc.Annotations, annotation.MaxMembers)
			env.ensure(svc, nodes)
			env.unchanged(svc, nodes)
		})
	}
}
