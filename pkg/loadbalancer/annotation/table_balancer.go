package annotation

// Names that code outside of the table needs.
const (
	FlavorID         = Prefix + "flavor-id"
	AvailabilityZone = Prefix + "availability-zone"
	AllowReplace     = Prefix + "allow-replace"
	Tags             = Prefix + "tags"
	// LoadBalancerAddress is written by the controller.
	LoadBalancerAddress = Prefix + "load-balancer-address"
)

// balancerTable holds what makes the load balancer as a whole.
func balancerTable() []Annotation {
	return []Annotation{
		{
			Name: Class, Change: InPlace,
			Value: text("the name of a [LoadBalancerClass] of cloud.conf", func(v *Values) **string { return &v.LoadBalancer.Class }),
			Doc:   "Takes the settings of that section; each changes as its own annotation does.",
		},
		{
			Name: Provider, Key: "lb-provider", Change: NeedsReplace,
			Value: text("the name of a provider that Octavia has, such as amphora or ovn", func(v *Values) **string { return &v.LoadBalancer.Provider }),
			Doc:   "The driver of Octavia that makes a new load balancer.",
		},
		{
			Name: FlavorID, Key: "flavor-id", EmptyIsNone: true, Change: NeedsReplace,
			Value: line("the ID or the name of a flavor of Octavia", func(v *Values) **string { return &v.LoadBalancer.FlavorID }),
			Doc:   "What a new load balancer is built like.",
		},
		{
			Name: AvailabilityZone, Key: "availability-zone", EmptyIsNone: true, Change: NeedsReplace,
			Value: text("the name of an availability zone of Octavia", func(v *Values) **string { return &v.LoadBalancer.AvailabilityZone }),
			Doc:   "Where a new load balancer is built.",
		},
		{
			Name: AllowReplace, Default: "false", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.LoadBalancer.AllowReplace }),
			Doc:   "Permits to make a new load balancer, and delete the old one, where only that can do what is asked for: see [addresses.md](addresses.md).",
		},
		{
			Name: Tags, Key: "tags", EmptyIsNone: true, Change: ForNew,
			Value: tags(func(v *Values) *[]string { return &v.LoadBalancer.Tags }),
			Doc:   "Tags for the load balancer, its listeners, pools and monitors, beside the controller's own; in place of those of cloud.conf.",
		},
		{
			Name: LoadBalancerID, Change: InPlace,
			Value: text("the ID of a load balancer", func(v *Values) **string { return &v.LoadBalancer.ID }),
			Doc:   "The load balancer of that ID: the Service's own, or one that it shares.",
		},
	}
}
