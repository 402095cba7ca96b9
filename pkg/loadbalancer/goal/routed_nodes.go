package goal

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// nodesOf returns the nodes that can be next hops of a VIP, which are the same for all ports:
//
//	endpoints                            nodes
//	of all ports on some node            those with endpoints of all ports
//	of each port on other nodes          those with endpoints of any port
//	of some ports only                   as if these were all ports
//	none                                 all
//
// Ready is false in the last case: the present next hops stay, and none is added.
func nodesOf(ports members.Ports) (nodes []router.Node, ready bool) {
	var all, each, some []router.Node
	for i, port := range ports {
		nodes := hostsOf(port)
		if all = add(all, nodes); port.Held {
			continue
		}
		if some = add(some, nodes); i == 0 || each == nil {
			each = nodes
		} else {
			each = slices.DeleteFunc(slices.Clone(each), func(n router.Node) bool { return !slices.Contains(nodes, n) })
		}
	}
	switch {
	case len(each) > 0:
		return each, true
	case len(some) > 0:
		return some, true
	}
	return all, false
}

func hostsOf(port members.Port) []router.Node {
	hosts := port.Members(model.Member{})
	nodes := make([]router.Node, 0, hosts.Len())
	for i := range hosts.Len() {
		nodes = append(nodes, router.Node{Name: hosts.At(i).Name, Address: hosts.At(i).Address})
	}
	return nodes
}

// add returns nodes with those of others that it lacks.
func add(nodes, others []router.Node) []router.Node {
	for _, n := range others {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
