package annotation

import (
	"net/netip"
	"strconv"
	"strings"
)

// Table gives all annotations, by name.
func Table() []Annotation {
	return []Annotation{
		{Prefix + "availability-zone", "the name of an availability zone of Octavia", "Where a new load balancer is built.",
			text(func(v *Values) **string { return &v.AvailabilityZone })},
		{Class, "the name of a [LoadBalancerClass] of cloud.conf", "Takes the settings of that section.",
			text(func(v *Values) **string { return &v.Class })},
		{Prefix + "connection-limit", "", "", nil},
		{Prefix + "default-tls-container-ref", notYet, "Refused: the listeners would carry no TLS.", never},
		{Monitor, yesOrNo, "Health monitors for the pools. With externalTrafficPolicy Local there always are some.",
			boolean(func(v *Values) **bool { return &v.Monitor })},
		{Prefix + "flavor-id", "the ID of a flavor of Octavia", "What a new load balancer is built like.",
			text(func(v *Values) **string { return &v.FlavorID })},
		{FloatingNetID, "the ID of an external network", "Where the floating IP comes from.",
			text(func(v *Values) **string { return &v.FloatingNetworkID })},
		{Prefix + "floating-subnet", "", "", nil},
		{FloatingSubnet, "the ID of a subnet of the external network", "The subnet that the floating IP comes from.",
			text(func(v *Values) **string { return &v.FloatingSubnetID })},
		{Prefix + "floating-subnet-tags", "", "", nil},
		{MonitorDelay, "1 to 3600 (seconds)", "Time between two probes of a member.",
			seconds(func(v *Values) **int { return &v.MonitorDelay })},
		{MonitorRetries, "1 to 10", "Successful probes until a member is up.",
			retries(func(v *Values) **int { return &v.MonitorMaxRetries })},
		{MonitorDown, "1 to 10", "Failed probes until a member is down.",
			retries(func(v *Values) **int { return &v.MonitorMaxRetriesDown })},
		{MonitorTimeout, "1 to 3600 (seconds)", "How long a probe may take.",
			seconds(func(v *Values) **int { return &v.MonitorTimeout })},
		{Prefix + "hostname", "", "", nil},
		{KeepFloatingIP, yesOrNo, "The floating IP outlives the Service.",
			boolean(func(v *Values) **bool { return &v.KeepFloatingIP })},
		{Fingerprint, "written by the controller", "What was last applied, so that a restart costs nothing; for reading only.", output},
		{Method, "ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT", "How traffic spreads over the members.",
			oneOf(func(v *Values) **string { return &v.Method }, "ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT")},
		{Prefix + "load-balancer-address", "written by the controller", "The address of the load balancer, for reading only.", output},
		{LoadBalancerID, "the ID of a load balancer", "Proof that the load balancer of that ID was made for this Service.",
			text(func(v *Values) **string { return &v.LoadBalancerID })},
		{MaxMembers, "0 to 10000", "Most nodes that become members, with externalTrafficPolicy Cluster; 0 means all.",
			from(0, 10000, func(v *Values) **int { return &v.MaxMembers })},
		{MemberSubnetID, "the ID of a subnet", "The subnet in which the load balancer finds the nodes.",
			text(func(v *Values) **string { return &v.MemberSubnetID })},
		{NetworkID, "the ID of a network", "The network of the VIP.",
			text(func(v *Values) **string { return &v.NetworkID })},
		{NodeSelector, "comma-separated key=value or key", "Only nodes with these labels become members; empty means all.",
			selector(func(v *Values) **string { return &v.NodeSelector })},
		{Prefix + "port-id", notYet, "Refused: the VIP would be at another port.", never},
		{Prefix + "proxy-protocol", notYet, "Refused unless \"false\": the members would get no PROXY header.", onlyFalse},
		{SubnetID, "the ID of a subnet", "The subnet of the VIP.",
			text(func(v *Values) **string { return &v.SubnetID })},
		{Prefix + "timeout-client-data", "", "", nil},
		{Prefix + "timeout-member-connect", "", "", nil},
		{Prefix + "timeout-member-data", "", "", nil},
		{Prefix + "timeout-tcp-inspect", "", "", nil},
		{Prefix + "x-forwarded-for", notYet, "Refused unless \"false\": the members would get no such header.", onlyFalse},
		{SourceRanges, "comma-separated CIDRs", "The clients that may connect, where spec.loadBalancerSourceRanges is empty.",
			cidrs(func(v *Values) *[]string { return &v.SourceRanges })},
		{Internal, yesOrNo, "No floating IP: the load balancer is reachable on its VIP only.",
			boolean(func(v *Values) **bool { return &v.Internal })},
	}
}

// notYet is said of what would silently be something else if it were ignored.
const notYet = "nothing in this version, which does not support it yet"

// never accepts no value.
func never(*Values, string) bool { return false }

// onlyFalse accepts what switches off a thing that is never on.
func onlyFalse(_ *Values, value string) bool { return value == "false" }

const yesOrNo = `"true" or "false"`

// output accepts what the controller itself has written.
func output(*Values, string) bool { return true }

// text reads an ID or a name. An empty one is the same as none.
func text(at func(*Values) **string) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		if value == "" {
			return true
		}
		if len(value) > 255 || strings.ContainsAny(value, "\r\n\t/?#") {
			return false
		}
		*at(v) = &value
		return true
	}
}

// selector accepts what build then parses. Keys of labels hold slashes.
func selector(at func(*Values) **string) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		if len(value) > 1024 {
			return false
		}
		*at(v) = &value
		return true
	}
}

func boolean(at func(*Values) **bool) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			return false
		}
		*at(v) = &parsed
		return true
	}
}

// seconds reads what Octavia takes for the delay and timeout of a monitor.
func seconds(at func(*Values) **int) func(*Values, string) bool { return from(1, 3600, at) }

// retries reads what Octavia takes for the retries of a monitor.
func retries(at func(*Values) **int) func(*Values, string) bool { return from(1, 10, at) }

// from reads a number from the lowest to the highest.
func from(lowest, highest int, at func(*Values) **int) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < lowest || parsed > highest {
			return false
		}
		*at(v) = &parsed
		return true
	}
}

func oneOf(at func(*Values) **string, allowed ...string) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		for _, a := range allowed {
			if strings.EqualFold(a, value) {
				*at(v) = &a
				return true
			}
		}
		return false
	}
}

func cidrs(at func(*Values) *[]string) func(*Values, string) bool {
	return func(v *Values, value string) bool {
		var ranges []string
		for part := range strings.SplitSeq(value, ",") {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
			if err != nil {
				return false
			}
			ranges = append(ranges, prefix.Masked().String())
		}
		*at(v) = ranges
		return true
	}
}
