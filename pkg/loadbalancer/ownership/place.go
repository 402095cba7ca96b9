package ownership

import "slices"

// Place is the set of possible locations of this cluster's load balancers: the subnets of its
// nodes, and those in cloud.conf. Settings of Services do not count.
type Place struct {
	Subnets, Networks []string
}

// Has reports whether a VIP in a subnet of a network can belong to this cluster. Only there is its
// address a proof: another network of the project may have the same range of addresses.
func (p Place) Has(subnetID, networkID string) bool {
	return subnetID != "" && slices.Contains(p.Subnets, subnetID) || networkID != "" && slices.Contains(p.Networks, networkID)
}
