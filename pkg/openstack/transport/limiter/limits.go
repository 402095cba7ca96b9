package limiter

import "github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"

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

// WithDefaults returns the limits with the defaults for what is not positive.
func (l Limits) WithDefaults() Limits {
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
type bounds struct{ start, max int }

// byClass returns the bounds of every class that is limited. Tokens are not: without
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
		all[class] = bounds{min(b.start, b.max), b.max}
	}
	return all
}

// PerHost returns the number of connections that one host can have in use, with some
// to spare for tokens.
func (l Limits) PerHost() int {
	connections := 2
	for _, b := range l.byClass() {
		connections += b.max
	}
	return connections
}
