package members

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Change is the effect of a change of endpoints on the nodes that have some.
type Change struct {
	// Members is set if other nodes may become members, Lost if some may not be any more.
	Members, Lost bool
}

// ChangeOf compares two states of the endpoints of a Service, for any driver.
func ChangeOf(before, after Endpoints) Change {
	var change Change
	type key struct {
		family v1.IPFamily
		port   string
	}
	seen := map[key]bool{}
	for _, s := range slices.Concat(before, after) {
		for _, port := range s.Ports {
			of := key{s.Family, port}
			if seen[of] {
				continue
			}
			seen[of] = true
			for _, cuts := range []bool{false, true} {
				was, is := before.in(of.family).of(port).members(cuts), after.in(of.family).of(port).members(cuts)
				lost := slices.ContainsFunc(was, func(name string) bool { return !slices.Contains(is, name) })
				change.Lost = change.Lost || lost
				change.Members = change.Members || lost || len(was) != len(is)
			}
		}
	}
	placeless := func(e Endpoints) bool { return e.some(Endpoint.serves) && !e.some(Endpoint.hasNode) }
	change.Members = change.Members || placeless(before) != placeless(after)
	return change
}
