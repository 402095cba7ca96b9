// Package cost has the figures that the changes in the life of a Service are held
// to: by the benchmark on a simulated cloud, and by the suite on real services.
package cost

// Cost is what a change takes of the cloud.
type Cost struct {
	// Writes are requests that change something; signing in is none.
	Writes int
	// Cycles is how often the load balancer becomes PENDING.
	Cycles int
}

// Create is that of a Service with a floating IP. Overflow is the number of pools
// whose members do not fit into the one request that makes the load balancer.
func Create(overflow int) Cost { return Cost{Writes: 1 + overflow + 1, Cycles: 1 + overflow} }

// Nothing is that of a Service that already has all that it asks for.
func Nothing() Cost { return Cost{} }

// NodesChange is that of any number of nodes that come or go: one write for the
// members of each port.
func NodesChange(ports int) Cost { return Cost{Writes: ports, Cycles: ports} }

// Delete is that of a load balancer with all that is below it, and its floating IP.
func Delete() Cost { return Cost{Writes: 2, Cycles: 1} }
