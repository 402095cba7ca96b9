package gates

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

const (
	// interval is how often the pods are looked at while there are some.
	interval = time.Second
	// patches is the most gates that are opened at a time, retryDelay the delay after a failure.
	patches    = 10
	retryDelay = 30 * time.Second
)

// newInformer returns the watch of the pods with Label.
func (g *Gates) newInformer() cache.Controller {
	pods := g.options.Client.CoreV1().Pods(metav1.NamespaceAll)
	set := func(object any) {
		if pod, is := object.(*v1.Pod); is {
			g.set(keyOf(pod), Read(pod, g.options.Clock.Now()))
		}
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cluster.Labelled(g.options.Client, pods, labels.Set{Label: "true"}.String()),
		ObjectType:    &v1.Pod{},
		Transform:     trim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    set,
			UpdateFunc: func(_, now any) { set(now) },
			DeleteFunc: func(last any) {
				if name, err := cache.DeletionHandlingObjectToName(last); err == nil {
					g.set(types.NamespacedName(name), nil)
				}
			},
		},
	})
	return controller
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// Run watches the pods and opens their gates until the context ends.
func (g *Gates) Run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { g.pods.RunWithContext(ctx) })
	for {
		var next <-chan time.Time
		if g.look(ctx) {
			next = g.options.Clock.After(interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-g.wake:
		case <-next:
		}
	}
}

// look opens the gates that are due, and reports whether there are pods left.
func (g *Gates) look(ctx context.Context) (left bool) {
	slots := make(chan struct{}, patches)
	var work sync.WaitGroup
	now := g.options.Clock.Now()
	for key, pod := range g.all() {
		left = true
		switch {
		case !pod.Waits() && !now.Before(pod.Until):
			g.expire(key, pod)
		case pod.Waits() && !now.Before(pod.again):
			condition, open := verdict(g.holding(key.Namespace, pod), pod.served, now.Sub(pod.since))
			if !open {
				continue
			}
			slots <- struct{}{}
			work.Go(func() {
				g.open(ctx, key, pod.UID, condition)
				<-slots
			})
		}
	}
	work.Wait()
	return left
}

// expire drops a pod that counts as ready no longer. Another pod of its name stays, which the watch may have found
// in between.
func (g *Gates) expire(key types.NamespacedName, expired known) {
	var services []types.NamespacedName
	for _, svc := range g.selecting(key.Namespace, expired.Labels) {
		services = append(services, cluster.Key(svc))
	}
	g.options.Change(services, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if now := g.by[key.Namespace][key.Name]; now != nil && now.same(expired.Pod) {
			g.drop(key)
		}
	})
}

// all returns copies of all pods.
func (g *Gates) all() map[types.NamespacedName]known {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := map[types.NamespacedName]known{}
	for namespace, in := range g.by {
		for name, pod := range in {
			one := *pod
			one.served = maps.Clone(pod.served)
			all[types.NamespacedName{Namespace: namespace, Name: name}] = one
		}
	}
	return all
}

// holding returns the Services that a pod waits for.
func (g *Gates) holding(namespace string, pod known) []types.NamespacedName {
	var all []types.NamespacedName
	for _, svc := range g.selecting(namespace, pod.Labels) {
		if g.options.Holds(svc) {
			all = append(all, cluster.Key(svc))
		}
	}
	return all
}

// open opens the gate of a pod. It is not tried again before the watch has the new state of the pod,
// or the delay is over.
func (g *Gates) open(ctx context.Context, key types.NamespacedName, uid types.UID, condition v1.PodCondition) {
	now := g.options.Clock.Now()
	g.mu.Lock()
	if pod := g.by[key.Namespace][key.Name]; pod != nil {
		pod.again = now.Add(retryDelay)
	}
	g.mu.Unlock()
	condition.LastTransitionTime = metav1.NewTime(now)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid}, // another pod of this name is not patched
		"status":   map[string]any{"conditions": []v1.PodCondition{condition}},
	})
	if err == nil {
		_, err = g.options.Client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Opened the readiness gate of a pod", "pod", key, "reason", condition.Reason)
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "Cannot open the readiness gate of a pod, trying again", "pod", key)
	}
}
