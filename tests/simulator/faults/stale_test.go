package faults_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// shelf is a service of objects with a value and timestamps like those of OpenStack.
type shelf struct {
	clock *clocktesting.FakeClock

	mu     sync.Mutex
	things map[string]map[string]any
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now().UTC().Format("2006-01-02T15:04:05")
	_, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/things"), "/")
	thing, known := s.things[id]
	switch {
	case r.Method == http.MethodPost:
		s.things["a"] = map[string]any{"id": "a", "value": "1", "created_at": now, "updated_at": nil}
	case id == "":
		list := []any{}
		for _, thing := range s.things {
			list = append(list, thing)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"things": list})
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPut:
		thing["value"], thing["updated_at"] = r.URL.Query().Get("value"), now
	case r.Method == http.MethodDelete:
		delete(s.things, id)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"thing": thing})
	}
}

// lagging is a shelf with GETs that return the state of two seconds ago.
type lagging struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	*service
}

func newLagging(t *testing.T, rule faults.Rule) *lagging {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC))
	s := &service{Faults: faults.New(fake)}
	server := httptest.NewServer(s.Inject(&shelf{clock: fake, things: map[string]map[string]any{}}))
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	s.Add(rule)
	return &lagging{t: t, clock: fake, service: s}
}

func (l *lagging) sees(when, path string, status int, text string) {
	l.t.Helper()
	got, body := l.send(l.t, http.MethodGet, path)
	if got != status || !strings.Contains(body, text) {
		l.t.Errorf("%s: %s answered %d %s, want %d %s", when, path, got, body, status, text)
	}
}

func TestInject_ShowsFormerStateOfLaggingReplica(t *testing.T) {
	t.Parallel()
	l := newLagging(t, faults.Rule{Method: http.MethodGet, Route: "/v2/things/**", Lag: 2 * time.Second})
	l.sees("before all", "/v2/things/a", 404, "")
	l.clock.Step(time.Minute)
	l.send(t, http.MethodPost, "/v2/things")
	l.clock.Step(time.Second)
	l.sees("just made", "/v2/things/a", 404, "")
	l.clock.Step(2 * time.Second)
	l.sees("made", "/v2/things/a", 200, `"value":"1"`)
	l.clock.Step(time.Minute)
	l.send(t, http.MethodPut, "/v2/things/a?value=2")
	l.clock.Step(time.Second)
	l.sees("just changed", "/v2/things/a", 200, `"value":"1"`)
	l.clock.Step(2 * time.Second)
	l.sees("changed", "/v2/things/a", 200, `"value":"2"`)
	l.clock.Step(time.Minute)
	l.send(t, http.MethodDelete, "/v2/things/a")
	l.clock.Step(time.Second)
	l.sees("just deleted", "/v2/things/a", 200, `"value":"2"`)
	l.clock.Step(2 * time.Second)
	l.sees("deleted", "/v2/things/a", 404, "")
}

func TestInject_HidesWhatLaggingReplicaNeverSaw(t *testing.T) {
	t.Parallel()
	l := newLagging(t, faults.Rule{Route: "/v2/**", Lag: 2 * time.Second})
	l.send(t, http.MethodPost, "/v2/things")
	l.sees("just made", "/v2/things?all=1", 200, `"things":[]`)
	l.sees("just made", "/v2/things/a?all=1", 404, "")
	l.clock.Step(3 * time.Second)
	l.sees("made", "/v2/things?all=1", 200, `"value":"1"`)
}

func TestInject_SkewsClocksOfServices(t *testing.T) {
	t.Parallel()
	l := newLagging(t, faults.Rule{Method: http.MethodGet, Skew: -time.Hour})
	l.send(t, http.MethodPost, "/v2/things")
	l.sees("made at 18:00", "/v2/things/a", 200, fmt.Sprintf("%q", "2026-11-20T17:00:00"))
}

func TestInject_TellsOnceWhatWasToldBefore(t *testing.T) {
	t.Parallel()
	l := newLagging(t, faults.Rule{Method: http.MethodGet, Route: "/v2/**", From: 3, Count: 1, Lag: 2 * time.Second})
	l.send(t, http.MethodPost, "/v2/things")
	l.clock.Step(time.Minute)
	l.sees("made", "/v2/things?all=1", 200, `"value":"1"`)
	l.send(t, http.MethodPut, "/v2/things/a?value=2")
	l.sees("changed", "/v2/things?all=1", 200, `"value":"2"`)
	l.clock.Step(time.Second)
	l.sees("the third time", "/v2/things?all=1", 200, `"value":"1"`)
	l.sees("the fourth time", "/v2/things?all=1", 200, `"value":"2"`)
}
