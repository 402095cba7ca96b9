package securitygroup

import (
	"context"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// nodePorts finds the ports of the nodes.
func (g *Groups) nodePorts(ctx context.Context, w *Spec, t *Task) ([]NodePort, error) {
	nodes := w.Members
	if g.mode == Shared {
		nodes = slices.Concat(w.Members, w.Others)
	}
	found, err := g.portsOf(ctx, nodes)
	if err != nil {
		return nil, err
	}
	wanted := map[string]NodePort{}
	for i, node := range nodes {
		here := at(found[node.Server], node.Addresses)
		if len(here) == 0 && i < len(w.Members) {
			t.Unfound = append(t.Unfound, node.Name)
		}
		for _, port := range here {
			if port.Filtered() {
				wanted[port.ID] = NodePort{port.ID, node.Name}
			} else if i < len(w.Members) {
				t.Unfiltered = append(t.Unfiltered, node.Name)
			}
			for _, group := range port.SecurityGroups {
				t.beside[group] = t.beside[group] || i < len(w.Members)
			}
		}
	}
	all := make([]NodePort, 0, len(wanted))
	for _, port := range wanted {
		all = append(all, port)
	}
	slices.SortFunc(all, func(a, b NodePort) int { return strings.Compare(a.Node+" "+a.ID, b.Node+" "+b.ID) })
	return all, nil
}

// portsOf returns the ports of nodes by server. Those of a server that lacks one of
// its node's addresses are read anew.
func (g *Groups) portsOf(ctx context.Context, nodes []Node) (map[string][]neutron.Port, error) {
	servers := make([]string, 0, len(nodes))
	for _, node := range nodes {
		if node.Server != "" {
			servers = append(servers, node.Server)
		}
	}
	found, err := g.facts.NodePorts(ctx, servers)
	if err != nil {
		return nil, err
	}
	var again []string
	for _, node := range nodes {
		if node.Server != "" && len(at(found[node.Server], node.Addresses)) == 0 {
			again = append(again, node.Server)
		}
	}
	if len(again) == 0 {
		return found, nil
	}
	g.facts.ForgetPorts(again...)
	return g.facts.NodePorts(ctx, servers)
}

// at returns the ports that have one of the addresses.
func at(ports []neutron.Port, addresses []string) []neutron.Port {
	var found []neutron.Port
	for _, port := range ports {
		if slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) }) {
			found = append(found, port)
		}
	}
	return found
}
