package members

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Standing is the relation of a Service's members to the nodes of the cluster. A request of a user
// or operator is followed even if no member remains; the state of nodes is not:
//
//	the nodes                                    members                            Standing
//	some can serve                               those                              Usual
//	all that could serve are being deleted       these                              Last
//	all have the label that excludes them        none                               Excluded
//	the node selector matches none that has no   none                               Unselected
//	such label
//	those that could serve have no address of    an error, members are kept         -
//	the Service's family, or there is no node
//	but those of the control plane
//
// Nodes of the control plane do not count as a request: kubeadm excludes them by default. If only
// they remain, the Node objects of all workers are gone, which may be an accident.
//
// A node can serve if it has no label that excludes it, the node selector matches, it has an
// address of the family, and it is not about to be deleted: see package cluster. Its readiness does not
// matter, because health monitors check it.
type Standing int

// The values of Standing.
const (
	Usual Standing = iota
	Last
	Excluded
	Unselected
)

// candidates returns the nodes that become members if they have an address, and those that would if
// they were not about to be deleted.
func candidates(s *settings.Settings, nodes []*v1.Node) (selected, going []*v1.Node, _ Standing) {
	var serving []*v1.Node
	standing, workers := Excluded, 0
	for _, node := range nodes {
		if !isControlPlane(node) {
			workers++
		}
		switch {
		case cluster.ExcludesNode(node):
		case !s.Members.NodeSelector.Matches(labels.Set(node.Labels)):
			standing = Unselected
		case cluster.LosesNode(node):
			going = append(going, node)
		default:
			serving = append(serving, node)
		}
	}
	addressed := func(node *v1.Node) bool { return nodeAddress(node, s.Family, s.Members.Within[s.Family]) != "" }
	switch {
	case slices.ContainsFunc(serving, addressed):
		return serving, going, Usual
	case slices.ContainsFunc(going, addressed):
		return slices.Concat(serving, going), nil, Last
	case len(serving)+len(going) > 0 || workers == 0:
		return slices.Concat(serving, going), nil, Usual
	}
	return nil, nil, standing
}

// InLoadBalancers returns the nodes that can be members of any Service, including those that are
// about to be deleted: they are members of a Service that has endpoints on no others.
func InLoadBalancers(nodes []*v1.Node) []*v1.Node {
	return slices.DeleteFunc(slices.Clone(nodes), cluster.ExcludesNode)
}

// isControlPlane reports whether a node has the label of the control plane.
func isControlPlane(node *v1.Node) bool {
	_, is := node.Labels["node-role.kubernetes.io/control-plane"]
	return is
}
