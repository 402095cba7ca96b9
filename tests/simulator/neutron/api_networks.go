package neutron

// visible keeps what the caller may see.
func visible[T any](records []T, may func(T) bool) []T {
	kept := make([]T, 0, len(records))
	for _, record := range records {
		if may(record) {
			kept = append(kept, record)
		}
	}
	return kept
}

func (c *call) seesNetwork(record *network) bool {
	return c.sees(record.ProjectID) || record.Shared || record.External
}

// seesSubnet reports whether the caller may read a subnet: one of its own, or of a
// shared network. Tenants can read external networks, but not their subnets.
func (n *Neutron) seesSubnet(c *call, record *subnet) bool {
	if c.sees(record.ProjectID) {
		return true
	}
	parent, ok := n.networks.get(record.NetworkID)
	return ok && (parent.Shared || (parent.External && n.options.ExternalSubnetsVisible))
}

func (n *Neutron) listNetworks(c *call) (int, any, error) {
	return list(n, c, "networks", visible(n.networks.all(), c.seesNetwork), networkNotFound)
}

func (n *Neutron) showNetwork(c *call) (int, any, error) {
	record, ok := n.networks.get(c.PathValue("id"))
	if !ok || !c.seesNetwork(record) {
		return 0, nil, networkNotFound(c.PathValue("id"))
	}
	return show(c, "network", record)
}

func (n *Neutron) listSubnets(c *call) (int, any, error) {
	seen := visible(n.subnets.all(), func(record *subnet) bool { return n.seesSubnet(c, record) })
	return list(n, c, "subnets", seen, subnetNotFound)
}

func (n *Neutron) showSubnet(c *call) (int, any, error) {
	record, ok := n.subnets.get(c.PathValue("id"))
	if !ok || !n.seesSubnet(c, record) {
		return 0, nil, subnetNotFound(c.PathValue("id"))
	}
	return show(c, "subnet", record)
}
