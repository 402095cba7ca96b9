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

// silentNodeInformer is an informer of nodes without events, with a lister of one node: the service
// controller knows whether there are nodes, but not which ones, because pkg/resync follows nodes.
// For each event, and every start has one for every node, the service controller compares all nodes
// of all Services: nodes times Services times nodes.
type silentNodeInformer struct{ corev1.TypedNodeInformer }

// Lister implements corev1.TypedNodeInformer.
func (s silentNodeInformer) Lister() corelisters.NodeLister {
	return &anyNode{NodeLister: s.TypedNodeInformer.Lister()}
}

// anyNode lists one node in place of all that can be members. The service controller passes nodes
// on to EnsureLoadBalancer, which has its own, and otherwise only checks whether there are any, but
// it keeps the list for each Service: pointers to old states of all nodes, which would stay in
// memory.
type anyNode struct {
	corelisters.NodeLister

	// last is the name of a node that could be a member.
	last atomic.Pointer[string]
}

// placeholder is listed for any node that can be a member, because each Service would keep an old
// state of a real one.
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
	name := all[at].Name // a pointer into the node would keep it in memory
	l.last.Store(&name)
	return []*v1.Node{placeholder}, nil
}

// Informer implements corev1.TypedNodeInformer.
func (s silentNodeInformer) Informer() cache.SharedIndexInformer {
	return silentInformer{s.TypedNodeInformer.Informer()}
}

// TypedInformer implements corev1.TypedNodeInformer.
func (s silentNodeInformer) TypedInformer() corev1.NodeIndexInformer {
	return cache.NewTypedSharedIndexInformer[*v1.Node](s.Informer())
}

// silentInformer drops its handler. It still registers with an informer in use, so that
// HasSynced of the registration works.
type silentInformer struct{ cache.SharedIndexInformer }

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer. It is what the service
// controller calls.
func (s silentInformer) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.SharedIndexInformer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{}, 0)
}
