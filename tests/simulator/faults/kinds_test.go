package faults_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// get sends a GET and returns the answer and its body.
func (s *service) get(t *testing.T, path string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), err
}

func TestKinds_SpeakLikeServiceBehindRoute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, path, says string
		status           int
	}{
		{"unauthorized", "/network/v2.0/ports", "requires authentication", 401},
		{"forbidden", "/load-balancer/v2.0/lbaas/loadbalancers", `"faultcode":"Client"`, 403},
		{"not-found", "/compute/v2.1/servers/x", "itemNotFound", 404},
		{"conflict", "/load-balancer/v2.0/lbaas/loadbalancers/x", "Load Balancer x is immutable", 409},
		{"too-large", "/load-balancer/v2.0/lbaas/pools", "413 Request Entity Too Large", 413},
		{"too-many", "/compute/v2.1/servers", "overLimit", 429},
		{"internal-error", "/load-balancer/v2.0/lbaas/pools", "pymysql", 500},
		{"internal-error", "/identity/v3/auth/tokens", `"title":"Internal Server Error"`, 500},
		{"bad-gateway", "/network/v2.0/ports", "<h1>502 Bad Gateway</h1>", 502},
		{"unavailable", "/network/v2.0/ports", "<h1>503 Service Unavailable</h1>", 503},
		{"gateway-timeout-after-work", "/network/v2.0/ports", "<h1>504 Gateway Time-out</h1>", 504},
	} {
		s := newService(t, clock.RealClock{})
		rule := faults.Kinds()[c.kind]
		s.Add(rule)
		answer, text, err := s.get(t, c.path)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s of %s: %d %q", c.kind, c.path, answer.StatusCode, text)
		}
		if done := s.done.Load() == 1; done != rule.AfterWork {
			t.Errorf("%s: the work was done: %v", c.kind, done)
		}
		if c.status == 429 && answer.Header.Get("Retry-After") == "" {
			t.Error("a 429 does not say when to try again")
		}
	}
}

func TestKinds_ResetConnectionsOfClients(t *testing.T) {
	t.Parallel()
	for kind, done := range map[string]int32{"reset": 0, "reset-during-work": 1, "reset-after-work": 1} {
		s := newService(t, clock.RealClock{})
		s.Add(faults.Kinds()[kind])
		// The client does not retry POSTs.
		answer, err := s.client.Post(s.url+"/", "text/plain", strings.NewReader("x"))
		if err == nil {
			_ = answer.Body.Close()
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the client saw %v", kind, err)
		}
		await.Condition(t, "the request ends at the service too", func() bool { return s.done.Load() == done })
	}
}

func TestInject_CutsAnswersShort(t *testing.T) {
	t.Parallel()
	s := newService(t, clock.RealClock{})
	s.Add(faults.Rule{CutAfter: 2})
	answer, text, err := s.get(t, "/")
	if !errors.Is(err, io.ErrUnexpectedEOF) || text != "do" || answer.StatusCode != http.StatusOK {
		t.Errorf("got %q %v", text, err)
	}
}

func TestInject_SendsSlowAnswersWhole(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faults.Rule{
		"headers": {AnswerDelay: time.Minute}, "body": {BodyDelay: time.Minute}, "both": {AnswerDelay: time.Second, BodyDelay: time.Second},
	} {
		fake := clocktesting.NewFakeClock(time.Unix(0, 0))
		s := newService(t, fake)
		s.Add(rule)
		ended := make(chan string)
		go func() {
			_, text, err := s.get(t, "/")
			if err != nil {
				text = err.Error()
			}
			ended <- text
		}()
		text := ""
		await.Condition(t, "the request ends", func() bool {
			fake.Step(time.Second)
			select {
			case text = <-ended:
				return true
			default:
				return false
			}
		})
		if waited := fake.Now().Unix(); text != "done" || name != "both" && waited < 60 {
			t.Errorf("slow %s: %q after %d s", name, text, waited)
		}
	}
}

func TestInject_FailsSameRequestsForSameSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		s := newService(t, clock.RealClock{})
		s.Add(faults.Rule{Status: 500, Probability: 0.5, Seed: seed})
		pattern := ""
		for range 40 {
			answer, _, err := s.get(t, "/")
			if err != nil {
				t.Fatal(err)
			}
			pattern += map[int]string{200: ".", 500: "x"}[answer.StatusCode]
		}
		return pattern
	}
	first, again, other := run(1), run(1), run(2)
	if first != again || first == other {
		t.Errorf("seed 1 %s and %s, seed 2 %s", first, again, other)
	}
	if hits := strings.Count(first, "x"); hits < 8 || hits > 32 {
		t.Errorf("%d of 40 failed: %s", hits, first)
	}
}

func TestFaults_AreListedAndRemovedByTheirID(t *testing.T) {
	t.Parallel()
	s := newService(t, clock.RealClock{})
	ended := 0
	standing := s.Stand("subnet exhausted", func() { ended++ })
	failing := s.Plant(faults.Rule{Status: 500})
	if status, _ := s.send(t, http.MethodGet, "/"); status != 500 {
		t.Errorf("answered %d", status)
	}
	list := s.List()
	if len(list) != 2 || list[0].Condition != "subnet exhausted" || list[1].ID != failing || list[1].Hits != 1 {
		t.Errorf("list is %+v", list)
	}
	if !s.Remove(failing) || s.Remove(failing) {
		t.Error("a fault was not removed exactly once")
	}
	if status, _ := s.send(t, http.MethodGet, "/"); status != 200 {
		t.Errorf("answered %d after the removal", status)
	}
	s.Clear()
	if s.Remove(standing) || ended != 1 || len(s.List()) != 0 {
		t.Errorf("the condition ended %d times; left is %+v", ended, s.List())
	}
}

func TestInject_AddsLatencyByRoute(t *testing.T) {
	t.Parallel()
	fake := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newService(t, fake)
	s.SetLatencies(1, faults.Latency{Route: "/slow/**", Min: time.Second, Max: 3 * time.Second})
	if status, _ := s.send(t, http.MethodGet, "/fast/x"); status != 200 {
		t.Errorf("answered %d", status)
	}
	ended := make(chan int)
	go func() {
		status, _ := s.send(t, http.MethodGet, "/slow/x")
		ended <- status
	}()
	await.Condition(t, "a request waits", fake.HasWaiters)
	fake.Step(3 * time.Second)
	if status := <-ended; status != 200 {
		t.Errorf("answered %d", status)
	}
}
