package eventqueue

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// maxQueued is the maximum number of waiting events: those of two changes of nodes for ten
	// thousand Services, of some hundred bytes each. More are dropped.
	maxQueued = 20_000
	// cacheSize is the number of objects and reasons with a remembered last event, so that a
	// repeated one is counted, not written again. Each takes at least a KiB. Events of failures
	// repeat.
	cacheSize = 1024
)

// Recorder implements record.EventRecorder. Its methods may be called concurrently, and do not
// block.
type Recorder struct {
	queue      *queue
	component  string
	clock      clock.Clock
	correlator *record.EventCorrelator
}

var _ record.EventRecorder = (*Recorder)(nil)

// New returns a Recorder of events of a component. Run writes them.
func New(sink record.EventSink, component string, clk clock.Clock) *Recorder {
	return &Recorder{
		queue: newQueue(sink, maxQueued, clk), component: component, clock: clk,
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{LRUCacheSize: cacheSize, Clock: clk}),
	}
}

// Run writes events until the context ends: the first at once, those of the second after it
// together, at most a hundred per second, but all at once after ending is closed.
func (r *Recorder) Run(ctx context.Context, ending <-chan struct{}) { r.queue.run(ctx, ending) }

// Event implements record.EventRecorder.
func (r *Recorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.enqueue(object, nil, eventtype, reason, message)
}

// Eventf implements record.EventRecorder.
func (r *Recorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	r.enqueue(object, nil, eventtype, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *Recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, format string, args ...any) {
	r.enqueue(object, annotations, eventtype, reason, fmt.Sprintf(format, args...))
}

func (r *Recorder) enqueue(object runtime.Object, annotations map[string]string, eventtype, why, message string) {
	to, err := reference.GetReference(scheme.Scheme, object)
	if err != nil {
		klog.ErrorS(err, "Cannot refer to the object of an event", "type", eventtype, "reason", why, "message", message)
		return
	}
	klog.V(verbosity(isChange(why))).InfoS("Event occurred", "object", klog.KRef(to.Namespace, to.Name), "kind", to.Kind, "apiVersion", to.APIVersion,
		"type", eventtype, "reason", why, "message", message)
	at := r.clock.Now()
	r.queue.add(to.UID, func(ctx context.Context) {
		r.record(ctx, r.event(to, annotations, eventtype, why, message, metav1.NewTime(at)))
	})
}

// isChange reports whether events of a reason announce a change. They never repeat: each has the
// summary of another change (events.Memory).
func isChange(why string) bool { return why == string(reason.Changing) }

// verbosity is the log level of an event. Announced changes are not logged, because each change has
// a line when it is made.
func verbosity(change bool) klog.Level {
	if change {
		return 3
	}
	return 0
}

// event returns an event in the form that is written. It is smaller while it waits.
func (r *Recorder) event(to *v1.ObjectReference, annotations map[string]string, eventtype, why, message string, at metav1.Time) *v1.Event {
	namespace := to.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: util.GenerateEventName(to.Name, at.UnixNano()), Namespace: namespace, Annotations: annotations,
		},
		InvolvedObject: *to, Type: eventtype, Reason: why, Message: message,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: v1.EventSource{Component: r.component}, ReportingController: r.component,
	}
}

// record writes an event, or counts it if it repeats. It does not remember changes, which never
// repeat and would fill the cache with those of a thousand Services, in five MiB of memory.
func (r *Recorder) record(ctx context.Context, event *v1.Event) {
	if isChange(event.Reason) {
		r.queue.insist(ctx, &record.EventCorrelateResult{Event: event})
		return
	}
	next, err := r.correlator.EventCorrelate(event)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot compare an event with earlier ones", "event", klog.KObj(event))
	}
	if next == nil || next.Skip {
		return
	}
	if written := r.queue.insist(ctx, next); written != nil {
		r.correlator.UpdateState(written)
	}
}
