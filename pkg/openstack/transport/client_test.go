package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A token must not leave for another host, and a write must not become a read.
func TestRedirect_IsFollowedOnlyForReadsOnSameHost(t *testing.T) {
	t.Parallel()
	var other *httptest.Server
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/stolen", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/here/", http.StatusMovedPermanently)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	t.Cleanup(server.Close)
	other = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed to another host: %s", r.URL)
	}))
	t.Cleanup(other.Close)
	client := http.Client{CheckRedirect: sameHostReads, Transport: freshConnections(t)}
	status := func(method, path string) int {
		req, _ := http.NewRequestWithContext(context.Background(), method, server.URL+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	got := []int{status("GET", "/away"), status("GET", "/here"), status("POST", "/here"), status("GET", "/loop")}
	if diff := cmp.Diff([]int{302, 200, 301, 302}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if most := int32(1 + 2 + 1 + 1 + maxRedirects); requests.Load() > most {
		t.Errorf("%d requests, want at most %d", requests.Load(), most)
	}
}
