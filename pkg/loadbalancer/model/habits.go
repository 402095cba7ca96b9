package model

// Habits are the ways of a provider's driver that matter to how changes are sent
// and waited for. The zero value is the usual way.
type Habits struct {
	// Quick tells that changes are done within seconds: nothing is booted.
	Quick bool
	// ReportsEarly tells that a load balancer is ACTIVE before what is in it.
	ReportsEarly bool
	// TellSubnets tells that every member has to be named with its subnet, each time.
	TellSubnets bool
	// TouchPools tells that a pool is brought back only by a write that has something
	// in it.
	TouchPools bool
}
