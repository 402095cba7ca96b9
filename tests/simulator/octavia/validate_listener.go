package octavia

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// listenerFacts are the settings of a listener that its checks are about, as
// they would be after the request.
type listenerFacts struct {
	protocol     string
	headers      map[string]string
	refs         []string // TLS containers, the default one last
	clientCA     string
	clientAuth   string
	crl          string
	ciphers      string
	versions     []string
	versionsSet  bool
	protocols    []string // ALPN
	protocolsSet bool
	cidrs        []string
}

func factsOfListener(given body) listenerFacts {
	facts := listenerFacts{
		protocol: given.text("protocol"), refs: given.texts("sni_container_refs"),
		clientCA: given.text("client_ca_tls_container_ref"), clientAuth: given.text("client_authentication"),
		crl: given.text("client_crl_container_ref"), ciphers: given.text("tls_ciphers"), cidrs: given.texts("allowed_cidrs"),
		versions: given.texts("tls_versions"), versionsSet: given["tls_versions"] != nil,
		protocols: given.texts("alpn_protocols"), protocolsSet: given["alpn_protocols"] != nil,
	}
	facts.headers, _ = given["insert_headers"].(map[string]string)
	if ref := given.text("default_tls_container_ref"); ref != "" {
		facts.refs = append(facts.refs, ref)
	}
	return facts
}

// endsTLS reports whether a listener with these settings terminates TLS.
func (f listenerFacts) endsTLS() bool {
	return f.protocol == "TERMINATED_HTTPS" || f.protocol == "PROMETHEUS" && len(f.refs) > 0
}

// checkListener is about what a listener may be on this load balancer, in the
// order in which Octavia finds out.
func (o *Octavia) checkListener(lb *LoadBalancer, given body, nested bool) *apiError {
	facts := factsOfListener(given)
	if failure := checkHeaders(facts); failure != nil {
		return failure
	}
	if failure := o.checkListenerTLS(facts); failure != nil {
		return failure
	}
	port := given.integer("protocol_port", 0)
	for _, other := range lb.Listeners {
		if other.ProtocolPort == port && transport(other.Protocol) == transport(facts.protocol) {
			return refuse(http.StatusConflict,
				"Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", other.Protocol, port)
		}
	}
	if failure := o.checkCIDRs(lb, facts.cidrs, nested); failure != nil {
		return failure
	}
	if facts.endsTLS() {
		if failure := checkTLSLists(facts.versions, facts.versionsSet, facts.protocols, facts.protocolsSet); failure != nil {
			return failure
		}
	}
	if hasTwice(given.texts("tags")) {
		// Octavia takes any duplicate for that of the port.
		return refuse(http.StatusConflict,
			"Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", facts.protocol, port)
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

func checkHeaders(facts listenerFacts) *apiError {
	if len(facts.headers) == 0 {
		return nil
	}
	if facts.protocol != "HTTP" && facts.protocol != "TERMINATED_HTTPS" {
		return refuse(http.StatusBadRequest, "insert-headers is not a valid option for a %s protocol listener.", facts.protocol)
	}
	plain := []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}
	ofTLS := []string{
		"X-SSL-Client-Verify", "X-SSL-Client-Has-Cert", "X-SSL-Client-DN", "X-SSL-Client-CN",
		"X-SSL-Issuer", "X-SSL-Client-SHA1", "X-SSL-Client-Not-Before", "X-SSL-Client-Not-After",
	}
	var names, forTLS []string
	unknown := false
	for name := range facts.headers {
		names = append(names, name)
		if slices.Contains(ofTLS, name) {
			forTLS = append(forTLS, name)
		} else if !slices.Contains(plain, name) {
			unknown = true
		}
	}
	slices.Sort(names)
	slices.Sort(forTLS)
	switch {
	case unknown:
		return refuse(http.StatusBadRequest, "dict_keys(%s) is not a valid option for insert_headers", pythonRepr(names))
	case facts.protocol != "TERMINATED_HTTPS" && len(forTLS) > 0:
		return refuse(http.StatusBadRequest, "%s is not a valid option for %s protocol listener.", pythonRepr(forTLS), facts.protocol)
	}
	return nil
}

func (o *Octavia) checkListenerTLS(facts listenerFacts) *apiError {
	datagram := facts.protocol == "UDP" || facts.protocol == "SCTP"
	name := facts.protocol
	if name == "PROMETHEUS" {
		name += " with TLS"
	}
	switch {
	case datagram && len(facts.refs)+len(facts.headers) > 0:
		return invalid("%s protocol listener does not support TLS.", facts.protocol)
	case !facts.endsTLS() && len(facts.refs) > 0:
		return invalid("Certificate container references are not allowed on %s protocol listeners.", facts.protocol)
	case facts.clientCA != "" && len(facts.refs) == 0:
		return invalid("An SNI or default certificate container reference must be provided with a client CA container reference.")
	case facts.endsTLS() && len(facts.refs) == 0:
		return invalid("An SNI or default certificate container reference must be provided for %s protocol listeners.", name)
	case facts.clientAuth != "" && facts.clientAuth != "NONE" && facts.clientCA == "":
		return invalid("Client authentication setting %s requires a client CA container reference.", facts.clientAuth)
	case facts.crl != "" && facts.clientCA == "":
		return invalid("A client authentication CA reference is required to specify a client authentication revocation list.")
	}
	if failure := o.release.checkCiphers(facts.ciphers); failure != nil {
		return failure
	}
	return o.checkCertificates(facts.refs, facts.clientCA, facts.crl)
}

// ErrUnreadableBundle is the error of a secret that is no PKCS #12 bundle without a password.
var ErrUnreadableBundle = errors.New("unreadable PKCS #12 bundle")

// unreadableBundle is what Octavia answers for one.
const unreadableBundle = "The PKCS12 bundle is unreadable. Please check the PKCS12 bundle validity. In addition, make sure it " +
	"does not require a pass phrase. Error: Could not deserialize PKCS12 data"

// checkCertificates wants all containers to be readable: those with a certificate and its key, and the others, which are
// no bundles.
func (o *Octavia) checkCertificates(certificates []string, others ...string) *apiError {
	for i, refs := range [][]string{certificates, others} {
		var bad []string
		for _, ref := range refs {
			if ref == "" || o.options.Certificates == nil {
				continue
			}
			err := o.options.Certificates(ref)
			switch {
			case err == nil:
			case !errors.Is(err, ErrUnreadableBundle):
				bad = append(bad, ref)
			case i == 0:
				return refuse(http.StatusBadRequest, unreadableBundle)
			}
		}
		if len(bad) > 0 {
			return refuse(http.StatusBadRequest, "Could not retrieve certificate: %s", pythonRepr(bad))
		}
	}
	return nil
}

func (r Release) checkCiphers(ciphers string) *apiError {
	allowed := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-+!:@=_.", r)
	}
	if r.HardenedTexts && strings.ContainsFunc(ciphers, func(r rune) bool { return !allowed(r) }) {
		return invalid("Invalid characters in cipher string. Only alphanumeric, -, +, !, :, @, =, _, and . are allowed.")
	}
	return nil
}

func checkTLSLists(versions []string, versionsSet bool, protocols []string, protocolsSet bool) *apiError {
	switch {
	case versionsSet && len(versions) == 0:
		return invalid("Empty TLS version list. Either specify at least one TLS version or remove this parameter to use the default.")
	case protocolsSet && len(protocols) == 0:
		return invalid("Empty ALPN protocol list. Either specify at least one ALPN protocol or remove this parameter to use the default.")
	}
	known := []string{"SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	unknown := slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return slices.Contains(known, v) })
	if len(unknown) > 0 {
		return invalid("Invalid TLS versions: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// checkListenerUpdate is checkListener for a PUT.
func (o *Octavia) checkListenerUpdate(lb *LoadBalancer, listener *Listener, given body) *apiError {
	facts := factsOfListener(given)
	facts.protocol = listener.Protocol
	datagram := facts.protocol == "UDP" || facts.protocol == "SCTP"
	ca := facts.clientCA
	if ca == "" {
		ca = listener.TLS.ClientCAContainerRef
	}
	crl := facts.crl
	if crl == "" {
		crl = listener.TLS.ClientCRLContainerRef
	}
	switch {
	case datagram && len(facts.refs)+len(facts.headers) > 0:
		return invalid("%s protocol listener does not support TLS or header insertion.", facts.protocol)
	case !facts.endsTLS() && len(facts.refs) > 0:
		return invalid("Certificate container references are not allowed on %s protocol listeners.", facts.protocol)
	case facts.clientAuth != "" && facts.clientAuth != "NONE" && ca == "":
		return invalid("Client authentication setting %s requires a client CA container reference.", facts.clientAuth)
	}
	if failure := checkHeaders(facts); failure != nil {
		return failure
	}
	if failure := o.checkCertificates(facts.refs); failure != nil {
		return failure
	}
	if crl != "" && ca == "" {
		return invalid("A client authentication CA reference is required to specify a client authentication revocation list.")
	}
	if failure := o.checkCertificates(nil, facts.clientCA, facts.crl); failure != nil {
		return failure
	}
	if failure := o.checkCIDRs(lb, facts.cidrs, false); failure != nil {
		return failure
	}
	if failure := o.release.checkCiphers(facts.ciphers); failure != nil {
		return failure
	}
	return checkTLSLists(facts.versions, facts.versionsSet, facts.protocols, facts.protocolsSet)
}

// checkCIDRs wants each CIDR to be of a VIP's IP version.
func (o *Octavia) checkCIDRs(lb *LoadBalancer, cidrs []string, nested bool) *apiError {
	if len(cidrs) > 0 && len(lb.VIP.SecurityGroupIDs) > 0 {
		return refuse(http.StatusBadRequest, "Allowed CIDRs are not allowed when using custom VIP Security Groups.")
	}
	addresses := []string{lb.VIP.Address}
	for _, vip := range lb.AdditionalVIPs {
		addresses = append(addresses, vip.Address)
	}
	for _, cidr := range cidrs {
		fits := slices.ContainsFunc(addresses, func(address string) bool { return isIPv6(address) == isIPv6(cidr) })
		switch {
		case o.release.OneVIPText && isIPv6(addresses[0]) != isIPv6(cidr):
			return invalid("CIDR %s IP version incompatible with VIP %s IP version.", cidr, addresses[0])
		case fits:
		case nested && o.release.CIDRCheckCrashes:
			return cidrCrash()
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

// uniqueCIDRs fails as the database does on a CIDR given twice.
func uniqueCIDRs(listener string, cidrs []string) *apiError {
	if hasTwice(cidrs) {
		return crash(fmt.Sprintf("(pymysql.err.IntegrityError) (1062, \"Duplicate entry '%s-%s' for key 'listener_cidr.PRIMARY'\")",
			listener, cidrs[0]))
	}
	return nil
}

func hasTwice(values []string) bool {
	for i, value := range values {
		if slices.Contains(values[:i], value) {
			return true
		}
	}
	return false
}
