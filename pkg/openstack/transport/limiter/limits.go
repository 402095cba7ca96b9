package limiter

import "github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"

// Limits are the maximum numbers of concurrent requests, by class. A class starts with a lower
// limit, which grows while the cloud answers well and shrinks otherwise. A request that waits to be
// repeated does not count. Fields that are not positive take the default.
//
// The defaults follow from Octavia's behavior: it creates the load balancers of one project one
// after the other (each locks the row of the project's quota while it requests the VIP port from
// Neutron, and fails with 503 after 50 s), and its API processes are bound by CPU.
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

// WithDefaults returns the limits with the defaults for fields that are not positive.
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

// bounds are the initial and the maximum limit of a class.
type bounds struct{ start, max int }

// byClass returns the bounds of every limited class. Tokens have no limit, because all other
// requests need one.
func (l Limits) byClass() map[rest.Class]bounds {
	all := map[rest.Class]bounds{
		rest.LoadBalancerCreate: {4, l.LoadBalancerCreates},
		rest.LoadBalancerDelete: {8, l.LoadBalancerDeletes},
		rest.LoadBalancerUpdate: {8, l.LoadBalancerUpdates},
		rest.LoadBalancerRead:   {8, l.Reads},
		rest.NetworkWrite:       {8, l.NetworkWrites},
		rest.NetworkRead:        {8, l.Reads},
		rest.ServerRead:         {8, l.Reads},
		rest.KeyManager:         {8, l.Reads},
		rest.Other:              {8, l.Reads},
	}
	for class, b := range all {
		all[class] = bounds{min(b.start, b.max), b.max}
	}
	return all
}

// PerHost returns the maximum number of connections to one host, with some in reserve for tokens.
func (l Limits) PerHost() int {
	connections := 2
	for _, b := range l.byClass() {
		connections += b.max
	}
	return connections
}
