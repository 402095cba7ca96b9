package annotation

// Names that code outside of the table uses.
const (
	FlavorID         = Prefix + "flavor-id"
	AvailabilityZone = Prefix + "availability-zone"
	AllowReplace     = Prefix + "allow-replace"
	Tags             = Prefix + "tags"
	Managed          = Prefix + "managed"
	Share            = Prefix + "share"
	// LoadBalancerAddress is written by the controller.
	LoadBalancerAddress = Prefix + "load-balancer-address"
)

// balancerTable holds the annotations of the load balancer as a whole.
func balancerTable() []Annotation {
	return []Annotation{
		{
			Name: Class, Change: InPlace,
			Value: text("the name of a [LoadBalancerClass] of cloud.conf", func(v *Values) **string { return &v.LoadBalancer.Class }),
			Doc:   "Uses the settings of that section; each one behaves like its own annotation when it changes.",
		},
		{
			Name: Provider, New: true, Key: "lb-provider", Change: NeedsReplace,
			Value: text("the name of a provider that Octavia has, such as amphora or ovn, or router or port-forwarding", func(v *Values) **string { return &v.LoadBalancer.Provider }),
			Doc:   "The Octavia provider of a new load balancer.",
		},
		{
			Name: FlavorID, Key: "flavor-id", EmptyIsNone: true, Change: NeedsReplace,
			Value: line("the ID or the name of a flavor of Octavia", func(v *Values) **string { return &v.LoadBalancer.FlavorID }),
			Doc:   "The flavor of a new load balancer.",
		},
		{
			Name: AvailabilityZone, Key: "availability-zone", EmptyIsNone: true, Change: NeedsReplace,
			Value: text("the name of an availability zone of Octavia", func(v *Values) **string { return &v.LoadBalancer.AvailabilityZone }),
			Doc:   "The availability zone of a new load balancer.",
		},
		{
			Name: AllowReplace, New: true, Default: "false", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.LoadBalancer.AllowReplace }),
			Doc:   "Permits replacing the load balancer by a new one if a change is not possible otherwise: see [addresses.md](addresses.md).",
		},
		{
			Name: Managed, New: true, Default: "true", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.LoadBalancer.Managed }),
			Doc:   "With \"false\" nothing is written to OpenStack for the Service, and its deletion leaves all objects in the cloud. An event shows what would be changed. With \"true\" the Service is taken over again, without an interruption.",
		},
		{
			Name: Tags, New: true, Key: "tags", EmptyIsNone: true, Change: ForNew,
			Value: tags(func(v *Values) *[]string { return &v.LoadBalancer.Tags }),
			Doc:   "Tags for the load balancer, its listeners, pools and monitors, in addition to the controller's own; instead of those in cloud.conf.",
		},
		{
			Name: LoadBalancerID, Change: InPlace,
			Value: text("the ID of a load balancer", func(v *Values) **string { return &v.LoadBalancer.ID }),
			Doc:   "The load balancer of that ID: the Service's own, or one that it shares.",
		},
		{
			Name: Share, New: true, Change: InPlace,
			Value: shareName(func(v *Values) **string { return &v.LoadBalancer.Share }),
			Doc:   "All Services of the namespace with the same value use one load balancer: see [sharing.md](sharing.md#sharing-by-name). `load-balancer-id` has no effect beside it.",
		},
	}
}
