package eventqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// fakeSink is a slow sink.
type fakeSink struct {
	mu      sync.Mutex
	created []*v1.Event
	patched int
	// fail, when set, is called first.
	fail func() error
}

func (s *fakeSink) Create(event *v1.Event) (*v1.Event, error) {
	time.Sleep(10 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return nil, err
		}
	}
	s.created = append(s.created, event)
	return event, nil
}

func (s *fakeSink) Update(event *v1.Event) (*v1.Event, error) { return event, nil }

func (s *fakeSink) Patch(event *v1.Event, _ []byte) (*v1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patched++
	return event, nil
}

// whileRunning calls a test while a queue writes events, in a bubble of testing/synctest. End
// announces the end of the process.
func whileRunning[Q interface {
	Run(ctx context.Context, ending <-chan struct{})
}](t *testing.T, start func() Q, test func(q Q, end func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q, ending := start(), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { q.Run(ctx, ending) })
		test(q, func() { close(ending) })
		cancel()
		running.Wait()
	})
}

// runToEnd calls a test with a Recorder that writes into a sink.
func runToEnd(t *testing.T, sink *fakeSink, test func(r *Recorder, end func())) {
	t.Helper()
	whileRunning(t, func() *Recorder { return New(sink, "component", clock.RealClock{}) }, test)
}

// run is runToEnd without an end.
func run(t *testing.T, sink *fakeSink, test func(*Recorder)) {
	t.Helper()
	runToEnd(t, sink, func(r *Recorder, _ func()) { test(r) })
}

func service(name string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}}
}

// written returns the events that were created.
func (s *fakeSink) written() []*v1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.created)
}

func (s *fakeSink) assert(t *testing.T, created, patched int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.created) != created || s.patched != patched {
		t.Errorf("%d events created and %d patched, want %d and %d", len(s.created), s.patched, created, patched)
	}
}

// The broadcaster of client-go would drop most of these.
func TestRecorder_DropsNoneOfTenThousandEventsAtOnce(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for i := range 10_000 {
			r.Event(service(fmt.Sprint("web-", i)), v1.EventTypeNormal, "Changing", "a node")
		}
		time.Sleep(10 * time.Minute)
		sink.assert(t, 10_000, 0)
		if first := sink.written()[0]; !strings.HasPrefix(first.Name, first.InvolvedObject.Name+".") || first.Source.Component != "component" || first.Count != 1 {
			t.Errorf("the first event is %+v", first)
		}
	})
}

// Each event that is written alone wakes the program and the API server.
func TestRecorder_WritesTheFirstEventAtOnceAndThoseOfASecondTogether(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for i := range 10 {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
			time.Sleep(50 * time.Millisecond)
		}
		sink.assert(t, 1, 0)                                               // at once
		time.Sleep(collect - 10*50*time.Millisecond + 25*time.Millisecond) // each of two takes ten
		sink.assert(t, 10, 0)
	})
}

func TestRecorder_WritesAHundredEventsInASecond(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for i := range 10 * perSecond {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
		}
		time.Sleep(5 * time.Second)
		if got := len(sink.written()); got < 4*perSecond || got > 6*perSecond {
			t.Errorf("%d events in 5 seconds, want %d a second", got, perSecond)
		}
	})
}

// The process ends a moment later.
func TestRecorder_WritesAllThatWaitsAtTheEnd(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	runToEnd(t, sink, func(r *Recorder, end func()) {
		reason.Changing.Emit(r, service("web"), "the first")
		time.Sleep(15 * time.Millisecond)
		for i := range 10 * atOnce {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
		}
		time.Sleep(collect / 2)
		sink.assert(t, 1, 0)
		end()
		time.Sleep(105 * time.Millisecond) // each of ten takes ten
		sink.assert(t, 1+10*atOnce, 0)
		reason.Changing.Emit(r, service("web"), "the last")
		time.Sleep(15 * time.Millisecond)
		sink.assert(t, 2+10*atOnce, 0)
	})
}

func TestRecorder_WritesEventsOfOneObjectInTheirOrder(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for i := range 20 {
			reason.Changing.Emit(r, service("web"), fmt.Sprint(i))
			reason.Changing.Emit(r, service("api"), fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		said := map[string]int{}
		for _, event := range sink.written() {
			name := event.InvolvedObject.Name
			if want := fmt.Sprint(said[name]); event.Message != want {
				t.Errorf("%s: event %s after %s others", name, event.Message, want)
			}
			said[name]++
		}
		sink.assert(t, 40, 0)
	})
}

func TestRecorder_KeepsAtMostSoManyEvents(t *testing.T) {
	t.Parallel()
	r := New(&fakeSink{}, "component", clock.RealClock{})
	for range maxQueued + 5 {
		r.Event(service("web"), v1.EventTypeNormal, "Changing", "a node")
	}
	if len(r.queue.waiting) != maxQueued || r.queue.dropped != 5 {
		t.Errorf("%d events wait, %d are dropped", len(r.queue.waiting), r.queue.dropped)
	}
}

func TestRecorder_CountsAnEventThatRepeats(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for range 3 {
			r.Eventf(service("web"), v1.EventTypeNormal, "Changing", "%d nodes", 2)
			time.Sleep(2 * time.Second)
		}
		sink.assert(t, 1, 2)
	})
}

// Client-go would write 25 of them, and then one every five minutes.
func TestRecorder_WritesEachChangeOfAService(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	run(t, sink, func(r *Recorder) {
		for i := range 100 {
			reason.Changing.Emit(r, service("web"), fmt.Sprintf("member node-%d is added", i))
		}
		time.Sleep(time.Minute)
		sink.assert(t, 100, 0)
	})
}

func TestRecorder_RetriesWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	down := 3
	sink := &fakeSink{fail: func() error {
		if down--; down >= 0 {
			return errors.New("connection refused")
		}
		return nil
	}}
	run(t, sink, func(r *Recorder) {
		r.Event(service("web"), v1.EventTypeNormal, "Changing", "a node")
		time.Sleep(time.Minute)
		sink.assert(t, 1, 0)
	})
}

func TestRecorder_GivesUpWhatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	asked := 0
	sink := &fakeSink{fail: func() error {
		if asked++; asked == 1 {
			return apierrors.NewForbidden(v1.Resource("events"), "web", errors.New("no"))
		}
		return nil
	}}
	run(t, sink, func(r *Recorder) {
		r.Event(service("web"), v1.EventTypeNormal, "Changing", "a node")
		r.AnnotatedEventf(service("next"), nil, v1.EventTypeWarning, "Refused", "%s", "why")
		time.Sleep(time.Minute)
		sink.assert(t, 1, 0)
		if asked != 2 {
			t.Errorf("%d requests, want 2", asked)
		}
	})
}

// Each change has its own line after it is made.
func TestRecorder_LogsWhatIsBeingChangedOnlyWhereAllIsLogged(t *testing.T) {
	t.Parallel()
	if verbosity(isChange(string(reason.Changing))) <= 2 || verbosity(isChange(string(reason.Ready))) > 0 {
		t.Error("at the verbosity of the manifests, 2, changes are announced, or the ready load balancer is not logged")
	}
}
