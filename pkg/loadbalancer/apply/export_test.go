package apply

// What tests of the limits need.
const BodyLimit = bodyLimit

var (
	Batches     = batches
	Shrink      = shrinkLoadBalancer
	Size        = size
	MembersOpts = membersOpts
	CreateOpts  = loadBalancerOpts
)
