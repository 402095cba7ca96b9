package octavia

import "slices"

// Vendor is a provider of a vendor. Such drivers check little when they are
// called: what they cannot do ends as an object in ERROR, and not in a
// refusal. Nil lists mean that everything is supported.
type Vendor struct {
	Algorithms, Protocols, MonitorTypes []string
	// NoFullCreate refuses load balancers with children with 501, NoBatch the
	// replacement of all members of a pool.
	NoFullCreate, NoBatch bool
}

// vendor is what the options say of a load balancer's provider.
func (o *Octavia) vendor(lb *LoadBalancer) (Vendor, bool) {
	vendor, is := o.options.Vendors[lb.Provider]
	return vendor, is
}

// fails reports whether the vendor's driver ends with an error on this object.
func (v Vendor) fails(thing object) bool {
	lacks := func(supported []string, value string) bool {
		return supported != nil && !slices.Contains(supported, value)
	}
	switch t := thing.(type) {
	case *Listener:
		return lacks(v.Protocols, t.Protocol)
	case *Pool:
		return lacks(v.Protocols, t.Protocol) || lacks(v.Algorithms, t.Algorithm)
	case *Monitor:
		return lacks(v.MonitorTypes, t.Type)
	}
	return false
}

// driverL7 is what a provider refuses of L7 policies and rules.
func (o *Octavia) driverL7(lb *LoadBalancer, what, things string) *apiError {
	if lb.Provider == ProviderOVN {
		return unsupportedAction(lb.Provider, "This provider does not support "+what+" "+things+".")
	}
	return nil
}
