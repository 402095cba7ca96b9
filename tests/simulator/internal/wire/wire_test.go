package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestBase_IsMountPointInFrontOfPath(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/network/v2.0/ports?limit=1": "http://cloud.test/network",
		"/network/":                   "http://cloud.test/network",
		"/network":                    "http://cloud.test/network",
	} {
		var base string
		handler := http.StripPrefix("/network", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { base = Base(r) }))
		request := httptest.NewRequest(http.MethodGet, target, nil)
		request.Host = "cloud.test"
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if base != want {
			t.Errorf("Base of %s is %q, want %q", target, base, want)
		}
	}
}

func TestSelf_IsRequestWithoutItsQuery(t *testing.T) {
	t.Parallel()
	var self string
	handler := http.StripPrefix("/compute", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { self = Self(r) }))
	request := httptest.NewRequest(http.MethodGet, "/compute/v2.1/servers?name=a", nil)
	request.Host = "cloud.test"
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if want := "http://cloud.test/compute/v2.1/servers"; self != want {
		t.Errorf("Self is %q, want %q", self, want)
	}
}

func TestWriteJSON_KeepsExistingRequestID(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	recorder.Header().Set("X-Openstack-Request-Id", "req-first")
	WriteJSON(recorder, http.StatusTeapot, map[string]int{"a": 1})
	if recorder.Code != http.StatusTeapot || recorder.Body.String() != `{"a":1}` {
		t.Errorf("answered %d %s", recorder.Code, recorder.Body)
	}
	if got := recorder.Header().Get("X-Openstack-Request-Id"); got != "req-first" {
		t.Errorf("request ID is %q, want the first one", got)
	}
}

func TestRooted_AddsSlashToEmptyPath(t *testing.T) {
	t.Parallel()
	var path, base string
	handler := http.StripPrefix("/compute", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		rooted := Rooted(r)
		path, base = rooted.URL.Path, Base(rooted)
	}))
	request := httptest.NewRequest(http.MethodGet, "/compute", nil)
	request.Host = "cloud.test"
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if path != "/" || base != "http://cloud.test/compute" {
		t.Errorf("path is %q at %q", path, base)
	}
}
