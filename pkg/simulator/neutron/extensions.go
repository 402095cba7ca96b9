package neutron

// DefaultExtensions are aliases that a usual Neutron with OVN announces, as
// far as a cloud controller looks at them.
func DefaultExtensions() []string {
	return []string{
		"address-group", "address-scope", "agent", "allowed-address-pairs", "availability_zone",
		"default-subnetpools", "dns-integration", "dns-domain-ports", "expose-port-forwarding-in-fip",
		"ext-gw-mode", "external-net", "extra_dhcp_opt", "extraroute", "extraroute-atomic",
		"filter-validation", "fip-port-details", "floating-ip-port-forwarding", "ip_allocation",
		"ip-substring-filtering", "l2_adjacency", "net-mtu", "net-mtu-writable", "pagination",
		"port-security", "project-id", "provider", "qos", "qos-fip", "quotas", "rbac-policies",
		"revision-if-match", "router", "router_availability_zone", "security-group",
		"security-groups-normalized-cidr", "security-groups-remote-address-group",
		"security-groups-shared-filtering", "sorting", "standard-attr-description",
		"standard-attr-revisions", "standard-attr-tag", "standard-attr-timestamp",
		"stateful-security-group", "subnet_allocation", "subnet-service-types", "trunk",
	}
}
