package apply

// What tests of the limits need.
var (
	Shrink      = shrinkLoadBalancer
	Size        = size
	MembersOpts = membersOpts
	CreateOpts  = loadBalancerOpts
)
