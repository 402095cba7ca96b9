package requestlog_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const (
	lbID   = "11111111-1111-1111-1111-111111111111"
	poolID = "22222222-2222-2222-2222-222222222222"
	fipID  = "33333333-3333-3333-3333-333333333333"
	root   = "/load-balancer/v2.0/lbaas"
)

// cloud is a service that makes one load balancer and one floating IP, behind a log.
func cloud(t *testing.T, provider string) (*requestlog.Log, func(method, path, body string)) {
	t.Helper()
	kept := requestlog.New(func(kind, id string) string {
		if kind == "pools" && id == poolID {
			return lbID
		}
		return ""
	})
	kept.Learn(requestlog.Facts{Project: func(token string) string { return token }})
	handler := kept.Record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.Header.Get("Refuse") != "":
			w.WriteHeader(http.StatusConflict)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/loadbalancers"):
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "provider": %q}}`, lbID, provider)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/floatingips"):
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"floatingip": {"id": %q}}`, fipID)
		}
	}))
	return kept, func(method, path, body string) {
		t.Helper()
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("X-Auth-Token", "mine")
		if strings.Contains(body, "refuse") {
			request.Header.Set("Refuse", "yes")
		}
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
}

func TestLog_CountsAcceptedChangesBelowAmphoraAsReloads(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]int{"amphora": 2, "octavia": 2, "ovn": 0} {
		kept, send := cloud(t, provider)
		send(http.MethodPost, root+"/loadbalancers", `{}`)
		send(http.MethodPut, root+"/loadbalancers/"+lbID, `{}`)
		send(http.MethodPut, root+"/pools/"+poolID, `{}`)
		send(http.MethodPut, root+"/pools/"+poolID+"/members", `{}`)
		send(http.MethodPut, root+"/pools/"+poolID+"/members", `{"refuse": true}`)
		send(http.MethodGet, root+"/pools/"+poolID, "")
		if got := kept.Reloads(lbID); got != want || kept.ReloadsByLoadBalancer()[lbID] != want {
			t.Errorf("%s: %d reloads, want %d", provider, got, want)
		}
	}
}

func TestLog_AttributesRequestsByNameDescriptionAndTags(t *testing.T) {
	t.Parallel()
	kept, send := cloud(t, "amphora")
	send(http.MethodPost, root+"/loadbalancers", `{"loadbalancer": {"name": "kube_service_c_ns_web", "tags": ["uid-1"]}}`)
	send(http.MethodPut, root+"/pools/"+poolID+"/members", `{"members": []}`)
	send(http.MethodGet, root+"/loadbalancers/"+lbID, "")
	send(http.MethodPost, "/network/v2.0/floatingips", `{"floatingip": {"description": "of uid-2"}}`)
	send(http.MethodDelete, "/network/v2.0/floatingips/"+fipID, "")
	send(http.MethodGet, root+"/loadbalancers", "")
	for text, want := range map[string]int{"uid-1": 3, "kube_service_c_ns_web": 3, "uid-2": 2, "uid-3": 0} {
		if got := kept.Total(requestlog.About(text)).Count; got != want {
			t.Errorf("%d requests about %s, want %d", got, text, want)
		}
	}
	kept.Reset()
	send(http.MethodDelete, root+"/loadbalancers/"+lbID, "")
	if got := kept.Total(requestlog.About("uid-1"), requestlog.Writes()).Count; got != 1 {
		t.Errorf("after a reset %d requests about uid-1, want 1", got)
	}
}

func TestLog_SumsUpBytes(t *testing.T) {
	t.Parallel()
	kept, send := cloud(t, "amphora")
	send(http.MethodPost, "/network/v2.0/floatingips", `{}`)
	send(http.MethodPost, "/network/v2.0/floatingips", `{"refuse": 1}`)
	all, refused := kept.Total(), kept.Total(requestlog.Status(http.StatusConflict))
	if all.Count != 2 || all.RequestBytes != 15 || all.Bytes == 0 || refused.Count != 1 || refused.RequestBytes != 13 {
		t.Errorf("all %+v, refused %+v", all, refused)
	}
}

func TestLog_CountsRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	kept := requestlog.New(nil)
	kept.Learn(requestlog.Facts{Project: func(token string) string { return token }})
	inside, leave := make(chan bool), make(chan bool)
	handler := kept.Record(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- true
		<-leave
	}))
	var all sync.WaitGroup
	for _, token := range []string{"mine", "mine", "yours"} {
		all.Go(func() {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("X-Auth-Token", token)
			handler.ServeHTTP(httptest.NewRecorder(), request)
		})
	}
	for range 3 {
		<-inside
	}
	close(leave)
	all.Wait()
	for project, want := range map[string]int{"mine": 2, "yours": 1, "": 3} {
		if got := kept.MaxConcurrent(project); got != want {
			t.Errorf("%d requests of %q at the same time, want %d", got, project, want)
		}
	}
	kept.Reset()
	if got := kept.MaxConcurrent(""); got != 0 {
		t.Errorf("after a reset there were %d", got)
	}
}
