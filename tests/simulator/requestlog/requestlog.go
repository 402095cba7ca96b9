// Package requestlog records every request to a simulated cloud, so that tests can check the number
// of requests.
package requestlog

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Request is one request that has ended: with an answer, or with a closed connection.
type Request struct {
	Method string
	// Route is the path with every ID replaced by {id}.
	Route string
	// Path as requested, with the query.
	Path string
	// Status that the client saw; 0 when the connection was closed instead.
	Status int
	// LoadBalancerID of the load balancer that the request was about; "" for lists and for objects
	// of other services.
	LoadBalancerID string
	// Provider of that load balancer, if the log has its creation.
	Provider string
	// ProjectID of the caller, if Facts.Project is set.
	ProjectID string
	// Mentions are all names, descriptions and tags that the object of the request and its load
	// balancer have had so far.
	Mentions string
	// UserAgent is the name of the client.
	UserAgent string
	// GlobalID is the ID that the client gives to all requests that belong together.
	GlobalID string
	// Before is the number of requests that had ended when this one came.
	Before int
	// RequestBytes and Bytes are the sizes of the request's and the answer's body.
	RequestBytes, Bytes int
}

// Filter selects requests.
type Filter func(Request) bool

// Method selects requests with one of the methods.
func Method(methods ...string) Filter {
	return func(r Request) bool { return slices.Contains(methods, r.Method) }
}

// Writes selects requests that may change state, except sign-ins.
func Writes() Filter {
	return func(r Request) bool {
		return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasSuffix(r.Route, "/auth/tokens")
	}
}

// Reads selects requests that only read.
func Reads() Filter { return Method(http.MethodGet, http.MethodHead) }

// Under selects requests with a prefix of the route, such as "/network".
func Under(prefix string) Filter {
	return func(r Request) bool { return strings.HasPrefix(r.Route, prefix) }
}

// LoadBalancer selects requests about one load balancer.
func LoadBalancer(id string) Filter {
	return func(r Request) bool { return r.LoadBalancerID == id }
}

// Log records requests as a middleware. Its methods are safe for concurrent
// use.
type Log struct {
	resolve func(kind, id string) string

	mu        sync.Mutex
	facts     Facts
	requests  []Request
	cycles    map[string]int
	texts     map[string]string // by object
	providers map[string]string // by load balancer
	crowd     crowd
	naming    *regexp.Regexp
}

// Facts gives information that requests do not contain.
type Facts struct {
	// Project that a token is for.
	Project func(token string) string
}

// Learn sets the facts.
func (l *Log) Learn(facts Facts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts = facts
}

// New returns an empty log. resolve returns the load balancer of an object in a collection of the
// load balancer service ("pools", "listeners" …), "" if it has none; it may be nil.
func New(resolve func(kind, id string) string) *Log {
	if resolve == nil {
		resolve = func(string, string) string { return "" }
	}
	return &Log{
		resolve: resolve, cycles: map[string]int{}, texts: map[string]string{}, providers: map[string]string{},
		crowd: newCrowd(), naming: regexp.MustCompile(naming),
	}
}

// Requests returns the requests that pass every filter, in the order of their ends.
func (l *Log) Requests(filters ...Filter) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var chosen []Request
	for _, request := range l.requests {
		if !slices.ContainsFunc(filters, func(f Filter) bool { return !f(request) }) {
			chosen = append(chosen, request)
		}
	}
	return chosen
}

// Len returns the number of requests.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requests)
}

// Count returns the number of requests of a method and route, with any status. The route may also
// be a path with IDs.
func (l *Log) Count(method, route string) int {
	route = Route(route)
	return len(l.Requests(Method(method), func(r Request) bool { return r.Route == route }))
}

// Reset removes all requests and cycles. The names of objects are kept.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = nil
	l.cycles = map[string]int{}
	l.crowd.reset()
}

// Forget removes everything, including the names of objects, so that a log of a long run does not
// grow.
func (l *Log) Forget() {
	l.Reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.texts)
	clear(l.providers)
}

// CountCycle records that a load balancer entered a PENDING state.
func (l *Log) CountCycle(loadBalancerID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cycles[loadBalancerID]++
}

// PendingCycles returns the number of times that a load balancer entered a PENDING state.
func (l *Log) PendingCycles(loadBalancerID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cycles[loadBalancerID]
}

// TotalCycles returns the number of times that any load balancer entered a PENDING state.
func (l *Log) TotalCycles() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, count := range l.cycles {
		total += count
	}
	return total
}

func (l *Log) add(request Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, request)
}

// target finds the load balancer in a path …/lbaas/<kind>/<id>….
func (l *Log) target(path string) string {
	_, below, found := strings.Cut(path, "/lbaas/")
	parts := strings.Split(below, "/")
	if !found || len(parts) < 2 {
		return ""
	}
	if parts[0] == "loadbalancers" {
		return parts[1]
	}
	return l.resolve(parts[0], parts[1])
}

// fromAnswer finds the load balancer of an object that was just created.
func (l *Log) fromAnswer(r *http.Request, out *recorder) string {
	if r.Method != http.MethodPost || out.status != http.StatusCreated || !strings.Contains(r.URL.Path, "/lbaas/") {
		return ""
	}
	type reference struct {
		ID string `json:"id"`
	}
	answer := map[string]struct {
		ID            string      `json:"id"`
		Provider      string      `json:"provider"`
		LoadBalancers []reference `json:"loadbalancers"`
		Pools         []reference `json:"pools"`
	}{}
	if json.Unmarshal(out.text.Bytes(), &answer) != nil {
		return ""
	}
	for kind, made := range answer {
		switch {
		case kind == "loadbalancer":
			l.mu.Lock()
			l.providers[made.ID] = made.Provider
			l.mu.Unlock()
			return made.ID
		case len(made.LoadBalancers) > 0:
			return made.LoadBalancers[0].ID
		case kind == "healthmonitor" && len(made.Pools) > 0:
			return l.resolve("pools", made.Pools[0].ID)
		}
	}
	return ""
}

// Route replaces every ID in a path by {id} and drops the query.
func Route(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if isID(part) {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

// isID reports whether a part is a UUID, with dashes or without, as projects have it.
func isID(part string) bool {
	digits := strings.ReplaceAll(part, "-", "")
	if len(digits) != 32 || (len(part) != 32 && len(part) != 36) {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}
