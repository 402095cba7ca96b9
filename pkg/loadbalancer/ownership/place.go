package ownership

import "slices"

// Place is where the load balancers of this cluster can be: in the subnets of its nodes,
// and where cloud.conf puts them. What a Service asks for does not count.
type Place struct {
	Subnets, Networks []string
}

// Has reports whether a VIP in a subnet of a network can be of a load balancer of this
// cluster. Only there does its address prove anything: another network of the project
// may have the same range of addresses.
func (p Place) Has(subnetID, networkID string) bool {
	return subnetID != "" && slices.Contains(p.Subnets, subnetID) || networkID != "" && slices.Contains(p.Networks, networkID)
}
