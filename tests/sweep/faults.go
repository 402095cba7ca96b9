package sweep

import (
	"net/http"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// Fault is one way for one request to fail.
type Fault struct {
	Name string
	// rule makes a request fail; false if the fault makes no sense for it.
	rule func(r Request) (faults.Rule, bool)
	// kills ends the process of the controller with the request.
	kills bool
}

// Lag is the delay of the replica that answers stale reads.
const Lag = 5 * time.Second

// Faults returns all faults.
func Faults() []Fault {
	always := func(rule faults.Rule) func(Request) (faults.Rule, bool) {
		return func(Request) (faults.Rule, bool) { return rule, true }
	}
	status := func(status int) func(Request) (faults.Rule, bool) {
		return always(faults.Rule{Status: status, Worded: true})
	}
	return []Fault{
		{"killed before", always(faults.Rule{Drop: true}), true},
		{"killed after", always(faults.Rule{Drop: true, AfterWork: true}), true},
		{"reset before", always(faults.Rule{Reset: true}), false},
		{"reset after", always(faults.Rule{Reset: true, AfterWork: true}), false},
		{"timeout after", always(faults.Rule{AnswerDelay: time.Hour}), false},
		{"401", status(http.StatusUnauthorized), false},
		{"403 quota", quota, false},
		{"404", status(http.StatusNotFound), false},
		{"409 lock", locked, false},
		{"409 duplicate", duplicate, false},
		{"429", status(http.StatusTooManyRequests), false},
		{"500 before", status(http.StatusInternalServerError), false},
		{"500 after", always(faults.Rule{Status: http.StatusInternalServerError, Worded: true, AfterWork: true}), false},
		{"503", status(http.StatusServiceUnavailable), false},
		{"truncated", func(r Request) (faults.Rule, bool) { return faults.Rule{CutAfter: r.Bytes / 2}, r.Bytes > 1 }, false},
		{"stale", func(r Request) (faults.Rule, bool) { return faults.Rule{Lag: Lag}, r.Method == http.MethodGet }, false},
	}
}

// quota returns the answer of a service with an exhausted quota. Reads and deletions need none:
// they are forbidden.
func quota(r Request) (faults.Rule, bool) {
	collection := r.Route[strings.LastIndex(r.Route, "/")+1:]
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodPut:
	case r.under("load-balancer"):
		return refusal(http.StatusForbidden, `{"faultcode":"Client","faultstring":"Quota has been met for resources: `+collection+`","debuginfo":null}`), true
	case r.under("network"):
		return refusal(http.StatusConflict, `{"NeutronError":{"type":"OverQuota","message":"Quota exceeded for resources: ['`+collection+`'].","detail":""}}`), true
	}
	return faults.Rule{Status: http.StatusForbidden, Worded: true}, true
}

// locked returns the answer about an object that another client is changing.
func locked(r Request) (faults.Rule, bool) {
	if r.under("network") {
		return refusal(http.StatusConflict, `{"NeutronError":{"type":"StaleDataError","message":"The resource is being changed by another request.","detail":""}}`), r.writes()
	}
	return faults.Rule{Status: http.StatusConflict, Worded: true}, r.writes() && r.under("load-balancer")
}

// duplicate returns the answer about an object that exists already, or soon.
func duplicate(r Request) (faults.Rule, bool) {
	text := ""
	switch {
	case r.Method != http.MethodPost:
		return faults.Rule{}, false
	case r.under("network"):
		return refusal(http.StatusConflict, `{"NeutronError":{"type":"SecurityGroupRuleExists","message":"Security group rule already exists. Rule id is 6c0b6ba4-1d3f-4b7e-8b0e-6c5d7f9a0f11.","detail":""}}`),
			strings.Contains(r.Route, "security-group-rules")
	case strings.HasSuffix(r.Route, "/listeners"):
		text = "Another Listener on this Load Balancer is already using protocol_port 80"
	case strings.HasSuffix(r.Route, "/members"):
		text = "Another member on this pool is already using ip 127.100.1.1 on protocol_port 30080"
	case strings.HasSuffix(r.Route, "/healthmonitors"):
		text = "This pool already has a health monitor"
	}
	return refusal(http.StatusConflict, `{"faultcode":"Client","faultstring":"`+text+`","debuginfo":null}`), text != ""
}

func refusal(status int, body string) faults.Rule {
	return faults.Rule{Status: status, Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
}
