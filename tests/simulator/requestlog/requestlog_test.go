package requestlog_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const (
	lb       = "11111111-1111-4111-8111-111111111111"
	pool     = "22222222-2222-4222-8222-222222222222"
	stranger = "33333333-3333-4333-8333-333333333333"
	lbaas    = "/load-balancer/v2.0/lbaas/"
)

// answering serves every request with the same status and text.
func answering(status int, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

func resolve(kind, id string) string {
	if kind == "pools" && id == pool {
		return lb
	}
	return ""
}

// booked sends one request through a new log and returns the entry.
func booked(t *testing.T, method, path, body string, next http.Handler) requestlog.Request {
	t.Helper()
	kept := requestlog.New(resolve)
	func() {
		defer func() { _ = recover() }() // what a server does with http.ErrAbortHandler
		kept.Record(next).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body)))
	}()
	all := kept.Requests()
	if len(all) != 1 {
		t.Fatalf("%d entries", len(all))
	}
	return all[0]
}

func TestLog_RecordsRequestAndAnswer(t *testing.T) {
	t.Parallel()
	got := booked(t, "PUT", lbaas+"pools/"+pool+"/members?additive_only=true", "12345", answering(202, ""))
	want := requestlog.Request{
		Method: "PUT", Route: lbaas + "pools/{id}/members", Path: lbaas + "pools/" + pool + "/members?additive_only=true",
		Status: 202, LoadBalancerID: lb, RequestBytes: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLog_AssignsRequestsToTheirLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		status       int
		answer, want string
	}{
		"by its own path":        {"GET", "loadbalancers/" + lb + "/status", 404, "", lb},
		"by a child's path":      {"GET", "pools/" + pool, 200, "", lb},
		"created":                {"POST", "loadbalancers", 201, `{"loadbalancer":{"id":"` + lb + `"}}`, lb},
		"created child":          {"POST", "listeners", 201, `{"listener":{"id":"x","loadbalancers":[{"id":"` + lb + `"}]}}`, lb},
		"created grandchild":     {"POST", "healthmonitors", 201, `{"healthmonitor":{"id":"x","pools":[{"id":"` + pool + `"}]}}`, lb},
		"refused":                {"POST", "loadbalancers", 409, `{"loadbalancer":{"id":"` + lb + `"}}`, ""},
		"answer that is no JSON": {"POST", "loadbalancers", 201, `no JSON`, ""},
		"unknown child":          {"GET", "pools/" + stranger, 404, "", ""},
		"list":                   {"GET", "loadbalancers", 200, "{}", ""},
	} {
		got := booked(t, c.method, lbaas+c.path, "", answering(c.status, c.answer))
		if got.LoadBalancerID != c.want {
			t.Errorf("%s: load balancer %q, want %q", name, got.LoadBalancerID, c.want)
		}
		if got.Bytes != len(c.answer) {
			t.Errorf("%s: %d bytes, want %d", name, got.Bytes, len(c.answer))
		}
	}
}

func TestLog_RecordsClosedConnectionAsStatus0(t *testing.T) {
	t.Parallel()
	got := booked(t, "POST", lbaas+"loadbalancers", "", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	if got.Status != 0 {
		t.Errorf("status %d", got.Status)
	}
}

func TestLog_HasRequestWhenClientSeesItsEnd(t *testing.T) {
	t.Parallel()
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	for name, c := range map[string]struct {
		status int
		end    func(http.ResponseWriter)
	}{
		"connection closed": {0, func(w http.ResponseWriter) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_ = connection.Close()
		}},
		"all of the body sent": {http.StatusOK, func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "done")
			flush(w)
		}},
		"header without a body": {http.StatusNoContent, func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNoContent)
			flush(w)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, seen := requestlog.New(nil), make(chan bool)
			server := httptest.NewServer(kept.Record(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c.end(w)
				<-seen // the handler has not ended when the client looks
			})))
			defer server.Close()
			defer close(seen)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := server.Client().Do(request); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			if all := kept.Requests(); len(all) != 1 || all[0].Status != c.status {
				t.Errorf("booked %+v", all)
			}
		})
	}
}

func TestRoute_HidesIDs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/network/v2.0/floatingips/" + lb:                   "/network/v2.0/floatingips/{id}",
		lbaas + "quotas/0123456789abcdef0123456789abcdef":   lbaas + "quotas/{id}",
		lbaas + "pools/" + pool + "/members/" + lb + "?a=b": lbaas + "pools/{id}/members/{id}",
		"/identity/v3/auth/tokens":                          "/identity/v3/auth/tokens",
		lbaas + "loadbalancers/not-a-uuid":                  lbaas + "loadbalancers/not-a-uuid",
	} {
		if got := requestlog.Route(path); got != want {
			t.Errorf("Route(%s) = %s, want %s", path, got, want)
		}
	}
}

func TestLog_FiltersAndCountsRequests(t *testing.T) {
	t.Parallel()
	kept := requestlog.New(resolve)
	serve := kept.Record(answering(200, "x"))
	for _, request := range []struct{ method, path string }{
		{"POST", "/identity/v3/auth/tokens"},
		{"GET", lbaas + "loadbalancers/" + lb},
		{"GET", lbaas + "loadbalancers/" + stranger},
		{"DELETE", lbaas + "pools/" + pool},
		{"PUT", "/network/v2.0/ports/" + pool},
	} {
		serve.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(request.method, request.path, nil))
	}
	for name, c := range map[string]struct {
		got  int
		want int
	}{
		"all":                {len(kept.Requests()), 5},
		"writes, no sign-in": {len(kept.Requests(requestlog.Writes())), 2},
		"reads":              {len(kept.Requests(requestlog.Reads())), 2},
		"of a service":       {len(kept.Requests(requestlog.Under("/network"))), 1},
		"of a load balancer": {len(kept.Requests(requestlog.LoadBalancer(lb))), 2},
		"both filters":       {len(kept.Requests(requestlog.LoadBalancer(lb), requestlog.Writes())), 1},
		"by route":           {kept.Count("GET", lbaas+"loadbalancers/{id}"), 2},
		"by path":            {kept.Count("GET", lbaas+"loadbalancers/"+stranger), 2},
		"of another method":  {kept.Count("PUT", lbaas+"loadbalancers/{id}"), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	kept.Reset()
	if left := kept.Requests(); len(left) != 0 {
		t.Errorf("after Reset: %v", left)
	}
}

func TestLog_CountsCyclesPerLoadBalancer(t *testing.T) {
	t.Parallel()
	kept := requestlog.New(nil)
	var counters sync.WaitGroup
	for range 10 {
		counters.Go(func() { kept.CountCycle(lb); kept.CountCycle(stranger) })
	}
	counters.Wait()
	if kept.PendingCycles(lb) != 10 || kept.TotalCycles() != 20 || kept.PendingCycles(pool) != 0 {
		t.Errorf("cycles %d of %d", kept.PendingCycles(lb), kept.TotalCycles())
	}
	kept.Reset()
	if kept.TotalCycles() != 0 {
		t.Error("cycles after Reset")
	}
}
