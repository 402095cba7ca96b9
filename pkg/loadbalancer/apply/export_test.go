package apply

// What tests of the limits need.
const BodyLimit = bodyLimit

var (
	Chunks      = chunks
	Fitting     = fitting
	Size        = size
	MembersOpts = membersOpts
	CreateOpts  = loadBalancerOpts
)
