package resync

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// nodeChanges enqueues Services after changes of nodes. Only the goroutine of the informer's events uses it.
type nodeChanges struct {
	// nodes returns all nodes.
	nodes func() []*v1.Node
	// selects reports whether labels decide which nodes are members of a Service's load balancer.
	selects func(*v1.Service) bool
	// enqueue enqueues the managed Services that match.
	enqueue func(matches func(*v1.Service) bool, after time.Duration)
	clock   clock.PassiveClock
	// last is the time of the last change.
	last time.Time
}

// events returns the handler of events of nodes. Nodes that exist when the process starts cause
// no events, as the service controller then ensures every Service.
func (c *nodeChanges) events() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			if node, ok := added.(*v1.Node); ok && !initial {
				c.changed(nil, node)
			}
		},
		UpdateFunc: func(before, after any) {
			old, okOld := before.(*v1.Node)
			node, okNew := after.(*v1.Node)
			if okOld && okNew {
				c.changed(old, node)
			}
		},
		DeleteFunc: func(last any) {
			if unknown, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = unknown.Obj
			}
			if node, ok := last.(*v1.Node); ok {
				c.changed(node, nil)
			}
		},
	}
}

// changed enqueues the Services that a change of a node can affect:
//
//	the node                                             which Services   after
//	goes, becomes excluded or has no address any more    all              promptBatchPeriod
//	comes, has an address or is excluded no more         all              period
//	is about to go, and goes, or becomes excluded        that select      promptBatchPeriod
//	gets another provider ID or address                  all              period
//	gets other labels                                    that select      period
//	anything else, as its heartbeat                      none
//
// Before is nil for a new node, after for one that is gone. A node that is about to go is a member
// only for Services without another one: those that select nodes, or all if no other node is left.
func (c *nodeChanges) changed(before, after *v1.Node) {
	was, is := canBeMember(before), canBeMember(after)
	all := func(*v1.Service) bool { return true }
	switch {
	case was && !is:
		c.last = c.clock.Now()
		c.enqueue(all, promptBatchPeriod)
	case !was && is:
		c.enqueue(all, c.period())
	case !was && canBeLast(before) != canBeLast(after) && !slices.ContainsFunc(c.nodes(), canBeMember):
		c.enqueue(all, promptBatchPeriod)
	case !was && canBeLast(before) != canBeLast(after):
		c.enqueue(c.selects, promptBatchPeriod)
	case !was:
	case before.Spec.ProviderID != after.Spec.ProviderID, !slices.Equal(cluster.MemberAddresses(before), cluster.MemberAddresses(after)):
		c.enqueue(all, c.period())
	case !maps.Equal(before.Labels, after.Labels):
		c.enqueue(c.selects, c.period())
	}
}

// period returns for how long changes of nodes are collected that begin with one now.
func (c *nodeChanges) period() time.Duration {
	last, now := c.last, c.clock.Now()
	c.last = now
	return periodAfter(now.Sub(last), false)
}

// canBeMember reports whether a node exists, is not excluded and has an address.
func canBeMember(node *v1.Node) bool {
	return node != nil && !Excluded(node) && cluster.HasMemberAddress(node)
}

// canBeLast reports whether a node is about to go, but would be a member otherwise.
func canBeLast(node *v1.Node) bool {
	return node != nil && cluster.LosesNode(node) && !cluster.ExcludesNode(node) && cluster.HasMemberAddress(node)
}

// Excluded reports whether the service controller leaves a node out of load balancers
// (KEP-3458).
func Excluded(node *v1.Node) bool {
	return cluster.ExcludesNode(node) || cluster.LosesNode(node)
}
