package model

import "time"

// Stay is how long members stay after their endpoints began to terminate. The zero value is: until these have stopped.
type Stay struct {
	// For is the time of a member that leaves alone.
	For time.Duration
	// Each is how much earlier a member leaves for each one that leaves with it or after it: drivers that cut
	// connections remove members in turn.
	Each time.Duration
	// Family is the IP family of the members, IPv4 or IPv6, "" for any.
	Family string
}
