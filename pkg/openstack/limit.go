package openstack

import (
	"net/http"

	"golang.org/x/sync/semaphore"
)

// Limits are the greatest numbers of requests in flight, of each kind and for each
// service. A request that waits to be repeated counts as in flight. Zero fields
// take the default.
//
// The defaults follow from what Octavia does: load balancers of one project are
// created one after the other (each holds the row of the project's quota while it
// asks Neutron for the VIP port, and gives up with 503 after 50 s), and its API
// processes are bound by CPU.
type Limits struct {
	// Reads: 8.
	Reads int
	// LoadBalancerCreates: 4.
	LoadBalancerCreates int
	// Writes are all others: 8.
	Writes int
}

func (l Limits) withDefaults() Limits {
	if l.Reads == 0 {
		l.Reads = 8
	}
	if l.LoadBalancerCreates == 0 {
		l.LoadBalancerCreates = 4
	}
	if l.Writes == 0 {
		l.Writes = 8
	}
	return l
}

// perHost is the number of connections that one host can have in use, with some
// to spare for tokens.
func (l Limits) perHost() int {
	return 2 + l.LoadBalancerCreates + 3*(l.Reads+l.Writes)
}

// lane is what is limited together.
type lane struct {
	service string
	class   requestClass
}

// limitTransport lets a limited number of requests of a kind through at a time.
// Who comes first goes first.
type limitTransport struct {
	next  http.RoundTripper
	lanes map[lane]*semaphore.Weighted
}

func newLimitTransport(limits Limits, next http.RoundTripper) *limitTransport {
	t := &limitTransport{next: next, lanes: map[lane]*semaphore.Weighted{
		{serviceOctavia, classCreateLoadBalancer}: semaphore.NewWeighted(int64(limits.LoadBalancerCreates)),
	}}
	for _, service := range []string{serviceOctavia, serviceNeutron, serviceNova, serviceUnknown} {
		t.lanes[lane{service, classRead}] = semaphore.NewWeighted(int64(limits.Reads))
		t.lanes[lane{service, classWrite}] = semaphore.NewWeighted(int64(limits.Writes))
	}
	return t
}

// RoundTrip waits for a place. When the context ends first, the request was not
// sent.
func (t *limitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := kindOf(req.Method, req.URL.Path)
	places, limited := t.lanes[lane{kind.Service, kind.Class}]
	if !limited {
		return t.next.RoundTrip(req)
	}
	if err := places.Acquire(req.Context(), 1); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, &NoAnswerError{Service: kind.Service, Method: req.Method, Err: err}
	}
	defer places.Release(1)
	return t.next.RoundTrip(req)
}
