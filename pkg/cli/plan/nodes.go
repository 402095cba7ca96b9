package plan

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// NodeChange is a hypothetical change of the nodes of the cluster. The zero value is none.
type NodeChange struct {
	// Without are the names of nodes to remove.
	Without []string
	// With are nodes to add: the name of one that load balancers exclude, or "name=address" of a
	// new one.
	With []string
}

// nodes returns the nodes of the cluster after the change. It returns an error for the name of a
// node that does not exist.
func (c NodeChange) nodes(ctx context.Context, client kubernetes.Interface) ([]*v1.Node, error) {
	found, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var nodes []*v1.Node
	known := map[string]*v1.Node{}
	for i := range found.Items {
		node := &found.Items[i]
		known[node.Name] = node
		if !slices.Contains(c.Without, node.Name) && !slices.Contains(c.With, node.Name) {
			nodes = append(nodes, node)
		}
	}
	for _, name := range c.Without {
		if known[name] == nil {
			return nil, fmt.Errorf("--without-nodes: there is no node %s", name)
		}
	}
	for _, text := range c.With {
		name, address, isNew := strings.Cut(text, "=")
		node := known[name]
		if isNew {
			if node, err = newNode(name, address, node); err != nil {
				return nil, err
			}
		}
		if node == nil {
			return nil, fmt.Errorf("--with-nodes: there is no node %s: give the address of a new one, such as %s=10.0.0.7", name, name)
		}
		if !slices.ContainsFunc(nodes, func(n *v1.Node) bool { return n.Name == name }) {
			nodes = append(nodes, included(node))
		}
	}
	return nodes, nil
}

// included returns a node without what keeps it out of load balancers.
func included(node *v1.Node) *v1.Node {
	if !resync.Excluded(node) {
		return node
	}
	in := node.DeepCopy()
	delete(in.Labels, v1.LabelNodeExcludeBalancers)
	in.Spec.Taints, in.DeletionTimestamp = nil, nil
	return in
}

func newNode(name, address string, there *v1.Node) (*v1.Node, error) {
	if there != nil {
		return nil, fmt.Errorf("--with-nodes: node %s exists: name it without an address", name)
	}
	if _, err := netip.ParseAddr(address); err != nil {
		return nil, fmt.Errorf("--with-nodes: the address of %s: %w", name, err)
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}, nil
}
