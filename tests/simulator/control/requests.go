package control

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// requestKind is a group of requests that are counted together.
type requestKind struct {
	Method string `json:"method"`
	Route  string `json:"route"`
	// Status is 0 when the connection was closed without an answer.
	Status int `json:"status"`
}

// requestCount is one line of the log.
type requestCount struct {
	requestKind
	Count int `json:"count"`
	// RequestBytes and Bytes are the sizes of the bodies of requests and answers together.
	RequestBytes int `json:"request_bytes"`
	Bytes        int `json:"bytes"`
}

// account is the answer of GET requests.
type account struct {
	// Total counts all requests, Writes those that may change something.
	Total    int            `json:"total"`
	Writes   int            `json:"writes"`
	Requests []requestCount `json:"requests"`
	// TotalCycles counts the PENDING periods of all load balancers; PendingCycles has
	// those of each, also of deleted ones.
	TotalCycles   int            `json:"total_cycles"`
	PendingCycles map[string]int `json:"pending_cycles"`
	// Reloads of haproxy by load balancer.
	Reloads map[string]int `json:"reloads"`
	// RequestBytes and Bytes are the sizes of all bodies.
	RequestBytes int `json:"request_bytes"`
	Bytes        int `json:"bytes"`
	// MaxConcurrent is the maximum number of concurrent requests.
	MaxConcurrent int `json:"max_concurrent"`
}

// showRequests returns the counts of all requests or, with the query about=TEXT, of the requests
// about objects with that text. Cycles, reloads and concurrency are those of all requests.
func (c *control) showRequests(r *http.Request) (answer, error) {
	var chosen []requestlog.Filter
	if text := r.URL.Query().Get("about"); text != "" {
		chosen = append(chosen, requestlog.About(text))
	}
	requests, total := c.parts.RequestLog.Requests(chosen...), c.parts.RequestLog.Total(chosen...)
	return answer{http.StatusOK, account{
		Total:         total.Count,
		Writes:        c.parts.RequestLog.Total(append(chosen, requestlog.Writes())...).Count,
		Requests:      tally(requests),
		TotalCycles:   c.parts.RequestLog.TotalCycles(),
		PendingCycles: c.cycles(requests),
		Reloads:       c.parts.RequestLog.ReloadsByLoadBalancer(),
		RequestBytes:  total.RequestBytes,
		Bytes:         total.Bytes,
		MaxConcurrent: c.parts.RequestLog.MaxConcurrent(""),
	}}, nil
}

// tally sums requests of one kind up, in the order of route, method and status.
func tally(requests []requestlog.Request) []requestCount {
	lines := map[requestKind]requestCount{}
	for _, request := range requests {
		kind := requestKind{Method: request.Method, Route: request.Route, Status: request.Status}
		line := lines[kind]
		line.requestKind = kind
		line.Count++
		line.RequestBytes += request.RequestBytes
		line.Bytes += request.Bytes
		lines[kind] = line
	}
	sorted := make([]requestCount, 0, len(lines))
	for _, line := range lines {
		sorted = append(sorted, line)
	}
	slices.SortFunc(sorted, func(a, b requestCount) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
	})
	return sorted
}

// cycles returns the cycles of every load balancer that exists or that a request was about.
func (c *control) cycles(requests []requestlog.Request) map[string]int {
	cycles := map[string]int{}
	count := func(id string) {
		if n := c.parts.RequestLog.PendingCycles(id); n > 0 {
			cycles[id] = n
		}
	}
	for _, request := range requests {
		count(request.LoadBalancerID)
	}
	for _, lb := range c.parts.Octavia.Snapshot() {
		count(lb.ID)
	}
	return cycles
}

func (c *control) resetRequests(*http.Request) (answer, error) {
	c.parts.RequestLog.Reset()
	return answer{status: http.StatusNoContent}, nil
}
