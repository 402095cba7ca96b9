package resync

import (
	"context"
	"time"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

const (
	// The watch of EndpointSlices is retried after forbiddenDelay while it is refused for good, else
	// after a delay that doubles from the first to the last.
	forbiddenDelay                        = time.Minute
	firstEndpointDelay, lastEndpointDelay = time.Second, 30 * time.Second
)

// Add implements cache.ReflectorStore.
func (t *endpointTable) Add(object any) error {
	if key, service, slice, ok := parseSlice(object); ok {
		t.set(map[types.NamespacedName]placed{key: {service, slice}})
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (t *endpointTable) Update(object any) error { return t.Add(object) }

// Delete implements cache.ReflectorStore.
func (t *endpointTable) Delete(object any) error {
	if key, _, _, ok := parseSlice(object); ok {
		t.set(map[types.NamespacedName]placed{key: {}})
	}
	return nil
}

// Replace implements cache.ReflectorStore: it stores all slices that exist.
func (t *endpointTable) Replace(objects []any, _ string) error {
	there := make(map[types.NamespacedName]placed, len(objects))
	for _, object := range objects {
		if key, service, slice, ok := parseSlice(object); ok {
			there[key] = placed{service, slice}
		}
	}
	t.mu.Lock()
	for key := range t.owners {
		if _, is := there[key]; !is {
			there[key] = placed{}
		}
	}
	t.mu.Unlock()
	t.set(there)
	t.answered()
	return nil
}

// Resync implements cache.ReflectorStore.
func (t *endpointTable) Resync() error { return nil }

// answered records that all slices are known. If Services have been served without them, they are
// served again.
func (t *endpointTable) answered() {
	t.mu.Lock()
	late := t.watch.answered(t.clock.Now())
	t.mu.Unlock()
	if late {
		t.restated(settings.Watched)
	}
}

// failed records the end of a watch, and returns whether this process lacks the right to it.
func (t *endpointTable) failed(ctx context.Context, err error) (forbidden bool) {
	t.mu.Lock()
	forbidden, begins := t.watch.failed(err, t.clock.Now())
	t.mu.Unlock()
	if begins {
		klog.FromContext(ctx).Info("May not list and watch EndpointSlices: all nodes are members of Services that could follow their endpoints; grant the role of the "+
			"cloud-controller-manager list and watch for endpointslices", "err", err)
		t.restated(settings.Forbidden)
	}
	return forbidden
}

// run calls read, which fills the table until its watch ends, again and again until the context
// ends.
func (t *endpointTable) run(ctx context.Context, read func(context.Context) error) {
	backoff := func() *wait.Backoff {
		return &wait.Backoff{Duration: firstEndpointDelay, Factor: 2, Jitter: 0.1, Steps: 10, Cap: lastEndpointDelay}
	}
	retry := backoff()
	for ctx.Err() == nil {
		begun := t.clock.Now()
		err := read(ctx)
		delay := forbiddenDelay
		if !t.failed(ctx, err) {
			if t.clock.Since(begun) > time.Minute {
				retry = backoff()
			}
			if err != nil {
				klog.FromContext(ctx).V(2).Info("The watch of EndpointSlices has failed, trying again", "err", err)
			}
			delay = retry.Step()
		}
		select {
		case <-ctx.Done():
		case <-t.clock.After(delay):
		}
	}
}

// Transformer implements cache.TransformingStore: while the watch reads the first list, it has only
// what parseSlice needs of the much larger objects. What it returns may be transformed again.
func (t *endpointTable) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		from, is := object.(*discovery.EndpointSlice)
		if !is {
			return object, nil
		}
		trimmed := &discovery.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: from.Namespace, Name: from.Name, UID: from.UID, ResourceVersion: from.ResourceVersion,
				Labels: map[string]string{discovery.LabelServiceName: from.Labels[discovery.LabelServiceName]},
			},
			AddressType: from.AddressType, Ports: from.Ports,
		}
		for _, e := range from.Endpoints {
			trimmed.Endpoints = append(trimmed.Endpoints, discovery.Endpoint{
				Addresses: e.Addresses[:min(len(e.Addresses), 1)], Conditions: e.Conditions, NodeName: e.NodeName, TargetRef: podOf(e),
			})
		}
		return trimmed, nil
	}
}
