package faults_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// service is a server behind faults that counts the work that is done.
type service struct {
	*faults.Faults
	url    string
	client *http.Client
	done   atomic.Int32
}

func newService(t *testing.T, clock clock.Clock) *service {
	t.Helper()
	s := &service{Faults: faults.New(clock)}
	server := httptest.NewServer(s.Inject(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.done.Add(1)
		_, _ = io.WriteString(w, "done")
	})))
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	return s
}

// send returns the status, 0 when the connection broke, and the body.
func (s *service) send(t *testing.T, method, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestInject_FailsBeforeOrAfterWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule   faults.Rule
		status int
		body   string
		done   int32
	}{
		"refused":               {faults.Rule{Status: 503, Body: "busy"}, 503, "busy", 0},
		"answer lost":           {faults.Rule{Status: 504, AfterWork: true}, 504, "", 1},
		"dropped":               {faults.Rule{Drop: true}, 0, "", 0},
		"dropped after work":    {faults.Rule{Drop: true, AfterWork: true}, 0, "", 1},
		"late":                  {faults.Rule{Delay: time.Microsecond}, 200, "done", 1},
		"other method":          {faults.Rule{Method: "GET", Status: 500}, 200, "done", 1},
		"other route":           {faults.Rule{Route: "/network/**", Status: 500}, 200, "done", 1},
		"nothing to do but see": {faults.Rule{}, 200, "done", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, clock.RealClock{})
			s.Add(c.rule)
			status, body := s.send(t, "POST", "/load-balancer/v2.0/lbaas/loadbalancers")
			if status != c.status || body != c.body || s.done.Load() != c.done {
				t.Errorf("%d %q, work done %d times, want %+v", status, body, s.done.Load(), c)
			}
		})
	}
}

func TestInject_SendsHeadersOfFault(t *testing.T) {
	t.Parallel()
	s := newService(t, clock.RealClock{})
	s.Add(faults.Rule{Status: 429, Header: http.Header{"retry-after": {"7"}}})
	answer := httptest.NewRecorder()
	s.Inject(http.NotFoundHandler()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if answer.Header().Get("Retry-After") != "7" {
		t.Errorf("headers %v", answer.Header())
	}
}

func TestInject_MatchesRoutesByPattern(t *testing.T) {
	t.Parallel()
	for pattern, paths := range map[string]map[string]bool{
		"/a/*":    {"/a/b": true, "/a": false, "/a/b/c": false},
		"/a/**":   {"/a/b": true, "/a/b/c": true, "/b/a": false, "/a": true},
		"/*/x":    {"/a/x": true, "/a/y": false},
		"":        {"/anything/at/all": true},
		"/**":     {"/anything": true, "/": true},
		"/[":      {"/[": false},
		"/a/{id}": {"/a/22222222-2222-4222-8222-222222222222": true, "/a": false},
	} {
		for path, want := range paths {
			s := newService(t, clock.RealClock{})
			s.Add(faults.Rule{Route: pattern, Status: 500})
			status, _ := s.send(t, "GET", path)
			if got := status == 500; got != want {
				t.Errorf("%q matches %q: %v, want %v", pattern, path, got, want)
			}
		}
	}
}

func TestInject_CountsFromWrite(t *testing.T) {
	t.Parallel()
	sent := []struct{ method, path string }{
		{"POST", "/identity/v3/auth/tokens"}, {"GET", "/a"}, {"POST", "/b"}, {"GET", "/a"}, {"GET", "/a"}, {"DELETE", "/b"}, {"GET", "/a"},
	}
	for name, c := range map[string]struct {
		rule faults.Rule
		want []int
	}{
		"second write":              {faults.Rule{FromWrite: 2}, []int{200, 200, 200, 200, 200, 500, 500}},
		"request after first write": {faults.Rule{FromWrite: 1, From: 2, Count: 1}, []int{200, 200, 200, 500, 200, 200, 200}},
		"of another route":          {faults.Rule{FromWrite: 1, Route: "/a"}, []int{200, 200, 200, 500, 500, 200, 500}},
		"fewer writes":              {faults.Rule{FromWrite: 3}, []int{200, 200, 200, 200, 200, 200, 200}},
	} {
		s := newService(t, clock.RealClock{})
		c.rule.Status = 500
		s.Add(c.rule)
		var got []int
		for _, request := range sent {
			status, _ := s.send(t, request.method, request.path)
			got = append(got, status)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestInject_HitsRequestsChosenByFromAndCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, count int
		want        []int
	}{
		"all":        {0, 0, []int{500, 500, 500, 500}},
		"first":      {1, 1, []int{500, 200, 200, 200}},
		"second two": {2, 2, []int{200, 500, 500, 200}},
		"from third": {3, 0, []int{200, 200, 500, 500}},
	} {
		s := newService(t, clock.RealClock{})
		s.Add(faults.Rule{From: c.from, Count: c.count, Status: 500, Method: "GET"})
		failed := 0
		for i, want := range c.want {
			s.send(t, "PUT", "/") // does not match and does not count
			if got, _ := s.send(t, "GET", "/"); got != want {
				t.Errorf("%s: request %d is %d, want %d", name, i+1, got, want)
			}
			if want == 500 {
				failed++
			}
		}
		if got := s.Hits(); got != failed {
			t.Errorf("%s: %d hits, want %d", name, got, failed)
		}
	}
}

func TestInject_FollowsOldestRuleUntilRemoved(t *testing.T) {
	t.Parallel()
	s := newService(t, clock.RealClock{})
	remove := s.Add(faults.Rule{Status: 500})
	s.Add(faults.Rule{Status: 503})
	steps := []struct {
		do   func()
		want int
	}{{func() {}, 500}, {remove, 503}, {s.Clear, 200}}
	for i, step := range steps {
		step.do()
		if got, _ := s.send(t, "GET", "/"); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
}

func TestInject_DelaysByClock(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newService(t, fake)
	s.Add(faults.Rule{Delay: time.Hour})
	answered := make(chan int)
	go func() {
		status, _ := s.send(t, "GET", "/")
		answered <- status
	}()
	for !fake.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	select {
	case status := <-answered:
		t.Fatalf("%d before the time", status)
	default:
	}
	fake.Step(time.Hour)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}

func TestInject_TellsWhenRequestFails(t *testing.T) {
	t.Parallel()
	for _, afterWork := range []bool{false, true} {
		work, then := 0, -1
		faulty := faults.New(clock.RealClock{})
		faulty.Add(faults.Rule{Status: http.StatusServiceUnavailable, AfterWork: afterWork, Count: 1, Then: func() { then = work }})
		handler := faulty.Inject(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { work++ }))
		for range 2 {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/v2/things", http.NoBody))
		}
		if want := map[bool]int{true: 1}[afterWork]; then != want {
			t.Errorf("after work %v: told after %d requests, want %d", afterWork, then, want)
		}
	}
}
