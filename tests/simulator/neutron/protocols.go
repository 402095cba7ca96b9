package neutron

import (
	"slices"
	"strconv"
	"strings"
)

// protocolNames returns the names that Neutron accepts, in the order of its error
// message.
func protocolNames() []string {
	return []string{
		"ah", "dccp", "egp", "esp", "gre", "hopopt", "icmp", "igmp", "ip", "ipip", "ipv6-encap", "ipv6-frag",
		"ipv6-icmp", "icmpv6", "ipv6-nonxt", "ipv6-opts", "ipv6-route", "ospf", "pgm", "rsvp", "sctp", "tcp", "udp",
		"udplite", "vrrp",
	}
}

// protocolNumbers are the names with their IP protocol number.
func protocolNumbers() map[string]int {
	return map[string]int{
		"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "hopopt": 0, "icmp": 1, "igmp": 2, "ip": 0, "ipip": 4,
		"ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "icmpv6": 58, "ipv6-nonxt": 59, "ipv6-opts": 60,
		"ipv6-route": 43, "ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136,
		"vrrp": 112,
	}
}

// protocolsWithPorts are DCCP, SCTP, TCP, UDP and UDP-Lite.
func protocolsWithPorts() []int { return []int{33, 132, 6, 17, 136} }

// check refuses protocols and ports that do not go together.
func (r *securityGroupRule) check() error {
	number, known := r.protocolNumber()
	if !known {
		return unsupportedProtocol(valueOf(r.Protocol))
	}
	if r.PortRangeMin == nil && r.PortRangeMax == nil {
		return nil
	}
	switch {
	case number == 0:
		return badRequest("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case slices.Contains(protocolsWithPorts(), number):
		return r.checkPorts()
	case number == 1 || number == 58:
		return r.checkICMP()
	}
	return badRequest("SecurityGroupInvalidProtocolForPort", "Ports cannot be specified for protocol %d. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE.", number)
}

// protocolNumber is 0 without a protocol.
func (r *securityGroupRule) protocolNumber() (number int, known bool) {
	name := valueOf(r.Protocol)
	if number, known = protocolNumbers()[name]; known || name == "" {
		return number, true
	}
	number, err := strconv.Atoi(name)
	return number, err == nil && number >= 0 && number <= 255
}

func (r *securityGroupRule) checkPorts() error {
	for _, port := range []*int{r.PortRangeMin, r.PortRangeMax} {
		if port != nil && (*port < 1 || *port > 65535) {
			return badRequest("SecurityGroupInvalidPortValue", "Invalid value for port %d", *port)
		}
	}
	if r.PortRangeMin == nil || r.PortRangeMax == nil || *r.PortRangeMin > *r.PortRangeMax {
		return badRequest("SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}
	return nil
}

// checkICMP looks at type and code, which stand where other protocols have ports.
func (r *securityGroupRule) checkICMP() error {
	for _, field := range []struct {
		name  string
		value *int
	}{{"type (port_range_min)", r.PortRangeMin}, {"code (port_range_max)", r.PortRangeMax}} {
		if field.value != nil && (*field.value < 0 || *field.value > 255) {
			return badRequest("SecurityGroupInvalidIcmpValue", "Invalid value for ICMP %s %d. It must be 0 to 255.", field.name, *field.value)
		}
	}
	if r.PortRangeMin == nil {
		return badRequest("SecurityGroupMissingIcmpType", "ICMP code (port-range-max) %d is provided but ICMP type (port-range-min) is missing.", *r.PortRangeMax)
	}
	return nil
}

func unsupportedProtocol(name string) *Error {
	return badRequest("SecurityGroupRuleInvalidProtocol", "Security group rule protocol %s not supported. Only protocol values [None, '%s'] and integer representations [0 to 255] are supported.", name, strings.Join(protocolNames(), "', '"))
}
