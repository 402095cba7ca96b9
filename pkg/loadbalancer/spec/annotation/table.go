package annotation

import (
	"slices"
	"strings"
	"sync"
)

// Group is the annotations of one subject, as in the documentation.
type Group struct {
	Title       string
	Annotations []Annotation
}

// Groups returns all annotations, by subject. Each subject has its own file.
func Groups() []Group {
	groups := []Group{
		{"The load balancer", balancerTable()},
		{"Addresses", addressTable()},
		{"Listeners", slices.Concat(listenerTable(), metricsTable())},
		{"Members", memberTable()},
		{"Health monitors", monitorTable()},
		{"Written by the controller", writtenTable()},
	}
	for _, g := range groups {
		slices.SortFunc(g.Annotations, byName)
	}
	return groups
}

// Table returns all annotations, sorted by name. It is shared and must not be modified.
func Table() []Annotation { return table() }

// table is made once, because each read of a Service uses it.
var table = sync.OnceValue(func() []Annotation {
	var all []Annotation
	for _, g := range Groups() {
		all = append(all, g.Annotations...)
	}
	slices.SortFunc(all, byName)
	return all
})

// PerPort returns the names of the annotations that a suffix can restrict to one port, sorted.
func PerPort() []string {
	var names []string
	for _, a := range Table() {
		if a.PerPort {
			names = append(names, a.Name)
		}
	}
	return names
}

func byName(a, b Annotation) int { return strings.Compare(a.Name, b.Name) }

// writtenTable holds the annotations that the controller itself writes.
func writtenTable() []Annotation {
	return []Annotation{
		{
			Name: LoadBalancerAddress, Value: written(), Change: Written,
			Doc: "The address of the load balancer: of the floating IP, else of the VIP. In addition the controller writes `load-balancer-id`, unless the Service names a load balancer itself.",
		},
		{
			Name: WrittenFor, New: true, Value: written(), Change: Written,
			Doc: "The load balancer and the UID of the Service for which the controller has written `load-balancer-id`, so that it is ignored on a copy of the Service; and the name by which the Service shares the load balancer.",
		},
	}
}
