package members

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Change is the effect of a change of endpoints on the nodes that have some.
type Change struct {
	// Members is set if other nodes may become members, Lost if some may not be any more.
	Members, Lost bool
}

// ChangeOf compares two states of the endpoints of a Service, for any driver. Ports that the same
// slices have are compared once.
func ChangeOf(before, after Endpoints) Change {
	var change Change
	seen := map[string]bool{}
	for _, s := range slices.Concat(before, after) {
		for _, port := range s.Ports {
			in := fmt.Sprint(s.Family, before.indexes(s.Family, port), after.indexes(s.Family, port))
			if seen[in] {
				continue
			}
			seen[in] = true
			was, is := before.in(s.Family).of(port), after.in(s.Family).of(port)
			change.compare(was.members(false), is.members(false))
			change.compare(was.members(true), is.members(true))
		}
	}
	placeless := func(e Endpoints) bool { return e.some(Endpoint.serves) && !e.some(Endpoint.hasNode) }
	change.Members = change.Members || placeless(before) != placeless(after)
	return change
}

// compare adds the difference between two sorted lists of nodes.
func (c *Change) compare(was, is []string) {
	lost := slices.ContainsFunc(was, func(name string) bool { _, there := slices.BinarySearch(is, name); return !there })
	c.Lost = c.Lost || lost
	c.Members = c.Members || lost || len(was) != len(is)
}

// indexes returns the indexes of the slices of a family with a port.
func (e Endpoints) indexes(family v1.IPFamily, port string) []int {
	var all []int
	for i, s := range e {
		if s.Family == family && slices.Contains(s.Ports, port) {
			all = append(all, i)
		}
	}
	return all
}
