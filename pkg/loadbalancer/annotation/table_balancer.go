package annotation

// balancerTable holds what makes the load balancer as a whole.
func balancerTable() []Annotation {
	return []Annotation{
		{
			Name: Class, Change: InPlace,
			Value: text("the name of a [LoadBalancerClass] of cloud.conf", func(v *Values) **string { return &v.Class }),
			Doc:   "Takes the settings of that section; each changes as its own annotation does.",
		},
		{
			Name: Provider, Key: "lb-provider", Change: OnlyAtCreation,
			Value: text("the name of a provider that Octavia has, such as amphora or ovn", func(v *Values) **string { return &v.Provider }),
			Doc:   "The driver of Octavia that makes a new load balancer.",
		},
		{
			Name: Prefix + "flavor-id", Key: "flavor-id", Change: OnlyAtCreation,
			Value: text("the ID of a flavor of Octavia", func(v *Values) **string { return &v.FlavorID }),
			Doc:   "What a new load balancer is built like.",
		},
		{
			Name: Prefix + "availability-zone", Key: "availability-zone", Change: OnlyAtCreation,
			Value: text("the name of an availability zone of Octavia", func(v *Values) **string { return &v.AvailabilityZone }),
			Doc:   "Where a new load balancer is built.",
		},
		{
			Name: LoadBalancerID, Change: InPlace,
			Value: text("the ID of a load balancer", func(v *Values) **string { return &v.LoadBalancerID }),
			Doc:   "Proof that the load balancer of that ID was made for this Service.",
		},
	}
}
