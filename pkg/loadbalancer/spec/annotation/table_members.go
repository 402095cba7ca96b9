package annotation

// The values of Members.
const (
	MembersAuto          = "auto"
	MembersNodes         = "nodes"
	MembersEndpointNodes = "endpoint-nodes"
	MembersPods          = "pods"
)

// The values of MemberWeights.
const (
	WeightsEqual     = "equal"
	WeightsDrain     = "drain"
	WeightsEndpoints = "endpoints"
)

// memberTable holds the annotations of members.
func memberTable() []Annotation {
	return []Annotation{
		{
			Name: MemberSubnetID, Key: "member-subnet-id", Default: "`subnet-id` of [LoadBalancer], else that of the VIP, else that of each node", Change: InPlace,
			Value: text("the ID of a subnet", func(v *Values) **string { return &v.Members.SubnetID }),
			Doc:   "The subnet in which the load balancer reaches the nodes.",
		},
		{
			Name: MemberAddress, New: true, Key: "member-address-by-subnet", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.Members.BySubnet }),
			Doc:   "Of a node with several addresses, the one in the member subnet becomes the member, and for the other IP family one in its network; otherwise, and if there is none, the first internal one does.",
		},
		{
			Name: NodeSelector, Key: "node-selector", EmptyIsNone: true, Change: InPlace,
			Value: selector(func(v *Values) **string { return &v.Members.NodeSelector }),
			Doc:   "Only nodes with these labels become members; `key=` means any value of the label.",
		},
		{
			Name: Members, New: true, Key: "members", Default: "`auto`; a load balancer of another controller keeps `nodes`", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Members.Mode }, MembersAuto, MembersNodes, MembersEndpointNodes, MembersPods),
			Doc: "`nodes`: all nodes become members. `endpoint-nodes`: those with endpoints of the Service. `pods`: its pods, with their own addresses and ports. `auto`: `endpoint-nodes` for externalTrafficPolicy Local " +
				"if the provider cannot check whether a node has endpoints, and always with `router` and `port-forwarding`; else `nodes`. See members.md.",
		},
		{
			Name: MemberWeights, New: true, Key: "member-weights", Default: "`equal`", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Members.Weights }, WeightsEqual, WeightsDrain, WeightsEndpoints),
			Doc: "`drain`: a member that follows endpoints has the weight 0 while its endpoints terminate but still serve, and leaves after that. `endpoints`: the same, and nodes get new connections in proportion to their ready endpoints. Weights that another client sets are restored. " +
				"Refused with a provider without weights (ovn, router, port-forwarding). See members.md.",
		},
		{
			Name: MaxMembers, New: true, Key: "max-members", Change: InPlace,
			Value: from(0, 10000, func(v *Values) **int { return &v.Members.Max }),
			Doc:   "Maximum number of nodes that become members, with externalTrafficPolicy Cluster; 0 means all.",
		},
	}
}
