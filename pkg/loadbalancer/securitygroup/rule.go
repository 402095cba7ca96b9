// Package securitygroup lets load balancers, or their clients, reach the NodePorts
// of the nodes. It has the shape of the engine beside it: what a Service asks for
// (wish.go) becomes what is wanted in the cloud, the cloud is read into a State
// (observe.go), Diff (plan.go) compares the two without a look at anything else, and
// apply.go alone writes.
//
// There are two ways to keep the rules: a security group for each Service on the
// ports of its nodes, as cloud-provider-openstack has it, or one for the cluster on
// the ports of all nodes, with the rules of all Services in it.
package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// Opening is a port of a node that is opened.
type Opening struct {
	Protocol string // tcp, udp or sctp
	Port     int
}

// Rule lets clients of a prefix reach a port of a node.
type Rule struct {
	Opening
	// Prefix is canonical; it says the IP version.
	Prefix string
}

// String prints a rule as in "tcp/30080 from 10.6.0.0/16".
func (r Rule) String() string { return fmt.Sprintf("%s/%d from %s", r.Protocol, r.Port, r.Prefix) }

// EtherType gives Neutron's word for the IP version.
func (r Rule) EtherType() string {
	if prefix, err := netip.ParsePrefix(r.Prefix); err == nil && prefix.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// Held is a rule that a group has.
type Held struct {
	ID string
	// Rule is zero when a Rule cannot say what it is: then Text does.
	Rule Rule
	Text string
	// Common tells that several Services may need it.
	Common bool
}

// String prints a rule that is there.
func (h Held) String() string {
	if h.Text != "" {
		return h.Text
	}
	return h.Rule.String()
}

// held reads a rule of Neutron's.
func held(r openstack.SecurityGroupRule) Held {
	h := Held{ID: r.ID, Text: fmt.Sprintf("%s %s %s", r.Direction, r.EtherType, cmp.Or(r.Protocol, "of any protocol"))}
	protocol, ok := protocolName(r.Protocol)
	prefix, canonical := canonicalPrefix(r)
	onePort := r.PortRangeMin != nil && r.PortRangeMax != nil && *r.PortRangeMin == *r.PortRangeMax
	if ok && canonical && onePort && r.Direction == "ingress" && r.RemoteGroupID == "" && r.RemoteAddressGroupID == "" {
		h.Rule, h.Text = Rule{Opening{protocol, *r.PortRangeMin}, prefix}, ""
	}
	return h
}

// protocolName gives the name of a protocol, which Neutron keeps as it was given:
// also as a number.
func protocolName(text string) (string, bool) {
	switch text {
	case "tcp", "6":
		return "tcp", true
	case "udp", "17":
		return "udp", true
	case "sctp", "132":
		return "sctp", true
	}
	return "", false
}

// canonicalPrefix gives the prefix of a rule without host bits; none means all
// addresses of its IP version.
func canonicalPrefix(r openstack.SecurityGroupRule) (string, bool) {
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

// sortRules orders rules and drops doubles.
func sortRules(rules []Rule) []Rule {
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Prefix, b.Prefix))
	})
	return slices.Compact(rules)
}

// some joins things for a message, which stays short however many there are.
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
