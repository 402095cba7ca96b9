package main

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
	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// fakeSink is a slow sink.
type fakeSink struct {
	mu      sync.Mutex
	created []*v1.Event
	patched int
	// fail, when set, is called first.
	fail func() error
	// gone is set if there are no events to patch.
	gone bool
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
	if s.gone {
		return nil, apierrors.NewNotFound(v1.Resource("events"), event.Name)
	}
	return event, nil
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

// recording calls a test with a recorder, in a bubble of testing/synctest. A queue writes its events
// into a sink. End announces the end of the process.
func recording(t *testing.T, to record.EventSink, test func(r record.EventRecorder, end func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		queue, ending := newEventQueue(to), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { queue.run(ctx, ending) })
		test(newRecorder(ctx, queue, "component"), func() { close(ending) })
		cancel()
		running.Wait()
	})
}

func service(name string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}}
}

// The broadcaster of client-go alone would drop most of these.
func TestEvents_DropsNoneOfThousandsInAMoment(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 8_000 {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
			if i%500 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(10 * time.Minute)
		sink.assert(t, 8_000, 0)
		if first := sink.written()[0]; !strings.HasPrefix(first.Name, first.InvolvedObject.Name+".") || first.Source.Component != "component" || first.Count != 1 {
			t.Errorf("the first event is %+v", first)
		}
	})
}

// Each event that is written alone wakes the program and the API server.
func TestEvents_WritesTheFirstAtOnceAndThoseOfThePauseTogether(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 10 {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
			time.Sleep(30 * time.Millisecond)
		}
		sink.assert(t, 1, 0)
		time.Sleep(50 * time.Millisecond)
		sink.assert(t, 10, 0)
	})
}

func TestEvents_WritesAHundredInASecond(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 900 {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
		}
		time.Sleep(5 * time.Second)
		if got := len(sink.written()); got < 400 || got > 600 {
			t.Errorf("%d events in 5 seconds, want a hundred a second", got)
		}
	})
}

// The process ends a moment later.
func TestEvents_WritesAllThatWaitsAtTheEnd(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, end func()) {
		reason.Changing.Emit(r, service("web"), "the first")
		time.Sleep(15 * time.Millisecond)
		for i := range 10 * atOnce {
			reason.Changing.Emit(r, service(fmt.Sprint("web-", i)), "a node")
		}
		time.Sleep(writePause / 2)
		sink.assert(t, 1, 0)
		end()
		time.Sleep(105 * time.Millisecond) // each of ten takes ten
		sink.assert(t, 1+10*atOnce, 0)
		reason.Changing.Emit(r, service("web"), "the last")
		time.Sleep(15 * time.Millisecond)
		sink.assert(t, 2+10*atOnce, 0)
	})
}

func TestEvents_WritesThoseOfOneObjectInTheirOrder(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 20 {
			reason.Changing.Emit(r, service("web"), fmt.Sprint(i))
			reason.Changing.Emit(r, service("api"), fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		count := map[string]int{}
		for _, event := range sink.written() {
			name := event.InvolvedObject.Name
			if want := fmt.Sprint(count[name]); event.Message != want {
				t.Errorf("%s: event %s after %s others", name, event.Message, want)
			}
			count[name]++
		}
		sink.assert(t, 40, 0)
	})
}

func TestEvents_CountsOneThatRepeats(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for range 3 {
			r.Eventf(service("web"), v1.EventTypeNormal, "Ready", "%d nodes", 2)
			time.Sleep(2 * time.Second)
		}
		sink.assert(t, 1, 2)
	})
}

// A repeat is created if the API server has deleted the event.
func TestEvents_WritesRepeatAnewIfTheFirstIsGone(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{gone: true}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
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

// Client-go would write 25 of them, and then one every five minutes.
func TestEvents_WritesEachChangeOfAService(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 100 {
			reason.Changing.Emit(r, service("web"), fmt.Sprintf("member node-%d is added", i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		sink.assert(t, 100, 0)
	})
}

// A Service that fails again and again, each time with another text, does not flood the API server.
func TestEvents_LimitsOtherEventsOfAnObject(t *testing.T) {
	t.Parallel()
	sink := &fakeSink{}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		for i := range 100 {
			r.Event(service("web"), v1.EventTypeWarning, "Failed", fmt.Sprint("request ", i))
			r.Event(service("api"), v1.EventTypeWarning, "Failed", "request 1")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		if created := len(sink.written()); created > 25 {
			t.Errorf("%d events, want at most 25", created)
		}
		sink.mu.Lock()
		defer sink.mu.Unlock()
		if all := len(sink.created) + sink.patched; all > 50 {
			t.Errorf("%d writes for two objects, want at most 25 each", all)
		}
	})
}

func TestEvents_RetriesWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	down := 3
	sink := &fakeSink{fail: func() error {
		if down--; down >= 0 {
			return errors.New("connection refused")
		}
		return nil
	}}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		r.Event(service("web"), v1.EventTypeNormal, "Ready", "a node")
		time.Sleep(time.Minute)
		sink.assert(t, 1, 0)
	})
}

func TestEvents_GivesUpWhatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	asked := 0
	sink := &fakeSink{fail: func() error {
		if asked++; asked == 1 {
			return apierrors.NewForbidden(v1.Resource("events"), "web", errors.New("no"))
		}
		return nil
	}}
	recording(t, sink, func(r record.EventRecorder, _ func()) {
		r.Event(service("web"), v1.EventTypeNormal, "Ready", "a node")
		time.Sleep(time.Second)
		r.AnnotatedEventf(service("next"), nil, v1.EventTypeWarning, "Refused", "%s", "why")
		time.Sleep(time.Minute)
		sink.assert(t, 1, 0)
		if asked != 2 {
			t.Errorf("%d requests, want 2", asked)
		}
	})
}

func TestEventQueue_KeepsAtMostSoManyEvents(t *testing.T) {
	t.Parallel()
	queue := newEventQueue(&fakeSink{})
	event := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1"}}
	for range maxWaiting + 5 {
		if kept, err := queue.Create(event); kept != event || err != nil {
			t.Fatalf("got %v, %v", kept, err)
		}
	}
	if dropped := queue.dropped.Load(); len(queue.waiting) != maxWaiting || dropped != 5 {
		t.Errorf("%d events wait, %d are dropped", len(queue.waiting), dropped)
	}
}

// Each change has its own line after it is made.
func TestEvents_LogsAnnouncedChangesOnlyAtHighVerbosity(t *testing.T) {
	t.Parallel()
	level := func(r reason.Reason) int { return int(verbosity(&v1.Event{Reason: string(r)})) }
	if level(reason.Changing) <= 2 || level(reason.Ready) > 0 {
		t.Error("at the verbosity of the manifests, 2, changes are announced, or the ready load balancer is not logged")
	}
}
