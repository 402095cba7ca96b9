package replay

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// machine is a simulator with the state of a replay.
type machine struct {
	octavia  *octavia.Octavia
	handler  http.Handler
	clock    *ticking
	patterns patterns
	ids      map[string]string // recorded IDs and addresses to ours
	next     *planned
	site     *site  // nil for a sequence
	asked    string // what the request under way names, as recorded
}

// ticking is a clock that stands still but for a tick at each look, so that
// objects made one after another have an order.
type ticking struct{ *clocktesting.FakeClock }

func (c ticking) Now() time.Time {
	c.Step(time.Microsecond)
	return c.FakeClock.Now()
}

// step sends one request and returns the difference of its answer, or performs an
// event. checked is set if an answer was compared.
func (m *machine) step(recording Recording, step Step, rest []Step) (what string, checked bool) {
	if step.Event != "" {
		if err := m.happen(step); err != nil {
			return fmt.Sprintf("event %s: %v", step.Event, err), false
		}
		return "", false
	}
	if m.site != nil {
		if err := m.site.prepare(m, step, rest); err != nil {
			return fmt.Sprintf("before %s %s: %v", step.Method, step.Path, err), false
		}
	}
	m.next.set(plannedIDs(step))
	if m.site != nil {
		m.next.expect(m.ids, step, rest)
	}
	m.asked = step.Path + step.Body
	got := m.send(step)
	m.next.set(nil)
	asked := fmt.Sprintf("%s %s %.300s: ", step.Method, step.Path, step.Body)
	if got.Code != step.Status {
		return fmt.Sprintf("%sstatus %d, recorded %d: %.500s, recorded %.500s", asked, got.Code, step.Status, got.Body, step.Response), true
	}
	if exception, is := excepted(recording, step); is && exception.StatusOnly {
		return "", true
	}
	if step.Method == http.MethodHead {
		got.Body.Reset() // which the HTTP server does for a real one
	}
	if diff := m.compare(step, got); diff != "" {
		return asked + diff, true
	}
	if gotType, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";"); gotType != step.ContentType {
		return fmt.Sprintf("%scontent type %q, recorded %q", asked, gotType, step.ContentType), true
	}
	return "", true
}

func (m *machine) send(step Step) (answer *httptest.ResponseRecorder) {
	target := strings.ReplaceAll(m.translate(step.Path), " ", "%20")
	request := httptest.NewRequestWithContext(context.Background(), step.Method, target, strings.NewReader(m.translate(step.Body)))
	request.Host = m.host(step)
	if m.site != nil {
		request.Header.Set("Accept", "application/json")
	}
	for key, value := range step.Header {
		request.Header.Set(key, value)
	}
	answer = httptest.NewRecorder()
	caller, known := m.caller(step)
	if !known {
		m.site.refusal(answer, request)
		return answer
	}
	defer func() {
		// A panic is a mismatch of one request, as it is in an HTTP server.
		if cause := recover(); cause != nil {
			answer = httptest.NewRecorder()
			answer.Code = 0
			_, _ = fmt.Fprintf(answer, "panic: %v", cause)
		}
	}()
	m.handler.ServeHTTP(answer, request.WithContext(keystone.WithCaller(request.Context(), caller)))
	return answer
}

// host is where the recording was made, as its links say.
func (m *machine) host(step Step) string {
	_, after, found := strings.Cut(step.Response, `"href": "http://`)
	if host, _, is := strings.Cut(after, "/"); found && is {
		return host
	}
	return "localhost"
}
