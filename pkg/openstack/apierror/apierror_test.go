package apierror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/hostile"
)

// refused returns the error that gophercloud makes of an answer.
func refused(method, path string, status int, body string) gophercloud.ErrUnexpectedResponseCode {
	return gophercloud.ErrUnexpectedResponseCode{
		Method: method, URL: "http://127.0.0.1" + path, Actual: status, Body: []byte(body),
		ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}
}

func octaviaRefused(status int, text string) error {
	body, _ := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": text, "debuginfo": nil})
	return refused("POST", "/v2.0/lbaas/loadbalancers", status, string(body))
}

func neutronRefused(status int, kind, text string) error {
	body, _ := json.Marshal(map[string]any{"NeutronError": map[string]any{"type": kind, "message": text, "detail": ""}})
	return refused("POST", "/v2.0/floatingips", status, string(body))
}

// properties lists what the functions say of an error.
func properties(err error) string {
	var all []string
	for _, p := range []struct {
		name string
		is   func(error) bool
	}{
		{"notfound", IsNotFound}, {"conflict", IsConflict}, {"locked", IsLocked}, {"quota", IsQuota},
		{"forbidden", IsForbidden}, {"invalid", IsInvalid}, {"unsupported", IsUnsupported}, {"unsure", IsUnsure},
		{"partsquota", IsPartsQuota}, {"crash", IsCrash}, {"sourcerangecrash", IsSourceRangeCrash},
	} {
		if p.is(err) {
			all = append(all, p.name)
		}
	}
	return fmt.Sprint(StatusCode(err), " ", strings.Join(all, " "))
}

// The texts of Octavia are those of octavia/common/exceptions.py.
func TestErrors_AreClassifiedByStatusAndText(t *testing.T) {
	t.Parallel()
	const page = "<html><head><title>503 Service Unavailable</title></head><body>No server</body></html>"
	tests := map[string]struct {
		err  error
		want string
	}{
		"nil":            {nil, "0 "},
		"load balancer":  {octaviaRefused(404, "Load Balancer 1 not found."), "404 notfound"},
		"locked":         {octaviaRefused(409, "Load Balancer 1 is immutable and cannot be updated."), "409 conflict locked"},
		"pending":        {octaviaRefused(409, "Invalid state PENDING_UPDATE of loadbalancer resource 1"), "409 conflict locked"},
		"duplicate":      {octaviaRefused(409, "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 80"), "409 conflict"},
		"quota":          {octaviaRefused(403, "Quota has been met for resources: Load Balancer"), "403 quota"},
		"quota of parts": {octaviaRefused(403, "Quota has been met for resources: Listener"), "403 quota partsquota"},
		"quota of the VIP's port": {
			octaviaRefused(500, "Provider 'amphora' reports error: Quota exceeded for resources: ['port'].\nNeutron server returns request_ids: ['req-1']"), "500 quota",
		},
		"no address for the VIP": {
			octaviaRefused(500, "Provider 'ovn' reports error: No more IP addresses available on network 1.\nNeutron server returns request_ids: ['req-1']"), "500 quota",
		},
		"policy":         {octaviaRefused(403, "Policy does not allow this request to be performed."), "403 forbidden"},
		"bad value":      {octaviaRefused(400, "Invalid input for field/attribute weight. Value: '257'."), "400 invalid"},
		"cannot":         {octaviaRefused(501, "Provider 'ovn' does not support a requested option"), "501 invalid unsupported"},
		"python":         {octaviaRefused(500, "'dict' object has no attribute '_sa_instance_state'"), "500 unsure crash"},
		"source ranges":  {octaviaRefused(500, "None does not appear to be an IPv4 or IPv6 address"), "500 unsure crash sourcerangecrash"},
		"busy":           {octaviaRefused(503, "Project busy.  Unable to lock the project.  Please try again."), "503 unsure"},
		"bad gateway":    {refused("PUT", "/v2.0/lbaas/pools/1", 502, page), "502 unsure"},
		"GET 500":        {refused("GET", "/v2.0/ports", 500, ""), "500 "},
		"odd success":    {refused("POST", "/v2.0/lbaas/pools", 200, "{}"), "200 unsure"},
		"too large":      {refused("POST", "/v2.0/lbaas/loadbalancers", 413, "413 Request Entity Too Large"), "413 "},
		"pool by lookup": {refused("GET", "/v2.0/lbaas/pools/1/members", 404, `{"code":404,"title":"Bad Request","description":"Pool 1 not found."}`), "404 notfound"},
		"bad path":       {refused("GET", "/v2.0/lbaas/x", 404, `{"code":404,"title":"Not Found","description":""}`), "404 "},
		"plain 404":      {refused("GET", "/v2.0/lbaas/pools/1", 404, "404 Not Found"), "404 notfound"},
		"proxy's 404": {gophercloud.ErrUnexpectedResponseCode{Method: "GET", URL: "http://127.0.0.1/v2.0/lbaas/loadbalancers/1", Actual: 404,
			Body: []byte("default backend - 404")}, "404 "},
		"simulated 404": {gophercloud.ErrUnexpectedResponseCode{Method: "GET", Actual: 404,
			Body: []byte(`{"itemNotFound":{"code":404,"message":"Instance 1 could not be found."}}`)}, "404 notfound"},
		"floating IP quota":  {neutronRefused(409, "OverQuota", "Quota exceeded for resources: ['floatingip']."), "409 quota"},
		"no address":         {neutronRefused(409, "IpAddressGenerationFailure", "No more IP addresses available on network 1."), "409 quota"},
		"no external":        {neutronRefused(400, "ExternalIpAddressExhausted", "Unable to find any IP address on external network 1."), "400 quota"},
		"address taken":      {neutronRefused(409, "IpAddressAlreadyAllocated", "IP address 1 already allocated in subnet 2"), "409 conflict"},
		"no router":          {neutronRefused(404, "ExternalGatewayForFloatingIPNotFound", "External network 1 is not reachable from subnet 2."), "404 invalid"},
		"port gone":          {neutronRefused(404, "PortNotFound", "Port 1 could not be found."), "404 notfound"},
		"neutron policy":     {neutronRefused(403, "PolicyNotAuthorized", "rule:create_floatingip is disallowed by policy"), "403 forbidden"},
		"lost":               {&NoAnswerError{Method: "POST", Sent: true, Err: io.EOF}, "0 unsure"},
		"lost read":          {&NoAnswerError{Method: "GET", Sent: true, Err: io.EOF}, "0 "},
		"never sent":         {&NoAnswerError{Method: "POST", Err: errors.New("connection refused")}, "0 "},
		"unreadable":         {json.Unmarshal([]byte("<"), &struct{}{}), "0 unsure"},
		"wrong shape":        {json.Unmarshal([]byte("[]"), &struct{}{}), "0 unsure"},
		"unreadable by v2":   {jsonv2.Unmarshal([]byte("<"), &struct{}{}), "0 unsure"},
		"wrong shape for v2": {jsonv2.Unmarshal([]byte("[]"), &struct{}{}), "0 unsure"},
		"broke off":          {fmt.Errorf("decode: %w", io.ErrUnexpectedEOF), "0 unsure"},
		"our own":            {gophercloud.ErrMissingInput{Argument: "Name"}, "0 "},
		"cancelled":          {context.Canceled, "0 "},
		"Keystone's own 404": {&AuthenticationError{Err: refused("POST", "/v3/auth/tokens", 404, `{"error":{"message":"no"}}`)}, "401 "},
		"Keystone is down":   {&AuthenticationError{Err: &NoAnswerError{Method: "POST", Sent: true, Err: io.EOF}}, "401 "},
	}
	for name, test := range tests {
		if got := properties(test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// gophercloud has errors by value and by pointer, and puts them into others.
func TestErrors_AreFoundInsideOthers(t *testing.T) {
	t.Parallel()
	value := refused("GET", "/v2.0/lbaas/loadbalancers/1", 404, `{"faultstring":"Load Balancer 1 not found."}`)
	for name, err := range map[string]error{
		"value":                value,
		"pointer":              &value,
		"wrapped":              Wrap(value, "read load balancer"),
		"wrapped twice":        fmt.Errorf("observe: %w", Wrap(&value, "read load balancer")),
		"joined":               errors.Join(errors.New("other"), value),
		"after reauth":         gophercloud.ErrErrorAfterReauthentication{ErrOriginal: value},
		"after reauth pointer": &gophercloud.ErrErrorAfterReauthentication{ErrOriginal: &value},
	} {
		if !IsNotFound(err) || RequestID(err) != "req-1" || Message(err) != "Load Balancer 1 not found." {
			t.Errorf("%s: not found %t, request %q, message %q", name, IsNotFound(err), RequestID(err), Message(err))
		}
	}
	reauth := &gophercloud.ErrUnableToReauthenticate{ErrOriginal: value, ErrReauth: io.EOF}
	if got := properties(reauth); got != "401 " {
		t.Errorf("unable to sign in again: %q", got)
	}
}

func TestMessage_ReadsEveryFormOfBody(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"faultcode":"Client","faultstring":"Pool 1 is immutable and cannot be updated.","debuginfo":null}`:           "Pool 1 is immutable and cannot be updated.",
		`{"code":404,"title":"Bad Request","description":"Pool 1 not found."}`:                                         "Pool 1 not found.",
		`{"code":404,"title":"Not Found","description":""}`:                                                            "Not Found",
		`{"NeutronError":{"type":"OverQuota","message":"Quota exceeded for resources: ['floatingip'].","detail":""}}`:  "Quota exceeded for resources: ['floatingip'].",
		`{"NeutronError":"Something old"}`:                                                                             "Something old",
		`{"NeutronError":7}`:                                                                                           "Bad Request",
		`{"itemNotFound":{"code":404,"message":"Instance 1 could not be found."}}`:                                     "Instance 1 could not be found.",
		`{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`: "The request you have made requires authentication.",
		`{"message":"Route not found"}`:                                                                                "Route not found",
		`{"unknown":{"shape":1}}`:                                                                                      "Bad Request",
		"413 Request Entity Too Large\n\nThe body of your request was too large for this server.\n\n":                  "413 Request Entity Too Large The body of your request was too large for this server.",
		"<html><head><title>502 Bad\n Gateway</title></head><body>x</body></html>":                                     "502 Bad Gateway",
		"<h1>Oops</h1><p>gone</p>":                                                                                     "Oops gone",
		"":                                                                                                             "Bad Request",
		"a\x00b\x1b[31m\u2028c":                                                                                        "a b [31m c",
		`{"error":{"message":"Could not find token: gAAAAABmZ0abcdefghijklmnopqrstuvwxyz-_0123456789=="}}`:             "Could not find token: (token)",
	}
	for body, want := range tests {
		if got := Message(refused("POST", "/v2.0/ports", 400, body)); got != want {
			t.Errorf("%s\n got %q\nwant %q", body, got, want)
		}
	}
	long := Message(octaviaRefused(500, strings.Repeat("ü", 5000)))
	if utf8.RuneCountInString(long) != maxMessage || !strings.HasSuffix(long, "…") {
		t.Errorf("a long message has %d characters: %s", utf8.RuneCountInString(long), long)
	}
	if Message(nil) != "" || Message(errors.New("a\nb")) != "a b" {
		t.Error("messages of other errors")
	}
}

func TestWrap_NamesOperationServiceAndRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"create load balancer a: Octavia answered 403 Quota has been met for resources: Load Balancer (request req-1)": octaviaRefused(403, "Quota has been met for resources: Load Balancer"),

		"create load balancer a: Neutron answered 409 No more IP addresses available on network 1. (request req-1)": neutronRefused(409, "IpAddressGenerationFailure", "No more IP addresses available on network 1."),

		"create load balancer a: no answer from Octavia: EOF": &NoAnswerError{Service: "Octavia", Sent: true, Attempts: 1, Err: io.EOF},

		"create load balancer a: no answer from Octavia: no answer within 1m0s": &NoAnswerError{Service: "Octavia", Sent: true, Err: &TimeoutError{After: time.Minute}},

		"create load balancer a: the answer cannot be read: unexpected EOF": io.ErrUnexpectedEOF,

		"create load balancer a: not signed in: Keystone answered 401 no (request req-1)": &AuthenticationError{Err: refused("POST", "/v3/auth/tokens", 401, `{"error":{"message":"no"}}`)},

		"create load balancer a: ensure: read pool: Octavia answered 404 Pool 1 not found. (request req-1)": fmt.Errorf("ensure: %w",
			Wrap(refused("GET", "/v2.0/lbaas/pools/1", 404, `{"faultstring":"Pool 1 not found."}`), "read pool")),
	}
	got := map[string]bool{}
	for _, err := range tests {
		got[Wrap(err, "create load balancer a").Error()] = true
	}
	want := map[string]bool{}
	for text := range tests {
		want[text] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if Wrap(nil, "do nothing") != nil {
		t.Error("an error from nothing")
	}
}

func TestRequestID_IsBounded(t *testing.T) {
	t.Parallel()
	err := refused("GET", "/v2.1/servers/1", 500, "")
	err.ResponseHeader = http.Header{"X-Compute-Request-Id": {"req-" + strings.Repeat("9", 500)}}
	if id := RequestID(err); len([]rune(id)) != 64 || !strings.HasPrefix(id, "req-999") {
		t.Errorf("request ID %q", id)
	}
	if RequestID(io.EOF) != "" {
		t.Error("a request ID of nothing")
	}
}

func TestRetryAfter_ReadsHeaderOfError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"seconds":      {http.Header{"Retry-After": {"120"}}, 2 * time.Minute},
		"date":         {http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:00 GMT"}, "Date": {"Fri, 02 Jan 2026 03:04:00 GMT"}}, time.Minute},
		"date alone":   {http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:00 GMT"}}, 0},
		"not asked":    {http.Header{}, 0},
		"not readable": {http.Header{"Retry-After": {"later"}}, 0},
	}
	for name, test := range tests {
		err := Wrap(gophercloud.ErrUnexpectedResponseCode{Actual: 503, ResponseHeader: test.header}, "x")
		if got := RetryAfter(err); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	if RetryAfter(io.EOF) != 0 {
		t.Error("a Retry-After of nothing")
	}
}

// Whatever a service answers, what we tell of it is fit for an event.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		`{"faultstring":"a\nb"}`, `{"NeutronError":{"type":"T","message":"m"}}`, `{"NeutronError":[]}`, `{"description":null}`,
		"<title>x</title>", "\xff\xfe", `{"error":{"message":"gAAAAABmZ0abcdefghijklmnopqrst"}}`, "null", `[1]`, `{"a":{"message":7}}`,
	} {
		f.Add([]byte(body), 404)
	}
	f.Add([]byte("req-\x1b[2J\nE1122"), 301)
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		err := refused("GET", "/v2.0/ports/1", status, string(body))
		for _, name := range []string{"X-Openstack-Request-Id", "Location", "Retry-After"} {
			err.ResponseHeader.Set(name, string(body))
		}
		properties(err)
		hostile.Bounded(t, len(body), func() { hostile.OneLine(t, Wrap(err, string(body)).Error()) })
		if after := RetryAfter(err); after < 0 {
			t.Errorf("again after %s", after)
		}
		text := Message(err)
		if utf8.RuneCountInString(text) > maxMessage || !utf8.ValidString(text) || strings.ContainsAny(text, "\r\n\x00\x1b") {
			t.Errorf("message %q", text)
		}
	})
}

// It ends up in events, whatever an answer has there.
func TestRequestIDOf_IsOneShortLine(t *testing.T) {
	t.Parallel()
	const usual = "req-0de2719a-80ab-45f1-8c2f-30446fcc8186"
	for given, want := range map[string]string{
		"": "", usual: usual, "req-1\n2": "req-1 2", "other ID": "other ID",
		strings.Repeat("a", 64):           strings.Repeat("a", 64),
		strings.Repeat("a", 65):           strings.Repeat("a", 63) + "…",
		usual + strings.Repeat("x", 1000): usual + strings.Repeat("x", 63-len(usual)) + "…",
	} {
		if got := RequestIDOf(http.Header{"X-Openstack-Request-Id": {given}}); got != want {
			t.Errorf("%.80q becomes %q, want %q", given, got, want)
		}
	}
}

// What is in front of Octavia, and Octavia before its controllers, refuse a request for its kind;
// Octavia's own words say what of its content, or which right, it is about.
func TestIsNoRoute_IsNotAboutWhatARequestAsksFor(t *testing.T) {
	t.Parallel()
	gateway := func(status int, body string) error {
		return gophercloud.ErrUnexpectedResponseCode{Method: "PUT", URL: "http://127.0.0.1/v2.0/lbaas/pools/1/members", Actual: status, Body: []byte(body)}
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"method":                     {gateway(405, ""), true},
		"method, in Octavia's words": {octaviaRefused(405, "Method Not Allowed"), true},
		"body too large":             {gateway(413, "<html><title>413 Request Entity Too Large</title></html>"), true},
		"no route":                   {gateway(404, `{"message":"no Route matched with those values"}`), true},
		"no such API":                {gateway(404, `{"error_code":"APIGW.0101","error_msg":"The API does not exist"}`), true},
		"unknown path":               {refused("PUT", "/v2.0/lbaas/x", 404, `{"code":404,"title":"Not Found","description":""}`), true},
		"pool gone":                  {octaviaRefused(404, "Pool 1 not found."), false},
		"pool gone, before Zed":      {refused("PUT", "/v2.0/lbaas/pools/1/members", 404, "404 Not Found"), false},
		"filter":                     {gateway(403, "Request blocked"), true},
		"filter, in JSON":            {gateway(403, `{"message":"forbidden by rule 7"}`), true},
		"policy":                     {octaviaRefused(403, "Policy does not allow this request to be performed."), false},
		"quota":                      {octaviaRefused(403, "Quota has been met for resources: Member"), false},
		"malformed":                  {gateway(400, "Bad Request"), true},
		"value":                      {octaviaRefused(400, "Invalid input for field/attribute weight. Value: '257'."), false},
		"locked":                     {octaviaRefused(409, "Load Balancer 1 is immutable and cannot be updated."), false},
		"not signed in":              {gateway(401, ""), false},
		"too many":                   {gateway(429, ""), false},
		"not implemented":            {gateway(501, ""), false},
		"broken":                     {gateway(502, ""), false},
		"no answer":                  {&NoAnswerError{Method: "PUT", Sent: true, Err: io.EOF}, false},
		"nothing":                    {nil, false},
	} {
		if got := IsNoRoute(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
