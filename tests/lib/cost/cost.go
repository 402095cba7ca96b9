// Package cost has the maximum costs of the changes in the life of a Service, which the benchmark
// checks on a simulated cloud, and the suite on real services.
package cost

import "time"

// Cost is what a change takes of the cloud.
type Cost struct {
	// Writes are requests that change something; signing in is none.
	Writes int
	// Cycles is how often the load balancer becomes PENDING.
	Cycles int
}

// Work has the durations of a provider's work: for the creation of a load balancer with all parts,
// a change, a deletion, the creation of parts after that of the load balancer, and for each member
// of a batch after the first.
type Work struct{ Create, Update, Delete, Children, Members time.Duration }

// Amphora is that of the provider amphora, of what real clouds take the lesser: an amphora
// boots in 30 to 120 s and takes 2 to 8 s for a change.
func Amphora() Work {
	return Work{Create: 45 * time.Second, Update: 3 * time.Second, Delete: 5 * time.Second}
}

// OVN is that of the provider ovn, which takes up to 2 s for anything.
func OVN() Work {
	return Work{Create: time.Second, Update: 500 * time.Millisecond, Delete: time.Second, Children: time.Second}
}

// QueuedOVN is that of the provider ovn of 2025.1, which works on each member of a batch, and for each of
// them as often as there are parts of the load balancer: a tenth of what it took on a slow machine.
func QueuedOVN() Work {
	return Work{Create: 500 * time.Millisecond, Update: 100 * time.Millisecond, Delete: time.Second, Members: 50 * time.Millisecond}
}

// VIPPort is how long Neutron takes to make a VIP port. Meanwhile Octavia makes nothing
// else in the project: of real clouds, which take one to five seconds for a creation, again
// the least.
const VIPPort = time.Second

const (
	// bodyLimit is that of Octavia's API from 14.0 on: oslo.middleware's default.
	bodyLimit = 114_688
	// What the parts of a fully populated creation take at least, in bytes. A member
	// has address and port; of ovn also its subnet, which is part of its identity there.
	headBytes, portBytes, memberBytes, subnetBytes = 600, 350, 51, 51
)

// Overflow returns the number of pools with members that do not fit into the request that creates
// their load balancer; subnets is set if every member names its subnet, as those of ovn must.
func Overflow(ports, members int, subnets bool) int {
	member := memberBytes
	if subnets {
		member += subnetBytes
	}
	return max(0, ports-(bodyLimit-headBytes-portBytes*ports)/(max(1, members)*member))
}

// Create is that of a Service with a floating IP. Overflow is the number of pools
// with members that do not fit into the one request that creates the load balancer.
func Create(overflow int) Cost { return Cost{Writes: 1 + overflow + 1, Cycles: 1 + overflow} }

// Nothing is that of a Service that already has all that it asks for.
func Nothing() Cost { return Cost{} }

// NodesChange is that of any number of nodes that come or go: one write for the
// members of each port.
func NodesChange(ports int) Cost { return Cost{Writes: ports, Cycles: ports} }

// Delete is that of a load balancer with all that is below it, and its floating IP.
func Delete() Cost { return Cost{Writes: 2, Cycles: 1} }
