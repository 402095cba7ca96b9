package annotation

import "maps"

// Record is what the controller keeps in the annotations of a Service whose load balancer
// is in sync.
type Record struct {
	// Fingerprint lets the next process recognize the load balancer without reading it; ""
	// as long as that must read it.
	Fingerprint string
	// LoadBalancerID and Address are what cloud-provider-openstack writes, for other tools
	// and for people.
	LoadBalancerID, Address string
	// Named is the load-balancer-id that the Service had when the load balancer was in
	// sync. If a user has changed it since, the user's value stays.
	Named string
}

// Changes returns the annotations that a Service with the current ones lacks, by name.
// Nothing is ever removed.
func (r Record) Changes(current map[string]string) map[string]string {
	changes := map[string]string{Fingerprint: r.Fingerprint, LoadBalancerAddress: r.Address}
	if current[LoadBalancerID] == r.Named {
		changes[LoadBalancerID] = r.LoadBalancerID
	}
	maps.DeleteFunc(changes, func(name, value string) bool { return value == "" || current[name] == value })
	return changes
}
