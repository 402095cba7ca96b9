package securitygroup

import (
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// The values of security-group-mode in cloud.conf.
const (
	PerService = "per-service"
	Shared     = "shared"
)

// Spec is the request of a Service for the nodes' security groups. It is made without reading the
// cloud, so that equal Specs need no change. It contains subnets by ID, because their CIDRs never
// change.
type Spec struct {
	// Mode is PerService or Shared.
	Mode string
	// NodePorts are the ports for traffic, HealthPorts the Service's other ports that monitors
	// probe, CommonPorts the probed ports that are not the Service's.
	NodePorts, HealthPorts, CommonPorts []Opening
	// Direct is set if clients reach the nodes with their own addresses (provider ovn). Otherwise
	// the load balancer does, from its subnets.
	Direct bool
	// Clients are the admitted CIDRs if Direct is set; none means all clients.
	Clients []string
	// Monitored is set if monitors probe the NodePorts.
	Monitored bool
	// IPv6 is set if the members are of that IP family, DualStack if they are of both.
	IPv6      bool
	DualStack bool `json:",omitempty"`
	// Subnets are those in which the load balancer reaches its members.
	Subnets []string
	// Members are the Service's nodes. Others are the cluster's other nodes in a shared group.
	Members, Others []Node
}

// Node is a node with its own addresses.
type Node struct {
	Name string
	// Server is the ID of its server by its provider ID, "" where that names none. OtherServers may be
	// its server instead.
	Server       string
	OtherServers []string `json:",omitempty"`
	Addresses    []string
}

// mayOwn reports whether a port with an address of the node may be the node's: a port of one of its
// servers or, for the VLAN of a trunk, of none. If its server is unknown, any port may be.
func (n Node) mayOwn(port neutron.Port) bool {
	switch {
	case n.Server == "", port.DeviceID == n.Server, slices.Contains(n.OtherServers, port.DeviceID):
		return true
	}
	return port.DeviceID == "" && port.DeviceOwner == subportOwner
}

// Owned returns those of some ports with an address of the node that are the node's: those of its server, or else
// those that may be its own.
func (n Node) Owned(ports []neutron.Port) []neutron.Port {
	var certain, possible []neutron.Port
	for _, port := range ports {
		if n.mayOwn(port) {
			possible = append(possible, port)
		}
		if n.Server != "" && port.DeviceID == n.Server {
			certain = append(certain, port)
		}
	}
	if len(certain) > 0 {
		return certain
	}
	return possible
}

// subportOwner is the owner of a port that is a VLAN on the port of a server. Neutron does not report
// the server of such a port.
const subportOwner = "trunk:subport"

// Options are the inputs of a Spec in addition to the load balancer.
type Options struct {
	Mode    string
	Direct  bool
	Clients []string
	// IPv6 and DualStack are those of Spec.
	IPv6, DualStack bool
	// HealthPort is spec.healthCheckNodePort, 0 for none.
	HealthPort int
	Members    []Node
	Others     []Node
}

// SpecOf returns the Spec of a load balancer.
func SpecOf(lb *model.LoadBalancer, o Options) *Spec {
	w := &Spec{Mode: o.Mode, Direct: o.Direct, IPv6: o.IPv6, DualStack: o.DualStack, Members: o.Members, Others: o.Others}
	if o.Direct {
		w.Clients = o.Clients
	}
	subnets := map[string]bool{}
	var health []Opening
	open := func(protocol model.Protocol, pool model.Pool) {
		for m := range pool.Members.Kinds() {
			w.NodePorts = append(w.NodePorts, Opening{transport(protocol), m.Port})
			if m.SubnetID != "" {
				subnets[m.SubnetID] = true
			}
			if pool.Monitor != nil && m.MonitorPort != 0 {
				health = append(health, Opening{probe(pool.Monitor.Type), m.MonitorPort})
			}
		}
		if pool.Monitor == nil {
			return
		}
		w.Monitored = true
		if pool.Monitor.Type == model.MonitorPing {
			health = append(health, Opening{Protocol: icmp})
		}
	}
	for _, l := range lb.Listeners {
		open(l.Protocol, l.Pool)
	}
	for _, pool := range lb.Orphans { // a refused Service keeps them for a later listener
		open(pool.Protocol, pool)
	}
	if o.HealthPort != 0 { // also without a monitor: cloud-provider-openstack opens it, and a later monitor needs it
		health = append(health, Opening{"tcp", o.HealthPort})
	}
	w.NodePorts = unique(w.NodePorts)
	for _, opening := range unique(health) {
		switch {
		case slices.Contains(w.NodePorts, opening):
		case opening.Port == o.HealthPort && o.HealthPort != 0:
			w.HealthPorts = append(w.HealthPorts, opening)
		default:
			w.CommonPorts = append(w.CommonPorts, opening)
		}
	}
	for subnet := range subnets {
		w.Subnets = append(w.Subnets, subnet)
	}
	slices.Sort(w.Subnets)
	return w
}

// transport returns Neutron's protocol for a listener's pool.
func transport(p model.Protocol) string {
	switch p.Transport() {
	case model.UDP:
		return "udp"
	case model.SCTP:
		return "sctp"
	default:
		return "tcp"
	}
}

// probe returns Neutron's protocol for a type of monitor.
func probe(monitor string) string {
	switch monitor {
	case model.MonitorUDPConnect:
		return "udp"
	case model.MonitorSCTP:
		return "sctp"
	default:
		return "tcp"
	}
}

func unique(openings []Opening) []Opening {
	slices.SortFunc(openings, func(a, b Opening) int {
		if a.Port != b.Port {
			return a.Port - b.Port
		}
		if a.Protocol < b.Protocol {
			return -1
		}
		if a.Protocol > b.Protocol {
			return 1
		}
		return 0
	})
	return slices.Compact(openings)
}

// Restricted reports whether the security groups exclude other clients.
func (w *Spec) Restricted() bool { return w.Direct && len(w.Clients) > 0 }

// Rules returns the needed rules: own are the Service's, common may be needed by others too. nearby
// are the CIDRs of the subnets of members and VIP:
//
//	who reaches the node          NodePort from           other monitor port from
//	the load balancer             nearby                  nearby
//	clients, with ranges          the ranges; nearby for monitors, unless a range covers it
//	clients, no ranges            everywhere              nearby
func (w *Spec) Rules(nearby []string) (own, common []Rule) {
	from := nearby
	if w.Direct {
		if from = w.Clients; len(from) == 0 {
			from = w.everybody()
		}
		if w.Monitored {
			from = slices.Concat(from, uncovered(nearby, from))
		}
	}
	own = sortRules(append(cross(w.NodePorts, from), cross(w.HealthPorts, nearby)...))
	return own, sortRules(cross(w.CommonPorts, nearby))
}

// everybody returns the prefixes of all clients.
func (w *Spec) everybody() []string {
	if w.DualStack {
		return []string{everybody(false), everybody(true)}
	}
	return []string{everybody(w.IPv6)}
}

func cross(openings []Opening, prefixes []string) []Rule {
	var rules []Rule
	for _, opening := range openings {
		for _, prefix := range prefixes {
			rules = append(rules, Rule{opening, prefix})
		}
	}
	return rules
}

// uncovered returns the prefixes that none of the others contains.
func uncovered(prefixes, others []string) []string {
	within := func(text string) bool {
		inner, err := netip.ParsePrefix(text)
		return err == nil && slices.ContainsFunc(others, func(other string) bool {
			outer, err := netip.ParsePrefix(other)
			return err == nil && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
		})
	}
	return slices.DeleteFunc(slices.Clone(prefixes), within)
}
