package eventqueue

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// maxOfOthers is how many events of others may wait, of about a KiB and a half each.
const maxOfOthers = 4_000

// Sink implements record.EventSink for a broadcaster of client-go: what that writes waits here, and
// does not fill its own queue. It counts events that repeat itself. The methods may be called from
// many goroutines, do not block, and return the event that was given, and no error.
type Sink struct{ queue *queue }

var _ record.EventSink = (*Sink)(nil)

// NewSink returns a Sink that passes events on. Run writes them.
func NewSink(to record.EventSink, clk clock.Clock) *Sink {
	return &Sink{newQueue(to, maxOfOthers, clk)}
}

// Run writes events as that of a Recorder does.
func (s *Sink) Run(ctx context.Context, ending <-chan struct{}) { s.queue.run(ctx, ending) }

// Create implements record.EventSink.
func (s *Sink) Create(event *v1.Event) (*v1.Event, error) { return s.Patch(event, nil) }

// Update implements record.EventSink.
func (s *Sink) Update(event *v1.Event) (*v1.Event, error) { return s.Patch(event, nil) }

// Patch implements record.EventSink.
func (s *Sink) Patch(event *v1.Event, patch []byte) (*v1.Event, error) {
	written := *event // the broadcaster keeps that one
	s.queue.add(event.InvolvedObject.UID, func(ctx context.Context) {
		s.queue.insist(ctx, &record.EventCorrelateResult{Event: &written, Patch: patch})
	})
	return event, nil
}
