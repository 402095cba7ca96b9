package annotation

// addressTable holds what decides on VIP and floating IP.
func addressTable() []Annotation {
	return []Annotation{
		{
			Name: Internal, Key: "internal-lb", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.Internal }),
			Doc:   "No floating IP: the load balancer is reachable on its VIP only. The key of cloud.conf makes all Services internal, whatever their annotations say.",
		},
		{
			Name: SubnetID, Key: "subnet-id", Default: "the subnet of the nodes", Change: OnlyAtCreation,
			Value: text("the ID of a subnet", func(v *Values) **string { return &v.SubnetID }),
			Doc:   "The subnet of the VIP, and of the members unless `member-subnet-id` is given.",
		},
		{
			Name: NetworkID, Key: "network-id", Change: OnlyAtCreation,
			Value: text("the ID of a network", func(v *Values) **string { return &v.NetworkID }),
			Doc:   "The network of the VIP.",
		},
		{Name: Prefix + "port-id", Value: never(), Change: OnlyAtCreation, Doc: "Refused: the VIP would be at another port."},
		{
			Name: FloatingNetID, Key: "floating-network-id", Default: "the default external network, else the first", Change: OnlyAtCreation,
			Value: text("the ID of an external network", func(v *Values) **string { return &v.FloatingNetworkID }),
			Doc:   "Where the floating IP comes from.",
		},
		{
			Name: FloatingSubnet, Key: "floating-subnet-id", Change: OnlyAtCreation,
			Value: text("the ID of a subnet of the external network", func(v *Values) **string { return &v.FloatingSubnetID }),
			Doc:   "The subnet that the floating IP comes from.",
		},
		{Name: Prefix + "floating-subnet"},
		{Name: Prefix + "floating-subnet-tags"},
		{
			Name: KeepFloatingIP, Default: "false", Change: AtDeletion,
			Value: boolean(func(v *Values) **bool { return &v.KeepFloatingIP }),
			Doc:   "The floating IP outlives the Service.",
		},
		{Name: Prefix + "hostname"},
	}
}
