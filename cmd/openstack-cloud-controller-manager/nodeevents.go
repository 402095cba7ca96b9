package main

import (
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1 "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// silentNodeInformer is an informer of nodes without events, whose lister has one node: the service
// controller knows whether there are nodes, but neither which ones nor when one comes, changes or
// goes, as pkg/resync follows nodes. For each of these events, of which every start brings one for
// every node, the service controller compares all nodes of all Services: nodes times Services times
// nodes.
type silentNodeInformer struct{ corev1.NodeInformer }

// Lister implements corev1.NodeInformer.
func (s silentNodeInformer) Lister() corelisters.NodeLister {
	return &anyNode{NodeLister: s.NodeInformer.Lister()}
}

// anyNode lists one node in place of all that can be members. The service controller passes nodes
// on to EnsureLoadBalancer, which has its own, and otherwise wants to know only whether there are
// any, but it keeps the list for each Service: pointers to all nodes as they were at that time, and
// with them states of nodes that nothing else has any more.
type anyNode struct {
	corelisters.NodeLister

	// last is the name of a node that could be a member.
	last atomic.Pointer[string]
}

// placeholder is listed for any node that can be a member. It is not that node, of which each Service
// would keep an old state.
var placeholder = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "any"}}

// List implements corelisters.NodeLister.
func (l *anyNode) List(selector labels.Selector) ([]*v1.Node, error) {
	if name := l.last.Load(); name != nil {
		if node, err := l.Get(*name); err == nil && !resync.Excluded(node) && selector.Matches(labels.Set(node.Labels)) {
			return []*v1.Node{placeholder}, nil
		}
	}
	all, err := l.NodeLister.List(selector)
	at := slices.IndexFunc(all, func(node *v1.Node) bool { return !resync.Excluded(node) })
	if err != nil || at < 0 {
		return nil, err
	}
	name := all[at].Name // and not a pointer into the node, which would stay with it
	l.last.Store(&name)
	return []*v1.Node{placeholder}, nil
}

// Informer implements corev1.NodeInformer.
func (s silentNodeInformer) Informer() cache.SharedIndexInformer {
	return silentInformer{s.NodeInformer.Informer()}
}

// silentInformer drops the handler that it is given. An informer in use is registered with
// all the same, so that HasSynced of the registration works.
type silentInformer struct{ cache.SharedIndexInformer }

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer. It is what the service
// controller calls.
func (s silentInformer) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0)
}
