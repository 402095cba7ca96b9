package octavia

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Quota classes by the key of Options.Quota.
const (
	quotaLoadBalancer = "loadbalancer"
	quotaListener     = "listener"
	quotaPool         = "pool"
	quotaMember       = "member"
	quotaMonitor      = "healthmonitor"
)

// checkQuota refuses to go above the project's limit by more objects.
func (o *Octavia) checkQuota(project, class string, more int) *apiError {
	limit, limited := o.options.Quota[class]
	if !limited || limit < 0 || more <= 0 {
		return nil
	}
	used := 0
	for _, lb := range o.balancers {
		if lb.ProjectID == project {
			used += countOf(lb, class)
		}
	}
	if used+more <= limit {
		return nil
	}
	names := map[string]string{
		quotaLoadBalancer: "Load Balancer", quotaListener: "Listener", quotaPool: "Pool",
		quotaMember: "Member", quotaMonitor: "Health Monitor",
	}
	return refuse(http.StatusForbidden, "Quota has been met for resources: %s", names[class])
}

func countOf(lb *LoadBalancer, class string) int {
	switch class {
	case quotaLoadBalancer:
		return 1
	case quotaListener:
		return len(lb.Listeners)
	case quotaPool:
		return len(lb.Pools)
	}
	count := 0
	for _, pool := range lb.Pools {
		switch {
		case class == quotaMember:
			count += len(pool.Members)
		case pool.Monitor != nil:
			count++
		}
	}
	return count
}

// uniqueTags fails as the database does on a tag given twice.
func uniqueTags(given body) *apiError {
	tags := given.texts("tags")
	slices.Sort(tags)
	if len(slices.Compact(slices.Clone(tags))) != len(tags) {
		return refuse(http.StatusConflict, "Already an entity with that specified id.")
	}
	return nil
}

// transport is the layer 4 protocol that decides whether listeners collide.
func transport(protocol string) string {
	switch protocol {
	case "UDP", "SCTP":
		return protocol
	default:
		return "TCP"
	}
}

// checkListener is about what a listener may be on this load balancer.
func (o *Octavia) checkListener(lb *LoadBalancer, given body, nested bool) *apiError {
	if failure := o.checkListenerSettings(lb, given, nested); failure != nil {
		return failure
	}
	protocol, port := given.text("protocol"), given.integer("protocol_port", 0)
	if protocol == "TERMINATED_HTTPS" && given.text("default_tls_container_ref") == "" && len(given.texts("sni_container_refs")) == 0 {
		return invalid("An SNI or default certificate container reference must be provided for TERMINATED_HTTPS protocol listeners.")
	}
	for _, other := range lb.Listeners {
		if other.ProtocolPort == port && transport(other.Protocol) == transport(protocol) {
			return refuse(http.StatusConflict,
				"Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", other.Protocol, port)
		}
	}
	return uniqueTags(given)
}

func (o *Octavia) checkListenerSettings(lb *LoadBalancer, given body, nested bool) *apiError {
	cidrs := given.texts("allowed_cidrs")
	if len(cidrs) > 0 && len(lb.VIP.SecurityGroupIDs) > 0 {
		return invalid("Allowed CIDRs are not allowed when using custom VIP Security Groups.")
	}
	addresses := []string{lb.VIP.Address}
	for _, vip := range lb.AdditionalVIPs {
		addresses = append(addresses, vip.Address)
	}
	for _, cidr := range cidrs {
		fits := slices.ContainsFunc(addresses, func(address string) bool { return isIPv6(address) == isIPv6(cidr) })
		switch {
		case fits:
		case nested && o.release.CIDRCheckCrashes:
			return cidrCrash()
		case o.release.OneVIPText:
			return invalid("CIDR %s IP version incompatible with VIP %s IP version.", cidr, addresses[0])
		default:
			return invalid("CIDR %s IP version incompatible with all VIPs %s IP version.", cidr, pythonRepr(addresses))
		}
	}
	return nil
}

func cidrCrash() *apiError {
	return refuse(http.StatusInternalServerError, "None does not appear to be an IPv4 or IPv6 address")
}

func isIPv6(text string) bool { return strings.Contains(text, ":") }

// checkPoolProtocol follows Octavia's map of which pool may serve which
// listener.
func checkPoolProtocol(listener, pool string) *apiError {
	valid := map[string][]string{
		"TCP":              {"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"},
		"HTTP":             {"HTTP", "PROXY", "PROXYV2"},
		"HTTPS":            {"HTTPS", "PROXY", "PROXYV2", "TCP"},
		"TERMINATED_HTTPS": {"HTTP", "HTTPS", "PROXY", "PROXYV2"},
		"UDP":              {"UDP"},
		"SCTP":             {"SCTP"},
	}
	if !slices.Contains(valid[listener], pool) {
		return invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", pool, listener)
	}
	return nil
}

// checkPersistence is what a single POST or PUT of a pool obeys; a full create
// does not.
func checkPersistence(protocol string, given body) *apiError {
	if given == nil {
		return nil
	}
	kind := given.text("type")
	if kind == "" {
		return invalid("Invalid session_persistence provided.")
	}
	datagram := protocol == "UDP" || protocol == "SCTP"
	timed := given["persistence_timeout"] != nil || given["persistence_granularity"] != nil
	switch {
	case datagram && kind != "SOURCE_IP":
		return invalid("Session persistence of type %s is not supported for %s protocol pools.", kind, protocol)
	case datagram && given.text("cookie_name") != "":
		return invalid("Cookie names are not supported for UDP/SCTP pools.")
	case !datagram && timed:
		return invalid("persistence_timeout and persistence_granularity is only for UDP protocol pools.")
	case kind == "APP_COOKIE" && given.text("cookie_name") == "",
		kind != "APP_COOKIE" && given.text("cookie_name") != "":
		return invalid("Invalid session_persistence provided.")
	}
	return nil
}

// reservedAddresses are the default [networking] reserved_ips.
func reservedAddresses() []string { return []string{"169.254.169.254"} }

func (o *Octavia) checkMemberBody(given body) *apiError {
	for _, key := range []string{"address", "monitor_address"} {
		if address := given.text(key); slices.Contains(reservedAddresses(), address) {
			return refuse(http.StatusBadRequest, "%s is not a valid option for member %s", address, key)
		}
	}
	if failure := uniqueTags(given); failure != nil {
		return failure
	}
	if id := given.text("subnet_id"); id != "" && o.options.Network != nil {
		if _, err := o.options.Network.Subnet(id); err != nil {
			return refuse(http.StatusBadRequest, "Subnet %s not found.", id)
		}
	}
	return nil
}

// nestedPoolText is what Octavia prints for the protocol of a pool in a full
// create: the whole object.
const nestedPoolText = "<octavia.common.data_models.Pool object at 0x7fa5f978fa90>"

// checkMonitor holds a monitor against the protocol of its pool. text is how
// the error names that protocol.
func checkMonitor(given body, protocol, text string) *apiError {
	kind := given.text("type")
	datagram := protocol == "UDP" || protocol == "SCTP"
	switch {
	case (kind == "UDP-CONNECT" || kind == "SCTP") && !datagram:
		return invalid("The %s type is only supported for pools of type UDP/SCTP.", kind)
	case datagram && !slices.Contains([]string{"UDP-CONNECT", "SCTP", "TCP", "HTTP"}, kind):
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT/SCTP/TCP/HTTP health monitor is supported.", text)
	case kind == "UDP-CONNECT" && given.integer("delay", 0) < udpConnectLeastDelay:
		return invalid("The request delay value %d should be larger than %d for UDP-CONNECT health monitor type.",
			given.integer("delay", 0), udpConnectLeastDelay)
	}
	if failure := checkMonitorOptions(given, kind); failure != nil {
		return failure
	}
	return uniqueTags(given)
}

// udpConnectLeastDelay is udp_connect_min_interval_health_monitor, in seconds.
const udpConnectLeastDelay = 3

func checkMonitorOptions(given body, kind string) *apiError {
	if kind == "HTTP" || kind == "HTTPS" {
		return nil
	}
	for _, option := range []string{"http_method", "url_path", "expected_codes", "http_version", "domain_name"} {
		if given[option] != nil {
			return refuse(http.StatusBadRequest, "%s is not a valid option for health monitors of type %s", option, kind)
		}
	}
	return nil
}

// inSubnet says whether the address belongs to the CIDR.
func inSubnet(address, cidr string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(ip)
}
