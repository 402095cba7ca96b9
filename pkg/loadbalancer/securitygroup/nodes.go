package securitygroup

import (
	"context"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func (g *Groups) nodePorts(ctx context.Context, r Request, t *Task, d *Desired) error {
	members := r.Spec.Members
	nodes := members
	if g.mode == Shared {
		nodes = slices.Concat(members, r.Spec.Others)
	}
	found, err := locate(ctx, g.facts, nodes, append(slices.Clone(r.Spec.Subnets), r.VIPSubnet))
	if err != nil {
		return err
	}
	wanted := map[string]NodePort{}
	for i, node := range nodes {
		member, here := i < len(members), found[i]
		switch {
		case len(here.ports) > 0 || !member:
		case here.taken:
			t.Taken = append(t.Taken, node.Name)
		case len(here.elsewhere) > 0:
			t.Strayed = append(t.Strayed, node.Name)
		default:
			t.Unfound = append(t.Unfound, node.Name)
		}
		for _, port := range here.ports {
			if port.Filtered() {
				wanted[port.ID] = NodePort{port.ID, node.Name}
			} else if member {
				t.Unfiltered = append(t.Unfiltered, node.Name)
			}
			for _, group := range port.SecurityGroups {
				t.beside[group] = t.beside[group] || member
			}
		}
		if g.mode == Shared {
			for _, port := range here.elsewhere {
				d.Stay = append(d.Stay, port.ID)
			}
		}
	}
	for _, port := range wanted {
		d.Ports = append(d.Ports, port)
	}
	slices.SortFunc(d.Ports, func(a, b NodePort) int { return strings.Compare(a.Node+" "+a.ID, b.Node+" "+b.ID) })
	return nil
}

// located holds the ports of a node; if there are none, other ports with its address. Taken is set if
// its address is on the port of another server.
type located struct {
	ports, elsewhere []neutron.Port
	taken            bool
}

// search locates the ports of nodes.
type search struct {
	facts Facts
	nodes []Node
	// subnets are those in which the load balancer reaches the nodes.
	subnets []string
	// found are the ports of the nodes, in their order.
	found []located
}

// locate returns the ports of nodes, in their order: the ports of a node's server with its
// address. If the server is unknown, because the provider ID is another provider's or that of an
// earlier server, it is the port with the address in one of the subnets, of which there can be only
// one. If the provider ID names a server, a port of another server is not the node's: that server may
// have received the address of a deleted node. If no port of a server is found, its ports are read again.
func locate(ctx context.Context, facts Facts, nodes []Node, subnets []string) ([]located, error) {
	s := search{facts: facts, nodes: nodes, subnets: subnets, found: make([]located, len(nodes))}
	missing, err := s.byServer(ctx)
	if err != nil || len(missing) == 0 {
		return s.found, err
	}
	if err := s.byAddress(ctx, missing); err != nil {
		return nil, err
	}
	var again []string
	for _, i := range missing {
		if nodes[i].Server != "" && len(s.found[i].ports) == 0 {
			again = append(again, nodes[i].Server)
		}
	}
	if len(again) == 0 {
		return s.found, nil
	}
	facts.ForgetPorts(again...)
	_, err = s.byServer(ctx)
	return s.found, err
}

// byServer finds the ports of the nodes' servers, and returns the positions of nodes without a port.
func (s search) byServer(ctx context.Context) (missing []int, err error) {
	var servers []string
	for _, node := range s.nodes {
		if node.Server != "" {
			servers = append(servers, node.Server)
		}
	}
	ports, err := s.facts.NodePorts(ctx, servers)
	for i, node := range s.nodes {
		if here := at(ports[node.Server], node.Addresses); len(here) > 0 {
			s.found[i] = located{ports: here}
		}
		if len(s.found[i].ports) == 0 {
			missing = append(missing, i)
		}
	}
	return missing, err
}

// byAddress finds the ports with the addresses of some nodes.
func (s search) byAddress(ctx context.Context, missing []int) error {
	var addresses []string
	for _, i := range missing {
		addresses = append(addresses, s.nodes[i].Addresses...)
	}
	all, err := s.facts.NodePortsAt(ctx, addresses)
	if err != nil {
		return err
	}
	for _, i := range missing {
		for _, address := range s.nodes[i].Addresses {
			for _, port := range all[address] {
				s.found[i].add(port, s.nodes[i].mayOwn(port), slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool {
					return ip.IPAddress == address && ip.SubnetID != "" && slices.Contains(s.subnets, ip.SubnetID)
				}))
			}
		}
	}
	return nil
}

// add adds a port that has an address of a node, which may be the node's, and has it in a subnet of the
// members.
func (l *located) add(port neutron.Port, may, inside bool) {
	switch {
	case !may:
		l.taken = true
	case inside:
		l.ports = append(l.ports, port)
	default:
		l.elsewhere = append(l.elsewhere, port)
	}
}

func at(ports []neutron.Port, addresses []string) []neutron.Port {
	var found []neutron.Port
	for _, port := range ports {
		if slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) }) {
			found = append(found, port)
		}
	}
	return found
}
