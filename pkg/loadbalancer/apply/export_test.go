package apply

// What tests of the limits, and of what a creation is taken to have made, need.
var (
	Shrink      = shrinkLoadBalancer
	Size        = size
	AtMost      = atMost
	WithSent    = withSent
	MembersOpts = membersOpts
	CreateOpts  = loadBalancerOpts
)
