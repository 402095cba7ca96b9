package conditions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// settleDelay is how long the conditions of a Service are collected before a write.
	settleDelay = time.Second
	// The delay after a failure doubles from the first to the last.
	firstRetryDelay, lastRetryDelay = 5 * time.Second, 5 * time.Minute
)

// Writer writes the conditions of a Service with one patch, and only if they have changed. The
// patch includes the annotations of the Service, which would need another write: the API server
// accepts both at the status subresource. It writes Provisioned after the service controller has
// published the address, so that the two writes do not conflict, and clients that wait for the
// condition can then read the address. It delays a write once for that: a service controller that
// has not published the address by then waits for a change of the Service, which the write causes.
// Callers never wait for the Writer. Its methods are safe for concurrent use.
type Writer struct {
	client corev1.ServicesGetter
	clock  clock.WithTicker
	// forbidden limits the log to one message if the right is missing.
	forbidden sync.Once

	mu       sync.Mutex
	services corelisters.ServiceLister // nil before Use
	queue    queue                     // nil before Run
	pending  map[types.NamespacedName]statement
	writing  types.NamespacedName // the Service of the pending patch
}

type queue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

// statement holds the conditions to write for a Service. The zero value is for a Service that is no
// longer ours.
type statement struct {
	uid        types.UID
	conditions map[reason.Condition]Condition
	record     annotation.Record
	// waited is set if the write was already delayed for the address of the Service.
	waited bool
}

// NewWriter returns a Writer. It writes nothing before Use and Run.
func NewWriter(client corev1.ServicesGetter, clk clock.WithTicker) *Writer {
	return &Writer{client: client, clock: clk, pending: map[types.NamespacedName]statement{}}
}

// Use sets the informer of Services, which the caller starts. Conditions of Services that are no
// longer ours are removed.
func (w *Writer) Use(informer coreinformers.ServiceInformer) error {
	w.mu.Lock()
	w.services = informer.Lister()
	w.mu.Unlock()
	stray := func(object any) {
		if svc, ok := object.(*v1.Service); ok && !cluster.IsOurs(svc) && len(Removal(svc.Status.Conditions)) > 0 {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pending[cluster.Key(svc)] = statement{}
			w.enqueue(cluster.Key(svc))
		}
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: stray, UpdateFunc: func(_, now any) { stray(now) },
	})
	return err
}

// Set writes conditions of a Service soon. Other conditions are unchanged. It writes missing
// annotations of the record together with conditions, and never alone.
func (w *Writer) Set(service types.NamespacedName, uid types.UID, wanted []Condition, record annotation.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(service, uid, wanted, record, true)
	if w.services != nil {
		svc, err := w.services.Services(service.Namespace).Get(service.Name)
		if err == nil && svc.UID == uid && len(w.changes(svc, w.pending[service])) == 0 {
			delete(w.pending, service)
			return
		}
	}
	w.enqueue(service)
}

// Brings reports whether the annotations of a Service are being written with its conditions, or
// will be soon.
func (w *Writer) Brings(service types.NamespacedName, uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := w.pending[service]
	return w.writing == service || w.queue != nil && pending.uid == uid && pending.record != annotation.Record{}
}

// enqueue queues a Service for a write. The caller holds the lock.
func (w *Writer) enqueue(service types.NamespacedName) {
	if w.queue != nil {
		w.queue.AddAfter(service, settleDelay)
	}
}

// add adds conditions to those to write for a Service; newer is set if they are newer than the
// existing ones. The caller holds the lock.
func (w *Writer) add(service types.NamespacedName, uid types.UID, wanted []Condition, record annotation.Record, newer bool) {
	pending := w.pending[service]
	if pending.uid != uid {
		if !newer && pending.uid != "" {
			return
		}
		pending = statement{uid: uid, conditions: map[reason.Condition]Condition{}, record: record}
	}
	if newer {
		pending.record = record
	}
	for _, s := range wanted {
		if _, there := pending.conditions[s.Type]; newer || !there {
			pending.conditions[s.Type] = s
		}
	}
	w.pending[service] = pending
}

// changes returns the patch of the conditions of a Service.
func (w *Writer) changes(svc *v1.Service, pending statement) []any {
	switch {
	case svc.DeletionTimestamp != nil:
		return nil
	case !cluster.IsOurs(svc):
		return Removal(svc.Status.Conditions)
	case pending.uid != svc.UID:
		return nil
	}
	var wanted []Condition
	for _, condition := range reason.Conditions() {
		if s, ok := pending.conditions[condition]; ok {
			wanted = append(wanted, s)
		}
	}
	return Changes(svc.Status.Conditions, wanted, metav1.NewTime(w.clock.Now()))
}

// Run writes until the context ends.
func (w *Writer) Run(ctx context.Context) {
	keys := w.begin()
	stop := context.AfterFunc(ctx, keys.ShutDown)
	defer stop()
	for {
		key, shutdown := keys.Get()
		if shutdown {
			return
		}
		err := w.write(ctx, key)
		if err == nil {
			keys.Forget(key)
		} else {
			klog.FromContext(ctx).V(2).Info("Cannot write the conditions of a Service, trying again", "service", key, "err", err)
			keys.AddRateLimited(key)
		}
		keys.Done(key)
	}
}

// begin returns the queue of Services, with those that were added before.
func (w *Writer) begin() queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetryDelay, lastRetryDelay),
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Clock: w.clock})
	for service := range w.pending {
		w.enqueue(service)
	}
	return w.queue
}

// write writes the conditions of a Service. If the write fails, they remain to be written.
func (w *Writer) write(ctx context.Context, key types.NamespacedName) error {
	pending, services := w.take(key)
	defer w.wrote()
	if services == nil {
		w.restore(key, pending)
		return fmt.Errorf("the informer of Services is not set yet")
	}
	svc, err := services.Services(key.Namespace).Get(key.Name)
	if err != nil {
		return nil // it was deleted: the lister of an informer has no other errors
	}
	patch, err := w.patch(svc, pending)
	if patch == nil || err != nil {
		return err
	}
	if !pending.waited && pending.conditions[reason.Provisioned].Is && len(svc.Status.LoadBalancer.Ingress) == 0 {
		pending.waited = true
		w.again(key, pending)
		return nil
	}
	_, err = w.client.Services(key.Namespace).Patch(ctx, key.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	pending.record = annotation.Record{} // if the write fails, the writer of annotations writes them
	switch {
	case apierrors.IsForbidden(err):
		w.forbidden.Do(func() {
			klog.FromContext(ctx).Info("Forbidden to patch the status of Services: their conditions are not written", "err", err)
		})
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		w.again(key, pending)
		return nil
	case err != nil:
		w.restore(key, pending)
	}
	return err
}

// patch returns the patch of a Service, nil if there is nothing to write. With annotations it
// conflicts with any other change of the Service, because a user may have changed the load
// balancer.
func (w *Writer) patch(svc *v1.Service, pending statement) ([]byte, error) {
	changes := w.changes(svc, pending)
	if len(changes) == 0 {
		return nil, nil
	}
	metadata := map[string]any{"uid": svc.UID}
	if annotations := pending.record.Changes(svc.Annotations); cluster.IsOurs(svc) && len(annotations) > 0 {
		metadata["annotations"], metadata["resourceVersion"] = annotations, svc.ResourceVersion
	}
	return json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{"conditions": changes}})
}

// take returns the conditions to write for a Service, and marks it as being written until wrote.
func (w *Writer) take(key types.NamespacedName) (statement, corelisters.ServiceLister) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pending := w.pending[key]
	delete(w.pending, key)
	w.writing = key
	return pending, w.services
}

func (w *Writer) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = types.NamespacedName{}
}

// again delays a write: the Service has changed, is another one, or has no address yet.
func (w *Writer) again(key types.NamespacedName, pending statement) {
	w.restore(key, pending)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enqueue(key)
}

// restore keeps conditions that could not be written, unless there are newer ones.
func (w *Writer) restore(key types.NamespacedName, pending statement) {
	if pending.uid == "" {
		return // a removal needs none
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(key, pending.uid, slices.Collect(maps.Values(pending.conditions)), pending.record, false)
	if now := w.pending[key]; now.uid == pending.uid && pending.waited {
		now.waited = true
		w.pending[key] = now
	}
}
