package annotation

// memberTable holds the annotations of members.
func memberTable() []Annotation {
	return []Annotation{
		{
			Name: MemberSubnetID, Key: "member-subnet-id", Default: "`subnet-id` of [LoadBalancer], else that of the VIP, else that of each node", Change: InPlace,
			Value: text("the ID of a subnet", func(v *Values) **string { return &v.Members.SubnetID }),
			Doc:   "The subnet in which the load balancer reaches the nodes.",
		},
		{
			Name: NodeSelector, Key: "node-selector", EmptyIsNone: true, Change: InPlace,
			Value: selector(func(v *Values) **string { return &v.Members.NodeSelector }),
			Doc:   "Only nodes with these labels become members; `key=` means any value of the label.",
		},
		{
			Name: MaxMembers, New: true, Key: "max-members", Change: InPlace,
			Value: from(0, 10000, func(v *Values) **int { return &v.Members.Max }),
			Doc:   "Maximum number of nodes that become members, with externalTrafficPolicy Cluster; 0 means all.",
		},
	}
}
