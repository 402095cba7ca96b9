package cluster

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// toBeDeletedTaint is on nodes that the cluster autoscaler is about to delete.
const toBeDeletedTaint = "ToBeDeletedByClusterAutoscaler"

// ExcludesNode reports whether a user has excluded a node from load balancers by its label, by the
// rules of the service controller (KEP-3458).
func ExcludesNode(node *v1.Node) bool {
	label, ok := node.Labels[v1.LabelNodeExcludeBalancers]
	if !ok {
		return false
	}
	exclude, err := strconv.ParseBool(label)
	return err != nil || exclude
}

// LosesNode reports whether a node is being deleted, or the cluster autoscaler is about to delete
// it. The service controller excludes it from load balancers too.
func LosesNode(node *v1.Node) bool {
	return node.DeletionTimestamp != nil ||
		slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == toBeDeletedTaint })
}

// MemberAddresses returns the addresses of a node at which it can be a member.
func MemberAddresses(node *v1.Node) []v1.NodeAddress {
	return slices.DeleteFunc(slices.Clone(node.Status.Addresses), func(a v1.NodeAddress) bool { return !ofMember(a) })
}

// HasMemberAddress reports whether a node has an address at which it can be a member.
func HasMemberAddress(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Addresses, ofMember)
}

func ofMember(a v1.NodeAddress) bool {
	return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP
}
