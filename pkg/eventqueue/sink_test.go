package eventqueue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// runSink calls a test with a broadcaster of client-go that writes into a Sink.
func runSink(t *testing.T, to record.EventSink, test func(record.EventRecorder)) {
	t.Helper()
	whileRunning(t, func() *Sink { return NewSink(to, clock.RealClock{}) }, func(s *Sink, _ func()) {
		broadcaster := record.NewBroadcaster()
		watch := broadcaster.StartRecordingToSink(s)
		test(broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "other"}))
		watch.Stop()
		broadcaster.Shutdown()
	})
}

// A broadcaster has room for a thousand, and each takes ten milliseconds.
func TestSink_KeepsBroadcasterFromDroppingEvents(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	runSink(t, sink, func(r record.EventRecorder) {
		for i := range 3000 {
			r.Event(service(fmt.Sprint("web-", i)), v1.EventTypeNormal, "Ensuring", "begin")
			if i%500 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Minute)
		sink.assert(t, 3000, 0)
	})
}

// A repeat that the broadcaster counts is created if the API server has deleted the event.
func TestSink_WritesRepeatAnewWhoseFirstIsGone(t *testing.T) {
	t.Parallel()
	sink := &goneSink{}
	runSink(t, sink, func(r record.EventRecorder) {
		for range 2 {
			r.Event(service("web"), v1.EventTypeNormal, "Ensuring", "begin")
			time.Sleep(2 * time.Second)
		}
		sink.assert(t, 2, 1)
		if again := sink.written()[1]; again.Count != 2 || again.ResourceVersion != "" {
			t.Errorf("the repeat is %+v", again)
		}
	})
}

// goneSink has no events to patch.
type goneSink struct{ fakeSink }

func (s *goneSink) Patch(event *v1.Event, patch []byte) (*v1.Event, error) {
	_, _ = s.fakeSink.Patch(event, patch)
	return nil, apierrors.NewNotFound(v1.Resource("events"), event.Name)
}

func TestSink_TriesAgainWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	down := 3
	sink := &fakeSink{fail: func() error {
		if down--; down >= 0 {
			return errors.New("connection refused")
		}
		return nil
	}}
	runSink(t, sink, func(r record.EventRecorder) {
		r.Event(service("web"), v1.EventTypeNormal, "Ensuring", "begin")
		time.Sleep(time.Minute)
		sink.assert(t, 1, 0)
	})
}

func TestSink_KeepsAtMostSoManyEvents(t *testing.T) {
	t.Parallel()
	s := NewSink(&fakeSink{}, clock.RealClock{})
	event := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1"}}
	for range maxOfOthers + 5 {
		if kept, err := s.Create(event); kept != event || err != nil {
			t.Fatalf("got %v, %v", kept, err)
		}
	}
	if len(s.queue.waiting) != maxOfOthers || s.queue.dropped != 5 {
		t.Errorf("%d events wait, %d are dropped", len(s.queue.waiting), s.queue.dropped)
	}
}
