package eventqueue

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// atOnce is the number of concurrent writes, and perSecond the limit of writes. An event that
	// is written alone wakes two processes: 32 together take a third of the CPU time.
	atOnce, perSecond = 32, 100
	// collect is how long events wait after the first: those of a change of nodes come when the CPU
	// is busy.
	collect = time.Second
	// retries is the number of attempts while the API server does not answer, with retryDelay in
	// between. The others wait meanwhile.
	retries    = 12
	retryDelay = 10 * time.Second
)

// queue writes events in order, those of different objects concurrently.
type queue struct {
	sink  record.EventSink
	clock clock.Clock
	limit int

	mu      sync.Mutex
	waiting []task
	dropped int
	// more has a value while events wait.
	more chan struct{}
}

// task writes an event of an object.
type task struct {
	object types.UID
	write  func(context.Context)
}

func newQueue(sink record.EventSink, limit int, clk clock.Clock) *queue {
	return &queue{sink: sink, clock: clk, limit: limit, more: make(chan struct{}, 1)}
}

// add queues an event of an object, unless the queue is full.
func (q *queue) add(object types.UID, write func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.limit {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, task{object, write})
	q.signal()
}

// signal reports that an event waits.
func (q *queue) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// next takes the oldest events from the queue, those of one object in order.
func (q *queue) next(ctx context.Context) (all [][]task, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped > 0 {
		klog.FromContext(ctx).Error(nil, "Dropped events: the queue is full", "dropped", q.dropped, "waiting", len(q.waiting))
		q.dropped = 0
	}
	n = min(len(q.waiting), atOnce)
	for _, t := range q.waiting[:n] {
		if at := slices.IndexFunc(all, func(of []task) bool { return of[0].object == t.object }); at >= 0 {
			all[at] = append(all[at], t)
		} else {
			all = append(all, []task{t})
		}
	}
	clear(q.waiting[:n])
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil
	} else {
		q.signal()
	}
	return all, n
}

// run writes events until the context ends, and without a pause once ending is closed.
func (q *queue) run(ctx context.Context, ending <-chan struct{}) {
	for {
		select {
		case <-q.more:
		case <-ctx.Done():
			return
		}
		all, n := q.next(ctx)
		writeTogether(ctx, all)
		switch n {
		case 0:
		case atOnce:
			q.sleep(ending, atOnce*time.Second/perSecond)
		default: // all of the waiting events
			q.sleep(ending, collect)
		}
	}
}

// writeTogether writes events of different objects concurrently.
func writeTogether(ctx context.Context, all [][]task) {
	var writing sync.WaitGroup
	for _, tasks := range all {
		writing.Go(func() {
			for _, t := range tasks {
				t.write(ctx)
			}
		})
	}
	writing.Wait()
}

// sleep returns after a time, or at the end.
func (q *queue) sleep(end <-chan struct{}, d time.Duration) {
	select {
	case <-end:
	case <-q.clock.After(d):
	}
}

// insist writes an event, with retries while the API server does not answer, and returns the stored
// one; nil if there is none. It does not retry one that the API server refuses.
func (q *queue) insist(ctx context.Context, next *record.EventCorrelateResult) *v1.Event {
	for range retries {
		written, err := q.write(next)
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
		logger.Error(err, "Cannot write an event, retrying")
		q.sleep(ctx.Done(), retryDelay)
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// write patches a repeated event, and creates any other, also if the earlier one is gone.
func (q *queue) write(next *record.EventCorrelateResult) (*v1.Event, error) {
	if len(next.Patch) > 0 {
		written, err := q.sink.Patch(next.Event, next.Patch)
		if !apierrors.IsNotFound(err) {
			return written, err
		}
	}
	next.Event.ResourceVersion = ""
	return q.sink.Create(next.Event)
}
