package openstack

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// Limits are the greatest numbers of requests in flight at a time, by class of
// request. A class starts lower, grows while the cloud answers well, and shrinks
// when it does not. A request that waits to be repeated is not in flight. Fields
// that are not positive take the default.
//
// The defaults follow from what Octavia does: load balancers of one project are
// created one after the other (each holds the row of the project's quota while it
// asks Neutron for the VIP port, and gives up with 503 after 50 s), and its API
// processes are bound by CPU.
type Limits struct {
	// LoadBalancerCreates: 8, starting at 4.
	LoadBalancerCreates int
	// LoadBalancerDeletes: 16, starting at 8.
	LoadBalancerDeletes int
	// LoadBalancerUpdates are all other writes to Octavia: 32, starting at 8.
	LoadBalancerUpdates int
	// Reads are counted for each service on its own: 16, starting at 8.
	Reads int
	// NetworkWrites: 16, starting at 8.
	NetworkWrites int
}

func (l Limits) withDefaults() Limits {
	orDefault := func(value *int, byDefault int) {
		if *value <= 0 {
			*value = byDefault
		}
	}
	orDefault(&l.LoadBalancerCreates, 8)
	orDefault(&l.LoadBalancerDeletes, 16)
	orDefault(&l.LoadBalancerUpdates, 32)
	orDefault(&l.Reads, 16)
	orDefault(&l.NetworkWrites, 16)
	return l
}

// bounds are where the limit of a class starts, and how far it may grow.
type bounds struct{ start, most int }

// byClass gives the bounds of every class that is limited. Tokens are not: without
// one, nothing else goes on.
func (l Limits) byClass() map[request.Class]bounds {
	all := map[request.Class]bounds{
		request.LoadBalancerCreate: {4, l.LoadBalancerCreates},
		request.LoadBalancerDelete: {8, l.LoadBalancerDeletes},
		request.LoadBalancerUpdate: {8, l.LoadBalancerUpdates},
		request.LoadBalancerRead:   {8, l.Reads},
		request.NetworkWrite:       {8, l.NetworkWrites},
		request.NetworkRead:        {8, l.Reads},
		request.ServerRead:         {8, l.Reads},
		request.KeyManager:         {8, l.Reads},
		request.Other:              {8, l.Reads},
	}
	for class, b := range all {
		all[class] = bounds{min(b.start, b.most), b.most}
	}
	return all
}

// perHost is the number of connections that one host can have in use, with some
// to spare for tokens.
func (l Limits) perHost() int {
	connections := 2
	for _, b := range l.byClass() {
		connections += b.most
	}
	return connections
}

// pacer lets a limited number of requests of each class through at a time. A nil
// pacer lets all through.
type pacer struct {
	lanes map[request.Class]*lane
}

func newPacer(limits Limits, now clock.Clock, metrics *Metrics) *pacer {
	p := &pacer{lanes: map[request.Class]*lane{}}
	for class, b := range limits.byClass() {
		p.lanes[class] = newLane(class, b, now, metrics)
	}
	return p
}

// enter waits for a place for one attempt at the request. Its error is that of the
// request's context; the request was not sent then. The place has to be left,
// whatever becomes of the attempt.
func (p *pacer) enter(req *http.Request, kind request.Kind) (*place, error) {
	if p == nil {
		return nil, nil
	}
	lane, limited := p.lanes[kind.Class]
	if !limited {
		return nil, nil
	}
	place, err := lane.enter(req.Context(), kind.Name, priorityOf(req, kind))
	if place != nil {
		place.asked = contentOf(req)
	}
	return place, err
}
