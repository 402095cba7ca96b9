package neutron

// unlimited is how Neutron writes "no limit".
const unlimited = -1

// defaultQuotas are those of Neutron's [quotas] options.
func defaultQuotas() map[string]int {
	return map[string]int{
		"network": 100, "subnet": 100, "subnetpool": unlimited, "port": 500, "router": 10,
		"floatingip": 50, "security_group": 10, "security_group_rule": 100, "rbac_policy": 10, "trunk": unlimited,
	}
}

// SetQuota limits a resource ("port", "floatingip", "security_group", "security_group_rule",
// "router_route" ...) in a project; -1 means no limit. Existing objects
// above the new limit stay.
func (n *Neutron) SetQuota(projectID, resource string, limit int) {
	n.lock()
	defer n.unlock()
	if n.quotas[projectID] == nil {
		n.quotas[projectID] = map[string]int{}
	}
	n.quotas[projectID][resource] = limit
}

// Quota is the limit of a resource in a project; -1 means none.
func (n *Neutron) Quota(projectID, resource string) int {
	n.lock()
	defer n.unlock()
	limit, known := n.quotaOf(projectID)[resource]
	if !known {
		return unlimited
	}
	return limit
}

func (n *Neutron) quotaOf(projectID string) map[string]int {
	limits := defaultQuotas()
	for resource, limit := range n.quotas[projectID] {
		limits[resource] = limit
	}
	return limits
}

// checkQuota returns an error if a project would own more than its limit. Objects without a
// project (the ports of floating IPs and router gateways) do not count.
func (n *Neutron) checkQuota(resource, projectID string, more int) error {
	limit, ok := n.quotaOf(projectID)[resource]
	if projectID == "" || !ok || limit == unlimited {
		return nil
	}
	if n.owned(resource, projectID)+more > limit {
		return overQuota(resource)
	}
	return nil
}

func (n *Neutron) owned(resource, projectID string) int {
	count := 0
	switch resource {
	case "network":
		count = ownedBy(projectID, n.networks.all())
	case "subnet":
		count = ownedBy(projectID, n.subnets.all())
	case "router":
		count = ownedBy(projectID, n.routers.all())
	case "router_route":
		for _, router := range n.routers.all() {
			if router.owner() == projectID {
				count += len(router.Routes)
			}
		}
	case "port":
		count = ownedBy(projectID, n.ports.all())
	case "floatingip":
		count = ownedBy(projectID, n.floatingIPs.all())
	case "security_group":
		count = ownedBy(projectID, n.securityGroups.all())
	case "security_group_rule":
		for _, group := range n.securityGroups.all() {
			count += ownedBy(projectID, group.Rules)
		}
	}
	return count
}

func ownedBy[T interface{ owner() string }](projectID string, records []T) int {
	count := 0
	for _, record := range records {
		if record.owner() == projectID {
			count++
		}
	}
	return count
}

func (s *standard) owner() string { return s.ProjectID }
