package neutron

// DefaultExtensions are the aliases that a Zed with OVN announces, and
// extraroute-atomic, which it has without saying so.
func DefaultExtensions() []string {
	return []string{
		"address-group", "address-scope", "agent", "allowed-address-pairs", "auto-allocated-topology",
		"availability_zone", "binding", "binding-extended", "default-subnetpools", "dns-domain-ports",
		"dns-integration", "dns-integration-domain-keywords", "expose-port-forwarding-in-fip", "ext-gw-mode",
		"external-net", "extra_dhcp_opt", "extraroute", "extraroute-atomic", "filter-validation", "fip-port-details",
		"flavors", "floating-ip-port-forwarding", "floating-ip-port-forwarding-description",
		"floating-ip-port-forwarding-detail", "floating-ip-port-forwarding-port-ranges", "floatingip-pools",
		"ip_allocation", "l2_adjacency", "multi-provider", "net-mtu", "net-mtu-writable", "network-ip-availability",
		"network_availability_zone", "pagination", "port-device-profile", "port-mac-address-regenerate",
		"port-numa-affinity-policy", "port-resource-request", "port-resource-request-groups", "port-security",
		"project-id", "provider", "qos", "qos-bw-limit-direction", "qos-bw-minimum-ingress", "qos-default",
		"qos-fip", "qos-gateway-ip", "qos-port-network-policy", "qos-pps", "qos-pps-minimum",
		"qos-pps-minimum-rule-alias", "qos-rule-type-details", "qos-rule-type-filter", "qos-rules-alias",
		"quota-check-limit", "quota_details", "quotas", "rbac-address-scope", "rbac-policies",
		"rbac-security-groups", "revision-if-match", "router", "router_availability_zone", "security-group",
		"security-groups-normalized-cidr", "security-groups-remote-address-group",
		"security-groups-shared-filtering", "segment", "segments-peer-subnet-host-routes", "service-type", "sorting",
		"standard-attr-description", "standard-attr-revisions", "standard-attr-segment", "standard-attr-tag",
		"standard-attr-timestamp", "stateful-security-group", "subnet-dns-publish-fixed-ip",
		"subnet-segmentid-writable", "subnet-service-types", "subnet_allocation", "trunk", "trunk-details",
	}
}
