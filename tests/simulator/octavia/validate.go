package octavia

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// uniqueTags fails as a POST does on a tag given twice.
func uniqueTags(given body) *apiError {
	if hasTwice(given.texts("tags")) {
		return refuse(http.StatusConflict, "Already an entity with that specified id.")
	}
	return nil
}

// tagsInUpdate returns the error of a PUT with duplicate tags, which is that of the database.
func (o *Octavia) tagsInUpdate(given body) *apiError {
	if hasTwice(given.texts("tags")) {
		return databaseError("Duplicate entry for key 'tags.PRIMARY'", "INSERT INTO tags …")
	}
	return nil
}

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
func checkPersistence(protocol string, given body, update bool) *apiError {
	if given == nil {
		return nil
	}
	kind, cookie := given.text("type"), given.text("cookie_name")
	datagram := protocol == "UDP" || protocol == "SCTP"
	timed := given.integer("persistence_timeout", 0) != 0 || given.text("persistence_granularity") != ""
	scope := "UDP and SCTP protocol pools."
	if update {
		scope = "UDP protocol pools."
	}
	switch {
	case datagram && kind == "SOURCE_IP" && cookie != "":
		return invalid("session_persistence SOURCE_IP type for UDP and SCTP protocols only accepts: " +
			"type, persistence_timeout, persistence_granularity.")
	case datagram && cookie != "":
		return invalid("Cookie names are not supported for UDP/SCTP pools.")
	case datagram && (kind == "HTTP_COOKIE" || kind == "APP_COOKIE"):
		return invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", kind)
	case !datagram && timed:
		return invalid("persistence_timeout and persistence_granularity is only for %s", scope)
	case !given.has("type"):
		return invalid("Invalid session_persistence provided.")
	case cookie != "" && kind != "APP_COOKIE":
		return invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
	case strings.ContainsAny(cookie, " \"(),/:;<=>?@[\\]{}\x7f"):
		return invalid(`Supplied "cookie_name" is invalid.`)
	case kind == "APP_COOKIE" && cookie == "":
		return invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
	}
	return nil
}

// checkPoolTLS is about the certificates that a pool uses towards its members.
func (o *Octavia) checkPoolTLS(pool *Pool, given body) *apiError {
	ca, crl := pool.TLS.CAContainerRef, pool.TLS.CRLRef
	hadCA := ca != ""
	if given.has("ca_tls_container_ref") {
		ca = given.text("ca_tls_container_ref")
	}
	if given.has("crl_container_ref") {
		crl = given.text("crl_container_ref")
	}
	switch {
	case crl == "" || ca != "":
	case pool.ID == "":
		return invalid("A CA certificate reference is required to specify a revocation list.")
	case hadCA && given.has("ca_tls_container_ref"):
		return invalid("A CA reference cannot be removed when a certificate revocation list is present.")
	default:
		return invalid("A CA reference is required to specify a certificate revocation list.")
	}
	if failure := o.checkCertificates([]string{given.text("tls_container_ref")}, ca, crl); failure != nil {
		return failure
	}
	if failure := o.release.checkCiphers(given.text("tls_ciphers")); failure != nil {
		return failure
	}
	if pool.ID == "" && !given.boolean("tls_enabled", false) {
		return nil
	}
	return checkTLSLists(given.texts("tls_versions"), given["tls_versions"] != nil,
		given.texts("alpn_protocols"), given["alpn_protocols"] != nil)
}

// reservedAddresses are the default [networking] reserved_ips.
func reservedAddresses() []string { return []string{"169.254.169.254"} }

// notReserved refuses the address of the metadata service.
func notReserved(address string) *apiError {
	if slices.Contains(reservedAddresses(), address) {
		return refuse(http.StatusBadRequest, "%s is not a valid option for member address", address)
	}
	return nil
}

// subnetExists asks Neutron; "" is fine.
func (o *Octavia) subnetExists(id string) *apiError {
	if id == "" || o.options.Network == nil {
		return nil
	}
	if _, err := o.options.Network.Subnet(id); err != nil {
		return refuse(http.StatusBadRequest, "Subnet %s not found.", id)
	}
	return nil
}

// nestedPoolText is what Octavia prints for the protocol of a pool in a full
// create: the whole object.
const nestedPoolText = "<octavia.common.data_models.Pool object at 0x7fa5f978fa90>"

// checkMonitor holds a monitor against the protocol of its pool. text is how
// the error names that protocol.
func checkMonitor(given body, kind, protocol, text string) *apiError {
	datagram := protocol == "UDP" || protocol == "SCTP"
	switch {
	case (kind == "UDP-CONNECT" || kind == "SCTP") && !datagram:
		return invalid("The %s type is only supported for pools of type UDP/SCTP.", kind)
	case datagram && !slices.Contains([]string{"UDP-CONNECT", "SCTP", "TCP", "HTTP"}, kind):
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT/SCTP/TCP/HTTP health monitor is supported.", text)
	case datagram && kind == "UDP-CONNECT" && given["delay"] != nil && given.integer("delay", 0) < udpConnectLeastDelay:
		return invalid("The request delay value %d should be larger than %d for UDP-CONNECT health monitor type.",
			given.integer("delay", 0), udpConnectLeastDelay)
	}
	return nil
}

// udpConnectLeastDelay is udp_connect_min_interval_health_monitor, in seconds.
const udpConnectLeastDelay = 3

func notOption(value, attribute string) *apiError {
	return refuse(http.StatusBadRequest, "%s is not a valid option for %s", value, attribute)
}

// checkNewMonitor is about the options of a new monitor.
func checkNewMonitor(given body) *apiError {
	for _, key := range []string{"type", "delay", "timeout", "max_retries"} {
		if given[key] == nil {
			return refuse(http.StatusBadRequest, "None is not a valid option for %s", key)
		}
	}
	if value, present := given["max_retries_down"]; present && value == nil {
		return crash("Something unknown went wrong")
	}
	kind := given.text("type")
	for _, option := range httpOptions() {
		if given.text(option) != "" && kind != "HTTP" && kind != "HTTPS" {
			return notOfType(option, kind)
		}
	}
	if failure := checkDomain(given.text("domain_name"), given.text("http_version")); failure != nil {
		return failure
	}
	if hasTwice(given.texts("tags")) {
		return refuse(http.StatusConflict, "This pool already has a health monitor") // Octavia takes any duplicate for that
	}
	return nil
}

func httpOptions() []string { return []string{"http_method", "url_path", "expected_codes"} }

func notOfType(option, kind string) *apiError {
	return refuse(http.StatusBadRequest, "%s is not a valid option for health monitors of type %s", option, kind)
}

func checkDomain(domain, version string) *apiError {
	switch {
	case domain != "" && version == "":
		return invalid("'http_version' must be specified when 'domain_name' is provided.")
	case domain != "" && version == "1.0":
		return refuse(http.StatusBadRequest,
			"http_version %s is not a valid option for health monitors HTTP 1.1 domain name health check", version)
	}
	return nil
}

// checkMonitorUpdate is about the options that a PUT gives.
func checkMonitorUpdate(monitor *Monitor, given body) *apiError {
	for _, option := range httpOptions() {
		if given.has(option) && monitor.Type != "HTTP" && monitor.Type != "HTTPS" {
			return notOfType(option, monitor.Type)
		}
	}
	for _, key := range []string{"delay", "max_retries", "timeout"} {
		if given.has(key) && given[key] == nil {
			return refuse(http.StatusBadRequest, "None is not a valid option for %s", key)
		}
	}
	domain, version := given.text("domain_name"), given.text("http_version")
	if version == "" {
		version = monitor.HTTPVersion
	}
	if domain == "" {
		domain = monitor.DomainName
	}
	if given.text("domain_name") == "" && version == "" {
		return nil
	}
	return checkDomain(domain, version)
}

// inSubnet reports whether the address belongs to the CIDR.
func inSubnet(address, cidr string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(ip)
}
