package model

import (
	"cmp"
	"slices"
)

// Forwarding is a port forwarding: packets to a port of a floating IP go to a port of a node.
type Forwarding struct {
	// ID and PortID are not compared: the ID of the forwarding, and the node's port in Neutron.
	ID     string `json:"-"`
	PortID string `json:"-"`
	// Key is the port of the floating IP, Address and NodePort are the target.
	Key      ListenerKey
	Address  string
	NodePort int
}

// Same reports whether two forwardings have the same port of the floating IP and the same target.
func (f Forwarding) Same(other Forwarding) bool {
	return f.Key == other.Key && f.Address == other.Address && f.NodePort == other.NodePort
}

// Blocks reports whether a forwarding of another port cannot be created while this one exists, because both have the
// same target.
func (f Forwarding) Blocks(other Forwarding) bool {
	return f.Key != other.Key && f.Key.Transport == other.Key.Transport && f.Address == other.Address && f.NodePort == other.NodePort
}

// SortForwardings sorts forwardings by their ports of the floating IP.
func SortForwardings(all []Forwarding) {
	slices.SortFunc(all, func(a, b Forwarding) int {
		return cmp.Or(cmp.Compare(a.Key.Port, b.Key.Port), cmp.Compare(a.Key.Transport, b.Key.Transport))
	})
}

// Targets returns the addresses to which forwardings lead, sorted.
func Targets(all []Forwarding) []string {
	var targets []string
	for _, f := range all {
		targets = append(targets, f.Address)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}
