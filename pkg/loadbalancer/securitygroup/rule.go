package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Opening is a port of a node that is opened.
type Opening struct {
	Protocol string // tcp, udp, sctp or, without a port, icmp
	Port     int
}

// String returns an opening as in "tcp/30080".
func (o Opening) String() string {
	if o.Port == 0 {
		return o.Protocol
	}
	return fmt.Sprintf("%s/%d", o.Protocol, o.Port)
}

// Rule admits clients of a prefix to a port of a node.
type Rule struct {
	Opening
	// Prefix is canonical; it determines the IP version.
	Prefix string
}

// String returns a rule as in "tcp/30080 from 10.6.0.0/16".
func (r Rule) String() string { return fmt.Sprintf("%s from %s", r.Opening, r.Prefix) }

// EtherType returns Neutron's name of the IP version.
func (r Rule) EtherType() string {
	if prefix, err := netip.ParsePrefix(r.Prefix); err == nil && prefix.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

func (r Rule) neutronProtocol() string {
	if r.Protocol == icmp && r.EtherType() == "IPv6" {
		return "ipv6-icmp"
	}
	return r.Protocol
}

// icmp is the protocol of monitors of type PING, in either IP version.
const icmp = "icmp"

// Held is an existing rule of a group.
type Held struct {
	ID string
	// Rule is zero if the rule is not representable; then Text describes it.
	Rule Rule
	Text string
	// Common is set if several Services may need it.
	Common bool
}

// String returns the rule in one line.
func (h Held) String() string {
	if h.Text != "" {
		return h.Text
	}
	return h.Rule.String()
}

func held(r neutron.SecurityGroupRule) Held {
	h := Held{ID: r.ID, Text: fmt.Sprintf("%s %s %s", r.Direction, r.EtherType, cmp.Or(r.Protocol, "of any protocol"))}
	protocol, ok := protocolName(r.Protocol)
	prefix, canonical := canonicalPrefix(r)
	port, one := onePort(r, protocol)
	if ok && canonical && one && r.Direction == "ingress" && r.RemoteGroupID == "" && r.RemoteAddressGroupID == "" {
		h.Rule, h.Text = Rule{Opening{protocol, port}, prefix}, ""
	}
	return h
}

// onePort returns the port of a rule for a single port; ICMP has none.
func onePort(r neutron.SecurityGroupRule, protocol string) (int, bool) {
	if protocol == icmp {
		return 0, r.PortRangeMin == nil && r.PortRangeMax == nil
	}
	if r.PortRangeMin == nil || r.PortRangeMax == nil || *r.PortRangeMin != *r.PortRangeMax {
		return 0, false
	}
	return *r.PortRangeMin, true
}

// protocolName returns the name of a protocol, which Neutron stores as it was given, possibly as a
// number.
func protocolName(text string) (string, bool) {
	switch text {
	case "tcp", "6":
		return "tcp", true
	case "udp", "17":
		return "udp", true
	case "sctp", "132":
		return "sctp", true
	case icmp, "1", "ipv6-icmp", "icmpv6", "58":
		return icmp, true
	}
	return "", false
}

// canonicalPrefix returns the prefix of a rule without host bits; an empty one means all addresses
// of its IP version.
func canonicalPrefix(r neutron.SecurityGroupRule) (string, bool) {
	if r.RemoteIPPrefix == "" {
		return everybody(r.EtherType == "IPv6"), true
	}
	prefix, err := netip.ParsePrefix(r.RemoteIPPrefix)
	return prefix.Masked().String(), err == nil
}

func everybody(ipv6 bool) string {
	if ipv6 {
		return "::/0"
	}
	return "0.0.0.0/0"
}

func sortRules(rules []Rule) []Rule {
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Prefix, b.Prefix))
	})
	return slices.Compact(rules)
}

// some joins the first items for a message, and adds the number of the others.
func some[T fmt.Stringer](all []T) string {
	const most = 4
	text := ""
	for i, one := range all[:min(most, len(all))] {
		if i > 0 {
			text += ", "
		}
		text += one.String()
	}
	if more := len(all) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}
