package resync

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//proves:53
func TestController_AddsNodeThatGetsItsAddress(t *testing.T) {
	t.Parallel()
	excludedNode, kept := newNode("c", "10.0.0.3"), newNode("d", "10.0.0.4")
	excludedNode.Labels[v1.LabelNodeExcludeBalancers] = ""
	kept.Labels[v1.LabelNodeExcludeBalancers] = "false"
	run(t, &fakeEngine{}, append(objects(newService("web"), unmanaged("unpublished")), excludedNode, kept), func(f *fixture) {
		f.changeNode(newNode("b", "10.0.0.2"), func(n *v1.Node) { n.Status.Addresses[0].Address = "10.0.0.22" })
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,d") // the service controller creates the load balancer of a Service without one
	})
}

// A change of a node's labels syncs the Services that select nodes, and no others.
//
//proves:52
func TestController_SyncsOnlyServicesThatSelectNodesWhenLabelsChange(t *testing.T) {
	t.Parallel()
	selecting := newService("selecting")
	selecting.Annotations = map[string]string{"selects": "pool=a"}
	run(t, &fakeEngine{}, objects(selecting, newService("plain")), func(f *fixture) {
		f.changeNode(newNode("a", "10.0.0.1"), func(n *v1.Node) { n.Labels["pool"] = "a" })
		f.advance(batchPeriod)
		f.assertRepaired("selecting:a,b")
	})
}

// Nodes that are excluded, about to be deleted or going are no members. Nodes that are only not
// ready, or have the label with the value false, are.
//
//proves:53
func TestExcluded_FollowsTheServiceController(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*v1.Node)
		want   bool
	}{
		"plain":               {func(*v1.Node) {}, false},
		"label":               {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "" }, true},
		"label true":          {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "true" }, true},
		"label false":         {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "false" }, false},
		"label with nonsense": {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "please" }, true},
		"autoscaler's taint":  {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }, true},
		"Karpenter's label":   {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "karpenter" }, true},
		"only a candidate":    {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "DeletionCandidateOfClusterAutoscaler"}} }, false},
		"of an old revision":  {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "node.cluster.x-k8s.io/outdated-revision"}} }, false},
		"another taint":       {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "node.kubernetes.io/unschedulable"}} }, false},
		"deleted":             {func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		"not ready, cordoned": {func(n *v1.Node) { n.Spec.Unschedulable = true }, false},
	} {
		node := newNode("a", "10.0.0.1")
		test.change(node)
		if got := Excluded(node); got != test.want {
			t.Errorf("%s: excluded %v, want %v", name, got, test.want)
		}
	}
}

func TestController_IgnoresHeartbeatsOfNodes(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web")), func(f *fixture) {
		f.changeNode(newNode("a", "10.0.0.1"), func(n *v1.Node) {
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		})
		f.advance(batchPeriod)
		f.assertRepaired()
		f.changeNode(newNode("b", "10.0.0.2"), func(n *v1.Node) { n.Status.Addresses[0].Address = "10.0.0.3" })
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b")
	})
}

//proves:53
func TestController_FollowsNodesThatComeAndGo(t *testing.T) {
	t.Parallel()
	c := newNode("c", "10.0.0.3")
	run(t, &fakeEngine{}, objects(newService("web")), func(f *fixture) {
		f.addNode(c)
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,c")
		f.changeNode(c, func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} })
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b,c")
		f.changeNode(c, func(*v1.Node) {})
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b", "web:a,b,c", "web:a,b,c")
		f.deleteNode("a")
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b,c", "web:a,b,c", "web:b,c")
	})
}

// A node that is about to go is a member if no other is left. Its removal then matters.
//
//proves:53
func TestController_FollowsNodesThatAreAboutToGo(t *testing.T) {
	t.Parallel()
	selecting := newService("selecting")
	selecting.Annotations = map[string]string{"selects": "pool=a"}
	taint := func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }
	run(t, &fakeEngine{}, objects(newService("plain"), selecting), func(f *fixture) {
		f.changeNode(newNode("a", "10.0.0.1"), taint)
		f.advance(promptBatchPeriod)
		f.assertRepaired("plain:b", "selecting:b")
		f.deleteNode("a") // another is left, but perhaps not for the one that selects
		f.advance(promptBatchPeriod)
		f.assertRepaired("plain:b", "selecting:b", "selecting:b")
		f.addNode(newNode("c", "10.0.0.3"))
		f.changeNode(newNode("c", "10.0.0.3"), taint)
		f.changeNode(newNode("b", "10.0.0.2"), taint)
		f.advance(batchPeriod)
		f.assertRepaired("plain:", "plain:b", "selecting:", "selecting:b", "selecting:b")
		f.deleteNode("b")
		f.advance(promptBatchPeriod)
		f.assertRepaired("plain:", "plain:", "plain:b", "selecting:", "selecting:", "selecting:b", "selecting:b")
	})
}

func TestController_RemovesNodesSoonerThanItAddsThem(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web")), func(f *fixture) {
		f.addNode(newNode("x", "10.0.0.9"))
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,x")

		f.addNode(newNode("c", "10.0.0.3"))
		f.advance(batchPeriod - time.Nanosecond)
		f.assertRepaired("web:a,b,x")
		f.advance(time.Nanosecond)
		f.assertRepaired("web:a,b,c,x", "web:a,b,x")

		f.addNode(newNode("d", "10.0.0.4"))
		f.deleteNode("a")
		f.advance(promptBatchPeriod - time.Nanosecond)
		f.assertRepaired("web:a,b,c,x", "web:a,b,x")
		f.advance(time.Nanosecond)
		f.assertRepaired("web:a,b,c,x", "web:a,b,x", "web:b,c,d,x")
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,c,x", "web:a,b,x", "web:b,c,d,x")
	})
}

// A single new node is added at once, but not before it has an address; the nodes that follow are
// added together.
func TestController_AddsFirstNodeAfterQuietTimeAtOnce(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web")), func(f *fixture) {
		c := newNode("c", "10.0.0.3")
		c.Status.Addresses = nil
		f.addNode(c)
		f.advance(batchPeriod)
		f.assertRepaired()
		f.changeNode(c, func(n *v1.Node) { n.Status.Addresses = newNode("c", "10.0.0.3").Status.Addresses })
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b,c")

		f.addNode(newNode("d", "10.0.0.4"))
		f.advance(promptBatchPeriod)
		f.addNode(newNode("e", "10.0.0.5"))
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b,c", "web:a,b,c,d,e")

		f.advance(quietPeriod)
		f.addNode(newNode("f", "10.0.0.6"))
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b,c", "web:a,b,c,d,e", "web:a,b,c,d,e,f")
	})
}

func TestController_SyncsOnceForChangesOfNodesShortlyAfterOneAnother(t *testing.T) {
	t.Parallel()
	web := newService("web")
	run(t, &fakeEngine{}, objects(web), func(f *fixture) {
		for range 20 {
			f.controller.Enqueue(web)
		}
		f.controller.Enqueue(unmanaged("unmanaged"))
		f.deleteNode("a")
		f.advance(batchPeriod)
		f.assertRepaired("web:b")
	})
}

// Half of the Services have a load balancer that stays PENDING, as after a crash of Octavia's
// workers. They wait, and delay no other Service.
//
//proves:73
func TestController_StuckLoadBalancersHoldUpNobody(t *testing.T) {
	t.Parallel()
	const many = 1000
	var healthy, waiting atomic.Int32
	engine := &fakeEngine{serve: func(ctx context.Context, s *v1.Service) error {
		if s.Labels["stuck"] == "" {
			healthy.Add(1)
			return nil
		}
		waiting.Add(1)
		<-ctx.Done()
		return ctx.Err()
	}}
	services := make([]*v1.Service, many)
	for i := range services {
		services[i] = newService(fmt.Sprintf("s%d", i))
		if i%2 == 0 {
			services[i].Labels = map[string]string{"stuck": "true"}
		}
	}
	run(t, engine, objects(services...), func(f *fixture) {
		f.deleteNode("b")
		f.advance(promptBatchPeriod)
		if healthy.Load() != many/2 || waiting.Load() != many/2 {
			t.Errorf("%d of %d healthy Services were synced, while %d wait", healthy.Load(), many/2, waiting.Load())
		}
	})
}
