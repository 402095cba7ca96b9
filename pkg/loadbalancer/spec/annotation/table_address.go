package annotation

import "slices"

// Names that code outside of the table uses.
const (
	FloatingPattern   = Prefix + "floating-subnet"
	FloatingTags      = Prefix + "floating-subnet-tags"
	FloatingIPID      = Prefix + "floating-ip-id"
	FloatingIPTag     = Prefix + "floating-ip-tag"
	PortID            = Prefix + "port-id"
	VIPAddress        = Prefix + "vip-address"
	AdditionalSubnets = Prefix + "additional-vip-subnet-ids"
	VIPQoSPolicyID    = Prefix + "vip-qos-policy-id"
	VIPSecurityGroups = Prefix + "vip-sg-ids"
	IPMode            = Prefix + "ip-mode"
	IngressHostname   = Prefix + "ingress-hostname"
)

// addressTable holds the annotations of VIP and floating IP.
func addressTable() []Annotation { return slices.Concat(vipTable(), floatingTable()) }

// vipTable holds the annotations of the VIP.
func vipTable() []Annotation {
	return []Annotation{
		{
			Name: Internal, Key: "internal-lb", Change: InPlace,
			Value: cpo(boolean(func(v *Values) **bool { return &v.Internal })),
			Doc:   "No floating IP: the load balancer is reachable on its VIP only. The key of cloud.conf makes all Services internal, regardless of their annotations; `internal-by-default` makes those internal that do not have \"false\".",
		},
		{
			Name: SubnetID, Key: "subnet-id", Default: "the subnet of most nodes", Change: NeedsReplace,
			Value: text("the ID of a subnet", func(v *Values) **string { return &v.VIP.SubnetID }),
			Doc:   "The subnet of the VIP; also of the members, unless `member-subnet-id` or cloud.conf's `subnet-id` is set.",
		},
		{
			Name: NetworkID, Key: "network-id", Change: NeedsReplace,
			Value: text("the ID of a network", func(v *Values) **string { return &v.VIP.NetworkID }),
			Doc:   "The network of the VIP. Of several subnets Octavia chooses one with free addresses; with an address, the subnet that contains it.",
		},
		{
			Name: PortID, Change: NeedsReplace,
			Value: text("the ID of a port of the project that no device uses", func(v *Values) **string { return &v.VIP.PortID }),
			Doc:   "The port that becomes the VIP, with its address, instead of one that Octavia creates. It is never deleted. Not for the provider ovn.",
		},
		{
			Name: VIPAddress, New: true, Change: NeedsReplace,
			Value: text("a free address in the subnet of the VIP", func(v *Values) **string { return &v.VIP.Address }),
			Doc:   "The address of the VIP, also in addition to a floating IP. Without a floating IP, `spec.loadBalancerIP` does the same.",
		},
		{
			Name: AdditionalSubnets, New: true, Default: "one of the second IP family if the Service is dual-stack, else none", Change: NeedsReplace,
			Value: subnets("comma-separated IDs of at most 5 subnets", 5, func(v *Values) **string { return &v.VIP.AdditionalSubnetIDs }),
			Doc:   "The subnets of further VIPs, one for each VIP, in the network of the first VIP and of the Service's `ipFamilies`. Octavia 11.0 (Zed) with the provider amphora, or Octavia 14.0 (2024.1) with ovn.",
		},
		{
			Name: VIPQoSPolicyID, New: true, Key: "vip-qos-policy-id", Change: InPlace,
			Value: ids("the ID of a QoS policy, or none", 1, func(v *Values) **string { return &v.VIP.QoSPolicyID }),
			Doc:   "The QoS policy of the VIP's ports. When the annotation is removed it stays; `none` removes it. Not for the providers ovn and f5. Only if `deny-annotations` in cloud.conf permits it.",
		},
		{
			Name: VIPSecurityGroups, New: true, Key: "vip-sg-ids", Change: InPlace,
			Value: ids("comma-separated IDs of security groups, or none", 100, func(v *Values) **string { return &v.VIP.SecurityGroups }),
			Doc:   "The security groups of the VIP's ports, instead of the one that Octavia creates: they alone determine who may connect, to which ports. When the annotation is removed they stay; `none` removes them. Not together with source ranges. Octavia 16.0 (2025.1), provider amphora only. Only if `deny-annotations` in cloud.conf permits it.",
		},
	}
}

// floatingTable holds the annotations of the floating IP and of the published status.
func floatingTable() []Annotation {
	return []Annotation{
		{
			Name: FloatingNetID, Key: "floating-network-id", EmptyIsNone: true, Default: "an external network that the router of the VIP leads to: the default, else the first", Change: OnlyAtCreation,
			Value: text("the ID of an external network", func(v *Values) **string { return &v.Floating.NetworkID }),
			Doc:   "The network of the floating IP.",
		},
		{
			Name: FloatingSubnet, Key: "floating-subnet-id", Change: OnlyAtCreation,
			Value: text("the ID of a subnet of the external network", func(v *Values) **string { return &v.Floating.SubnetID }),
			Doc:   "The subnet of the floating IP.",
		},
		{
			Name: FloatingPattern, Key: "floating-subnet", Change: OnlyAtCreation,
			Value: line("a pattern for names: a glob, or a regular expression after `~`; a leading `!` negates",
				func(v *Values) **string { return &v.Floating.Pattern }),
			Doc: "The subnets for the floating IP, by name: the first with a free address is used. `floating-subnet-id` takes precedence. Most clouds show the subnets of external networks to administrators only.",
		},
		{
			Name: FloatingTags, Key: "floating-subnet-tags", Change: OnlyAtCreation,
			Value: line("comma-separated tags: any of them, all of them after `&`; a leading `!` negates",
				func(v *Values) **string { return &v.Floating.Tags }),
			Doc: "The subnets for the floating IP, by tag: the first with a free address is used. With `floating-subnet`, both must match.",
		},
		{
			Name: FloatingIPID, New: true, Change: InPlace,
			Value: text("the ID of a floating IP of the project", func(v *Values) **string { return &v.Floating.ID }),
			Doc:   "The floating IP to use. It must be free, and is never deleted. Only if `deny-annotations` in cloud.conf permits it.",
		},
		{
			Name: FloatingIPTag, New: true, Change: InPlace,
			Value: line("a tag of floating IPs of the project", func(v *Values) **string { return &v.Floating.Tag }),
			Doc:   "Uses a free floating IP with that tag, the first by address if there are several. It is never deleted. Only if `deny-annotations` in cloud.conf permits it.",
		},
		{
			Name: KeepFloatingIP, Default: "false", Change: AtDeletion,
			Value: cpo(boolean(func(v *Values) **bool { return &v.Floating.Keep })),
			Doc:   "The floating IP outlives the Service. An invalid value keeps it, too. An explicit `false` also deletes one that the Service requests, if this controller created it for a Service of the same namespace.",
		},
		{
			Name: Hostname, Change: InPlace,
			Value: text("a DNS name", func(v *Values) **string { return &v.Hostname }),
			Doc:   "The name to publish in the Service's status instead of the address.",
		},
		{
			Name: IngressHostname, New: true, Key: "enable-ingress-hostname", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.Status.IngressHostname }),
			Doc:   "Publishes a name made of the address and `ingress-hostname-suffix` of cloud.conf instead of the address. The key does that only for Services with PROXY headers.",
		},
		{
			Name: IPMode, New: true, Default: "VIP; with PROXY headers Proxy", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Status.IPMode }, "VIP", "Proxy"),
			Doc:   "The ipMode in the Service's status: with `VIP`, kube-proxy handles connections from within the cluster itself; with `Proxy`, they pass through the load balancer.",
		},
	}
}
