package nova

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

// session has one compute client.
type session struct{ client *gophercloud.ServiceClient }

func (s session) Compute(context.Context) (*gophercloud.ServiceClient, error) { return s.client, nil }

// compute is a Nova that answers by a function and keeps what it was asked.
type compute struct {
	mu    sync.Mutex
	asked []string
}

// start returns a client of a compute service that answers with this handler.
func (c *compute) start(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked = append(c.asked, strings.TrimSpace(r.Header.Get("X-OpenStack-Nova-API-Version")+" "+r.URL.RequestURI()))
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/", Type: "compute-legacy"}
	return New(session{client})
}

func (c *compute) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// olderThan answers 406 to microversions that the cloud does not know.
func olderThan(supported map[string]bool, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if version := r.Header.Get("X-OpenStack-Nova-API-Version"); version != "" && !supported[version] {
			answering(http.StatusNotAcceptable, `{"computeFault": {"code": 406, "message": "Version `+version+` is not supported by the API."}}`)(w, r)
			return
		}
		answer(w, r)
	}
}

const fullServer = `{
	"id": "5f6a", "name": "worker-1", "status": "ACTIVE", "tenant_id": "p1",
	"OS-EXT-AZ:availability_zone": "az 1", "accessIPv4": "203.0.113.9", "accessIPv6": "",
	"metadata": {"hostname": "worker-1.example.org"},
	"flavor": {"original_name": "m1.large", "vcpus": 4, "ram": 8192},
	"addresses": {
		"zeta": [{"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed"}, {"addr": "198.51.100.7", "version": 4, "OS-EXT-IPS:type": "floating"}],
		"alpha": [{"addr": "fd00::5", "version": 6, "OS-EXT-IPS:type": "fixed"}]
	}}`

func TestGetServer_KeepsOrderOfAddressesAndNamesFlavor(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, answering(http.StatusOK, `{"server": `+fullServer+`}`))

	server, err := nova.GetServer(t.Context(), "5f6a")
	if err != nil {
		t.Fatal(err)
	}
	want := &Server{
		ID: "5f6a", Name: "worker-1", Status: "ACTIVE", Zone: "az 1",
		AccessIPv4: "203.0.113.9", Metadata: map[string]string{"hostname": "worker-1.example.org"},
		Addresses: ServerAddresses{
			{Network: "zeta", Address: "10.0.0.5"},
			{Network: "zeta", Address: "198.51.100.7", Floating: true},
			{Network: "alpha", Address: "fd00::5"},
		},
		FlavorName: "m1.large",
	}
	if diff := cmp.Diff(want, server); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2.69 /servers/5f6a"}, cloud.requests()); diff != "" {
		t.Errorf("one request, with the microversion (-want +got):\n%s", diff)
	}
}

// Upstream deletes a Node on "not found", so no other answer may look like it.
func TestGetServer_ReportsNotFoundOnlyOn404OfNova(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status   int
		body     string
		notFound bool
	}{
		"Nova's fault":           {http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Instance 5f6a could not be found."}}`, true},
		"a proxy's page":         {http.StatusNotFound, `<html><body>404 page not found</body></html>`, false},
		"no body":                {http.StatusNotFound, ``, false},
		"a wrong endpoint":       {http.StatusNotFound, `{"error": {"code": 404}}`, false},
		"another status with it": {http.StatusForbidden, `{"itemNotFound": {"code": 404}}`, false},
		"forbidden":              {http.StatusForbidden, `{"forbidden": {"code": 403}}`, false},
		"unauthorized":           {http.StatusUnauthorized, `{"error": {"code": 401}}`, false},
		"a fault of the service": {http.StatusInternalServerError, `{"computeFault": {"code": 500}}`, false},
		"an empty object":        {http.StatusOK, `{}`, false},
		"an empty server":        {http.StatusOK, `{"server": {}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cloud compute
			server, err := cloud.start(t, answering(test.status, test.body)).GetServer(t.Context(), "5f6a")
			if err == nil {
				t.Fatalf("got server %+v, want an error", server)
			}
			if got := errors.Is(err, ErrServerNotFound); got != test.notFound {
				t.Errorf("ErrServerNotFound: %v, want %v; error: %v", got, test.notFound, err)
			}
		})
	}
}

func TestGetServer_UsesMicroversionOfOlderCloud(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, olderThan(map[string]bool{"2.47": true}, answering(http.StatusOK, `{"server": `+fullServer+`}`)))
	for range 2 {
		if _, err := nova.GetServer(t.Context(), "5f6a"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"2.69 /servers/5f6a", "2.47 /servers/5f6a", "2.47 /servers/5f6a"}
	if diff := cmp.Diff(want, cloud.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestGetServer_AsksOlderCloudForEachFlavorOnce(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, olderThan(nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/servers/a", "/servers/b":
			answering(http.StatusOK, `{"server": {"id": "`+path.Base(r.URL.Path)+`", "flavor": {"id": "7"}}}`)(w, r)
		case "/flavors/7":
			answering(http.StatusOK, `{"flavor": {"id": "7", "name": "m1.small"}}`)(w, r)
		}
	}))
	for _, id := range []string{"a", "b"} {
		server, err := nova.GetServer(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if server.FlavorName != "m1.small" {
			t.Errorf("server %s has flavor %q, want m1.small", id, server.FlavorName)
		}
	}
	want := []string{"2.69 /servers/a", "2.47 /servers/a", "/servers/a", "/flavors/7", "/servers/b"}
	if diff := cmp.Diff(want, cloud.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestGetServer_AllowsDeletedFlavor(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, olderThan(nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/flavors/7" {
			answering(http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Flavor 7 could not be found."}}`)(w, r)
			return
		}
		answering(http.StatusOK, `{"server": {"id": "x", "flavor": {"id": "7"}}}`)(w, r)
	}))
	server, err := nova.GetServer(t.Context(), "x")
	if err != nil || server.FlavorName != "" {
		t.Errorf("got flavor %q, error %v; want none of both", server.FlavorName, err)
	}
}

func TestServers_ListsPageAfterPage(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("marker") == "" {
			answering(http.StatusOK, `{"servers": [{"id": "1", "status": "SHUTOFF"}], "servers_links": [{"rel": "next"}]}`)(w, r)
			return
		}
		answering(http.StatusOK, `{"servers": [{"id": "2"}]}`)(w, r)
	})
	servers, err := nova.Servers(t.Context())
	if err != nil || len(servers) != 2 || servers[0].Status != ServerShutoff {
		t.Errorf("got %+v, %v", servers, err)
	}
	want := []string{"2.69 /servers/detail?limit=1000", "2.69 /servers/detail?limit=1000&marker=1"}
	if diff := cmp.Diff(want, cloud.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestServersByName_MatchesWholeNameOnly(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, answering(http.StatusOK, `{"servers": [{"id": "1", "name": "node.1"}, {"id": "2", "name": "NODE.1"}, {"id": "3", "name": "node.10"}]}`))
	servers, err := nova.ServersByName(t.Context(), "node.1")
	if err != nil {
		t.Fatal(err)
	}
	if len(servers) != 1 || servers[0].ID != "1" {
		t.Errorf("got %+v, want server 1 alone", servers)
	}
	want := []string{`2.69 /servers/detail?limit=1000&name=%5Enode%5C.1%24`}
	if diff := cmp.Diff(want, cloud.requests()); diff != "" {
		t.Errorf("the regular expression is anchored and quoted (-want +got):\n%s", diff)
	}
}

func TestServersByName_FollowsPagesByMarker(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{
			"":  `{"servers": [{"id": "1", "name": "x"}, {"id": "2", "name": "x"}], "servers_links": [{"rel": "next", "href": "http://wrong.example"}]}`,
			"2": `{"servers": [{"id": "3", "name": "x"}], "servers_links": [{"rel": "next", "href": "http://wrong.example"}]}`,
			"3": `{"servers": []}`,
		}[r.URL.Query().Get("marker")]
		answering(http.StatusOK, page)(w, r)
	})
	servers, err := nova.ServersByName(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, server := range servers {
		ids = append(ids, server.ID)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, ids); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestServersByName_FailsOnListThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"no list in it":          answering(http.StatusOK, `{}`),
		"no JSON":                answering(http.StatusOK, `<html>`),
		"refused":                answering(http.StatusForbidden, `{"forbidden": {}}`),
		"the same page for ever": answering(http.StatusOK, `{"servers": [{"id": "1"}], "servers_links": [{"rel": "next"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cloud compute
			if servers, err := cloud.start(t, answer).ServersByName(t.Context(), "x"); err == nil {
				t.Errorf("got %+v without an error", servers)
			}
		})
	}
}

// Names of flavors come along from 2.47 on, and in place of the IDs.
func TestFlavorID_AsksWithFirstMicroversion(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-OpenStack-Nova-API-Version") != "" {
			answering(http.StatusOK, `{"server": `+fullServer+`}`)(w, r)
			return
		}
		answering(http.StatusOK, `{"server": {"id": "5f6a", "flavor": {"id": "7", "links": []}}}`)(w, r)
	})
	if id, err := nova.FlavorID(t.Context(), "5f6a"); err != nil || id != "7" {
		t.Errorf("got %q, %v", id, err)
	}
	if diff := cmp.Diff([]string{"/servers/5f6a"}, cloud.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"refused": answering(http.StatusForbidden, `{"forbidden": {}}`), "no flavor": answering(http.StatusOK, `{"server": {"id": "5f6a"}}`),
	} {
		if id, err := cloud.start(t, answer).FlavorID(t.Context(), "5f6a"); err == nil {
			t.Errorf("%s: %q without an error", name, id)
		}
	}
}

func TestGetServer_EscapesIDInURL(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, answering(http.StatusOK, `{"server": {"id": "../flavors?x=1"}}`))
	if _, err := nova.GetServer(t.Context(), "../flavors?x=1"); err != nil {
		t.Fatal(err)
	}
	if got := cloud.requests()[0]; got != "2.69 /servers/..%2Fflavors%3Fx=1" {
		t.Errorf("asked %s", got)
	}
}

func TestGetServer_IsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var cloud compute
	nova := cloud.start(t, olderThan(nil, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/flavors/") {
			answering(http.StatusOK, `{"flavor": {"id": "7", "name": "m1.small"}}`)(w, r)
			return
		}
		answering(http.StatusOK, `{"server": {"id": "`+path.Base(r.URL.Path)+`", "flavor": {"id": "7"}}}`)(w, r)
	}))
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			if _, err := nova.GetServer(t.Context(), fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if version := nova.version.Load(); version != 2 {
		t.Errorf("ended at microversion %d, want the last", version)
	}
}
