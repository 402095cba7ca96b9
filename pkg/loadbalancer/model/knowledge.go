package model

// Knowledge describes how well the contents of a load balancer are known. The zero value is a full
// read from the cloud that is not confirmed.
type Knowledge struct {
	Depth  Depth
	Source Source
	// Confirmed is set if the contents are proven to be the cloud's: for an observation, at a time
	// within its round; for an applied state, at its updated_at.
	Confirmed bool
}

// Depth is the part of the contents that is known.
type Depth uint8

// The depths, the deepest first.
const (
	// Full includes the settings of members.
	Full Depth = iota
	// Settings are those of listeners, pools and health monitors. Of members, only addresses and
	// statuses are known, and the settings that show whether a health monitor uses the right port.
	Settings
	// Listed has the attributes of the load balancer itself. Its parts are as desired, but have no
	// IDs.
	Listed
)

// Source is the origin of the contents.
type Source uint8

// The sources of contents.
const (
	// Cloud is a read or a write for this Service.
	Cloud Source = iota
	// Lists are those of the project, which many Services share. They are never the basis of a
	// change: a second read of the same lists confirms nothing.
	Lists
	// Memory is the applied state of this process.
	Memory
	// Record is the record of an earlier process.
	Record
)
