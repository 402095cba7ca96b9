// Package eventqueue records events with the API server, as the broadcaster of client-go
// does, which drops events while a thousand wait: a change of nodes gives one for each
// Service, faster than they may be written. Here the queue has room for all of them.
package eventqueue

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// maxQueued is how many events may wait: those of two changes of nodes for ten thousand
	// Services, of some hundred bytes each. More are dropped.
	maxQueued = 20_000
	// cacheSize is of how many objects and reasons is known what was written last, so that
	// an event that repeats is counted, not written again. Each takes a KiB and more. What
	// repeats is what fails.
	cacheSize = 1024
	// retries is how often an event is written that the API server does not answer, with
	// retryDelay in between. The others wait meanwhile.
	retries    = 12
	retryDelay = 10 * time.Second
)

// Recorder implements record.EventRecorder. Its methods may be called from many goroutines,
// and do not block.
type Recorder struct {
	sink       record.EventSink
	component  string
	clock      clock.Clock
	correlator *record.EventCorrelator

	mu      sync.Mutex
	waiting []queued
	dropped int
	// more has a value while something waits.
	more chan struct{}
}

var _ record.EventRecorder = (*Recorder)(nil)

// queued is an event that waits, as small as that can be.
type queued struct {
	object                     *v1.ObjectReference
	annotations                map[string]string
	eventtype, reason, message string
	at                         time.Time
}

// New returns a Recorder of events of a component. Run writes them.
func New(sink record.EventSink, component string, clk clock.Clock) *Recorder {
	return &Recorder{
		sink: sink, component: component, clock: clk, more: make(chan struct{}, 1),
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{LRUCacheSize: cacheSize, Clock: clk}),
	}
}

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
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) >= maxQueued {
		r.dropped++
		return
	}
	r.waiting = append(r.waiting, queued{to, annotations, eventtype, why, message, r.clock.Now()})
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// isChange reports whether events of a reason announce a change. None of them repeats: it is the
// summary of another change each time (events.Memory).
func isChange(why string) bool { return why == string(reason.Changing) }

// verbosity is where the log has an event. What is being changed it need not say before: it has a
// line for each change.
func verbosity(change bool) klog.Level {
	if change {
		return 3
	}
	return 0
}

// next takes the event that has waited longest out of the queue; false: none waits.
func (r *Recorder) next(ctx context.Context) (queued, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped > 0 {
		klog.FromContext(ctx).Error(nil, "Dropped events: too many were waiting", "dropped", r.dropped, "waiting", len(r.waiting))
		r.dropped = 0
	}
	if len(r.waiting) == 0 {
		r.waiting = nil
		return queued{}, false
	}
	first := r.waiting[0]
	r.waiting[0] = queued{}
	r.waiting = r.waiting[1:]
	return first, true
}

// Run writes events one after the other until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case <-r.more:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			event, ok := r.next(ctx)
			if !ok {
				break
			}
			r.record(ctx, r.event(event))
		}
	}
}

func (r *Recorder) event(q queued) *v1.Event {
	at, namespace := metav1.NewTime(q.at), q.object.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &v1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: util.GenerateEventName(q.object.Name, q.at.UnixNano()), Namespace: namespace, Annotations: q.annotations,
		},
		InvolvedObject: *q.object, Type: q.eventtype, Reason: q.reason, Message: q.message,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: v1.EventSource{Component: r.component}, ReportingController: r.component,
	}
}

// record writes an event, or counts it where it repeats. Changes, which do not, it does not
// remember: those of a thousand Services at once would be most of what it knows, and scatter it
// over five MiB more of memory.
func (r *Recorder) record(ctx context.Context, event *v1.Event) {
	if isChange(event.Reason) {
		r.insist(ctx, &record.EventCorrelateResult{Event: event})
		return
	}
	next, err := r.correlator.EventCorrelate(event)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot compare an event with earlier ones", "event", klog.KObj(event))
	}
	if next == nil || next.Skip {
		return
	}
	if written := r.insist(ctx, next); written != nil {
		r.correlator.UpdateState(written)
	}
}

// insist writes an event, again as long as the API server does not answer, and returns it as it is
// there; nil where it is not. What the API server refuses is not tried again.
func (r *Recorder) insist(ctx context.Context, next *record.EventCorrelateResult) *v1.Event {
	for range retries {
		written, err := r.write(next)
		if err == nil {
			return written
		}
		logger := klog.LoggerWithValues(klog.FromContext(ctx), "event", klog.KObj(next.Event), "reason", next.Event.Reason)
		if why := apierrors.ReasonForError(err); why != metav1.StatusReasonUnknown {
			if !apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
				logger.Error(err, "The API server refuses an event")
			}
			return nil
		}
		logger.Error(err, "Cannot write an event, trying again")
		select {
		case <-ctx.Done():
			return nil
		case <-r.clock.After(retryDelay):
		}
	}
	return nil
}

// write patches an event that repeats, and creates any other, also where the earlier one is
// gone.
func (r *Recorder) write(next *record.EventCorrelateResult) (*v1.Event, error) {
	if next.Event.Count > 1 {
		written, err := r.sink.Patch(next.Event, next.Patch)
		if !apierrors.IsNotFound(err) {
			return written, err
		}
	}
	next.Event.ResourceVersion = ""
	return r.sink.Create(next.Event)
}
