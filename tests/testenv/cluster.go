package testenv

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
)

// Key names a Service.
type Key = types.NamespacedName

// KeyOf returns the name of a Service.
func KeyOf(svc *v1.Service) Key { return Key{Namespace: svc.Namespace, Name: svc.Name} }

// Cluster has the objects of the API server. Arguments and results are copies. Its methods may be
// called from many goroutines.
type Cluster struct {
	mu       sync.Mutex
	services map[Key]*v1.Service
	nodes    map[string]*v1.Node
	// endpoints are the nodes with an endpoint of a Service, with the number of their changes.
	endpoints map[Key]endpoints
	// endpointsForbidden is set while the controller may not watch them.
	endpointsForbidden bool
	namespaces         map[string]*v1.Namespace
	configMaps         map[string]*v1.ConfigMap
	version            int64
	nodeChange         int64
	changed            chan struct{}
	uids               int
}

func newCluster() *Cluster {
	return &Cluster{
		services: map[Key]*v1.Service{}, nodes: map[string]*v1.Node{}, endpoints: map[Key]endpoints{}, namespaces: map[string]*v1.Namespace{},
		configMaps: map[string]*v1.ConfigMap{}, changed: make(chan struct{}),
	}
}

// Changed returns a channel that is closed at the next change of any object.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// change makes a change with the lock held, and notifies all watchers.
func (c *Cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// Service returns a Service, nil if it does not exist.
func (c *Cluster) Service(key Key) *v1.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.services[key].DeepCopy()
}

// Services returns all Services by name.
func (c *Cluster) Services() []*v1.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*v1.Service
	for _, key := range slices.SortedFunc(maps.Keys(c.services), func(a, b Key) int { return cmpText(a.String(), b.String()) }) {
		all = append(all, c.services[key].DeepCopy())
	}
	return all
}

// in returns the Services of a namespace.
func (c *Cluster) in(_ context.Context, namespace string) ([]*v1.Service, error) {
	found := []*v1.Service{}
	for _, svc := range c.Services() {
		if svc.Namespace == namespace {
			found = append(found, svc)
		}
	}
	return found, nil
}

// Apply creates a Service, or replaces the parts that users write: annotations and spec. A new
// Service gets its time of creation, and a UID, unless it has one.
func (c *Cluster) Apply(svc *v1.Service) {
	c.change(func() {
		key := KeyOf(svc)
		next := svc.DeepCopy()
		if known := c.services[key]; known != nil {
			next.ObjectMeta, next.Status = *known.ObjectMeta.DeepCopy(), known.Status
			next.Annotations = maps.Clone(svc.Annotations)
		} else {
			next.CreationTimestamp = metav1.Time{Time: time.Now().Truncate(time.Second)}
			if next.UID == "" {
				c.uids++
				next.UID = types.UID("uid-" + strconv.Itoa(c.uids) + "-of-" + svc.Name)
			}
		}
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		c.put(next, true)
	})
}

// Restore adds a Service of another cluster, with its UID, its status and its finalizers.
func (c *Cluster) Restore(svc *v1.Service) { c.change(func() { c.put(svc.DeepCopy(), true) }) }

// Edit changes annotations and spec of a Service. It does nothing if there is none.
func (c *Cluster) Edit(key Key, edit func(*v1.Service)) {
	c.change(func() {
		if known := c.services[key]; known != nil {
			next := known.DeepCopy()
			edit(next)
			c.put(next, true)
		}
	})
}

// put stores a Service. Its generation counts the changes that the service controller handles.
func (c *Cluster) put(svc *v1.Service, heeded bool) {
	c.version++
	svc.ResourceVersion = strconv.FormatInt(c.version, 10)
	if heeded {
		svc.Generation = c.version
	}
	c.services[KeyOf(svc)] = svc
}

// Delete marks a Service for deletion: it is gone when its load balancer is.
func (c *Cluster) Delete(key Key) {
	c.change(func() {
		known := c.services[key]
		switch {
		case known == nil:
		case !servicehelpers.HasLBFinalizer(known):
			c.drop(key)
		case known.DeletionTimestamp == nil:
			next := known.DeepCopy()
			now := metav1.Now()
			next.DeletionTimestamp = &now
			c.put(next, true)
		}
	})
}

// annotate adds annotations to a Service, unless it was replaced by another one.
func (c *Cluster) annotate(key Key, uid types.UID, changes func(current map[string]string) map[string]*string) {
	c.change(func() {
		if known := c.services[key]; known != nil && known.UID == uid {
			next := known.DeepCopy()
			changed := changes(next.Annotations)
			if next.Annotations == nil {
				next.Annotations = map[string]string{}
			}
			for name, value := range changed {
				if delete(next.Annotations, name); value != nil {
					next.Annotations[name] = *value
				}
			}
			c.put(next, len(changed) > 0)
		}
	})
}

// publish writes the status of a Service, unless it was replaced by another one.
func (c *Cluster) publish(svc *v1.Service, status *v1.LoadBalancerStatus) {
	c.change(func() {
		known := c.services[KeyOf(svc)]
		if known != nil && known.UID == svc.UID && status != nil && !servicehelpers.LoadBalancerStatusEqual(&known.Status.LoadBalancer, status) {
			next := known.DeepCopy()
			next.Status.LoadBalancer = *status.DeepCopy()
			c.put(next, false)
		}
	})
}

// finalize adds or removes the service controller's finalizer. Its removal removes a deleted
// Service.
func (c *Cluster) finalize(svc *v1.Service, on bool) {
	c.change(func() {
		known := c.services[KeyOf(svc)]
		if known == nil || known.UID != svc.UID || servicehelpers.HasLBFinalizer(known) == on {
			return
		}
		next := known.DeepCopy()
		next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == servicehelpers.LoadBalancerCleanupFinalizer })
		if on {
			next.Finalizers = append(next.Finalizers, servicehelpers.LoadBalancerCleanupFinalizer)
		}
		if !on && next.DeletionTimestamp != nil {
			c.drop(KeyOf(svc))
			return
		}
		c.put(next, false)
	})
}

// SetNode adds or replaces a Node.
func (c *Cluster) SetNode(node *v1.Node) {
	c.change(func() {
		c.nodes[node.Name] = node.DeepCopy()
		c.nodeChange++
	})
}

// replaceNode replaces a Node unless it has changed since the read, as the API server does.
func (c *Cluster) replaceNode(before, after *v1.Node) {
	c.change(func() {
		if known := c.nodes[after.Name]; known != nil && reflect.DeepEqual(known, before) {
			c.nodes[after.Name] = after.DeepCopy()
			c.nodeChange++
		}
	})
}

// DeleteNode removes a Node.
func (c *Cluster) DeleteNode(name string) {
	c.change(func() {
		delete(c.nodes, name)
		c.nodeChange++
	})
}

// Node returns a Node, nil if it does not exist.
func (c *Cluster) Node(name string) *v1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name].DeepCopy()
}

// Nodes returns all Nodes by name.
func (c *Cluster) Nodes() []*v1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		all = append(all, c.nodes[name].DeepCopy())
	}
	return all
}

func (c *Cluster) nodesChanged() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodeChange
}

// SetNamespace writes the annotations of a namespace.
func (c *Cluster) SetNamespace(name string, annotations map[string]string) {
	c.change(func() {
		c.namespaces[name] = &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: maps.Clone(annotations)}}
	})
}

// namespace returns a namespace. Every namespace exists.
func (c *Cluster) namespace(name string) *v1.Namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.namespaces[name]; known != nil {
		return known.DeepCopy()
	}
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
