package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

const (
	// rememberedEvents is the number of objects and reasons with a remembered last event, so that a
	// repeated one is counted, not written again. Each takes at least a KiB.
	rememberedEvents = 1024
	// maxWaiting is the maximum number of waiting events, of about a KiB each. More are dropped.
	maxWaiting = 10_000
	// atOnce is the number of concurrent writes, with a pause after them: a hundred a second.
	atOnce     = 32
	writePause = 320 * time.Millisecond
	// writeAttempts is the number of attempts while the API server does not answer, with retryDelay
	// in between. The others wait meanwhile.
	writeAttempts = 12
	retryDelay    = 10 * time.Second
)

// newRecorder returns a recorder of the program's events, which never blocks. It logs them, and
// passes them to a sink until the context ends.
func newRecorder(ctx context.Context, to record.EventSink, component string) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		LRUCacheSize: rememberedEvents, KeyFunc: aggregateKey, SpamKeyFunc: spamKey,
	}))
	broadcaster.StartEventWatcher(logEvent)
	broadcaster.StartRecordingToSink(to)
	return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: component})
}

// aggregateKey is the default of client-go, which combines events of an object with the same reason
// after ten. It keeps each change of a Service separate.
func aggregateKey(event *v1.Event) (aggregate, local string) {
	if isChange(event) {
		return event.Name, ""
	}
	return record.EventAggregatorByReasonFunc(event)
}

// spamKey is the default of client-go, which drops most events of an object after 25. It excepts
// the changes of a Service.
func spamKey(event *v1.Event) string {
	if isChange(event) {
		return event.Name
	}
	object := event.InvolvedObject
	return strings.Join([]string{object.Kind, object.Namespace, object.Name, string(object.UID), event.Type}, "/")
}

// isChange reports whether an event announces a change. Each has the summary of another one.
func isChange(event *v1.Event) bool { return event.Reason == string(reason.Changing) }

// logEvent logs an event. It omits announced changes, because each change has a line when it is made.
func logEvent(event *v1.Event) {
	object := event.InvolvedObject
	klog.V(verbosity(event)).InfoS("Event occurred", "object", klog.KRef(object.Namespace, object.Name), "kind", object.Kind,
		"apiVersion", object.APIVersion, "type", event.Type, "reason", event.Reason, "message", event.Message)
}

func verbosity(event *v1.Event) klog.Level {
	if isChange(event) {
		return 3
	}
	return 0
}

// eventQueue implements record.EventSink for broadcasters of client-go. A broadcaster writes one
// event at a time, and drops those beyond a thousand; a change of nodes causes one for each Service.
// The queue has room for these, and writes them concurrently. The methods may be called
// concurrently, do not block, and return the given event, and no error.
type eventQueue struct {
	to      record.EventSink
	waiting chan eventWrite
	dropped atomic.Int64
}

var _ record.EventSink = (*eventQueue)(nil)

// eventWrite creates an event, or patches it if it repeats.
type eventWrite struct {
	event *v1.Event
	patch []byte
}

// newEventQueue returns a queue that passes events on. run writes them.
func newEventQueue(to record.EventSink) *eventQueue {
	return &eventQueue{to: to, waiting: make(chan eventWrite, maxWaiting)}
}

// Create implements record.EventSink.
func (q *eventQueue) Create(event *v1.Event) (*v1.Event, error) { return q.Patch(event, nil) }

// Update implements record.EventSink.
func (q *eventQueue) Update(event *v1.Event) (*v1.Event, error) { return q.Patch(event, nil) }

// Patch implements record.EventSink.
func (q *eventQueue) Patch(event *v1.Event, patch []byte) (*v1.Event, error) {
	written := *event // the broadcaster keeps the event
	select {
	case q.waiting <- eventWrite{&written, patch}:
	default:
		q.dropped.Add(1)
	}
	return event, nil
}

// run writes events until the context ends, and without a pause once ending is closed: those of one
// object in their order, those of different objects concurrently.
func (q *eventQueue) run(ctx context.Context, ending <-chan struct{}) {
	for {
		var first eventWrite
		select {
		case first = <-q.waiting:
		case <-ctx.Done():
			return
		}
		writes := map[types.UID][]eventWrite{first.event.InvolvedObject.UID: {first}}
		for range min(len(q.waiting), atOnce-1) {
			next := <-q.waiting
			writes[next.event.InvolvedObject.UID] = append(writes[next.event.InvolvedObject.UID], next)
		}
		var writing sync.WaitGroup
		for _, ofObject := range writes {
			writing.Go(func() {
				for _, w := range ofObject {
					q.insist(ctx, w)
				}
			})
		}
		writing.Wait()
		if dropped := q.dropped.Swap(0); dropped > 0 {
			klog.FromContext(ctx).Error(nil, "Dropped events: the queue is full", "dropped", dropped, "waiting", len(q.waiting))
		}
		sleep(ending, writePause)
	}
}

// sleep returns after a time, or at the end.
func sleep(end <-chan struct{}, d time.Duration) {
	select {
	case <-end:
	case <-time.After(d):
	}
}

// insist writes an event, with retries while the API server does not answer. It does not retry one
// that the API server refuses.
func (q *eventQueue) insist(ctx context.Context, w eventWrite) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "event", klog.KObj(w.event), "reason", w.event.Reason)
	for range writeAttempts {
		err := q.write(w)
		if err == nil {
			return
		}
		if why := apierrors.ReasonForError(err); why != metav1.StatusReasonUnknown {
			if !apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
				logger.Error(err, "The API server refuses an event")
			}
			return
		}
		logger.Error(err, "Cannot write an event, retrying")
		if sleep(ctx.Done(), retryDelay); ctx.Err() != nil {
			return
		}
	}
}

// write patches a repeated event, and creates any other, also if the earlier one is gone.
func (q *eventQueue) write(w eventWrite) error {
	if len(w.patch) > 0 {
		if _, err := q.to.Patch(w.event, w.patch); !apierrors.IsNotFound(err) {
			return err
		}
	}
	w.event.ResourceVersion = ""
	_, err := q.to.Create(w.event)
	return err
}
