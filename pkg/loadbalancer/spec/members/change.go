package members

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Change is the effect of a change of endpoints on the members.
type Change struct {
	// Members is set if there may be other members, or other weights of them, Lost if one may not be a member
	// any more.
	Members, Lost bool
}

// Changes are the effects by what the members are: nodes, nodes with weights by their endpoints, or pods.
type Changes struct{ Nodes, Weighed, Pods Change }

// ChangeOf compares two states of the endpoints of a Service, for any driver. Ports that the same slices have are
// compared once.
func ChangeOf(before, after Endpoints) Changes {
	var nodes, pods Change
	weights := false
	seen := map[string]bool{}
	for _, s := range slices.Concat(before, after) {
		for _, port := range s.Ports {
			key := fmt.Sprint(s.Family, port)
			if seen[key] {
				continue
			}
			seen[key] = true
			was, is := before.in(s.Family), after.in(s.Family)
			for _, cuts := range []bool{false, true} {
				compare(&pods, was.pods(port, cuts), is.pods(port, cuts), comparePods)
			}
			in := fmt.Sprint(s.Family, before.indexes(s.Family, port), after.indexes(s.Family, port))
			if seen[in] {
				continue
			}
			seen[in] = true
			was, is = was.of(port), is.of(port)
			for _, cuts := range []bool{false, true} {
				compare(&nodes, was.members(cuts), is.members(cuts), strings.Compare)
			}
			weights = weights || nodes.Members || !maps.Equal(was.weights(true), is.weights(true))
		}
	}
	placeless := func(e Endpoints) bool { return e.some(Endpoint.serves) && !e.some(Endpoint.hasNode) }
	nodes.Members = nodes.Members || placeless(before) != placeless(after)
	return Changes{nodes, Change{nodes.Members || weights, nodes.Lost}, pods}
}

// compare adds the difference between two sorted lists.
func compare[T any](c *Change, was, is []T, order func(a, b T) int) {
	lost := slices.ContainsFunc(was, func(one T) bool { _, there := slices.BinarySearchFunc(is, one, order); return !there })
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
