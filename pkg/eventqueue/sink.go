package eventqueue

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// maxOfOthers is the maximum number of waiting events of others, of about 1.5 KiB each.
const maxOfOthers = 4_000

// Sink implements record.EventSink for a broadcaster of client-go: its events wait here, and do not
// fill its own queue. The broadcaster counts repeated events itself. The methods may be called
// concurrently, do not block, and return the given event, and no error.
type Sink struct{ queue *queue }

var _ record.EventSink = (*Sink)(nil)

// NewSink returns a Sink that passes events on. Run writes them.
func NewSink(to record.EventSink, clk clock.Clock) *Sink {
	return &Sink{newQueue(to, maxOfOthers, clk)}
}

// Run writes events like that of a Recorder.
func (s *Sink) Run(ctx context.Context, ending <-chan struct{}) { s.queue.run(ctx, ending) }

// Create implements record.EventSink.
func (s *Sink) Create(event *v1.Event) (*v1.Event, error) { return s.Patch(event, nil) }

// Update implements record.EventSink.
func (s *Sink) Update(event *v1.Event) (*v1.Event, error) { return s.Patch(event, nil) }

// Patch implements record.EventSink.
func (s *Sink) Patch(event *v1.Event, patch []byte) (*v1.Event, error) {
	written := *event // the broadcaster keeps the event
	s.queue.add(event.InvolvedObject.UID, func(ctx context.Context) {
		s.queue.insist(ctx, &record.EventCorrelateResult{Event: &written, Patch: patch})
	})
	return event, nil
}
