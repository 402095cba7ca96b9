package apierror

import (
	"net/http"
	"slices"
	"strings"
)

// noRouter is Neutron's error type of the 404 for a floating IP on a subnet without a router to the
// external network.
const noRouter = "ExternalGatewayForFloatingIPNotFound"

// NeutronType returns Neutron's error type, such as "IpAddressAlreadyAllocated"; "" for other
// errors.
func NeutronType(err error) string { return refusalOf(err).body.neutronType }

// IsExhausted reports whether there was no free address for a floating IP.
func IsExhausted(err error) bool {
	kind := NeutronType(err)
	return strings.HasPrefix(kind, "IpAddressGenerationFailure") || kind == "ExternalIpAddressExhausted"
}

// IsUnreachable reports whether a floating IP cannot be associated with a port because no router
// connects them.
func IsUnreachable(err error) bool { return NeutronType(err) == noRouter }

// IsNoAddress reports whether the requested address is in use, or in none of the subnets.
func IsNoAddress(err error) bool {
	switch NeutronType(err) {
	case "IpAddressAlreadyAllocated", "InvalidIpForNetwork", "InvalidIpForSubnet":
		return true
	}
	return false
}

// IsForwarded reports whether a floating IP has port forwardings, and so can be neither deleted nor associated.
func IsForwarded(err error) bool { return NeutronType(err) == "FipInUseByPortForwarding" }

// IsStale reports whether an object was changed after it was read (412).
func IsStale(err error) bool { return StatusCode(err) == http.StatusPreconditionFailed }

// IsUnknownGroup reports whether a security group in a request does not exist.
func IsUnknownGroup(err error) bool { return NeutronType(err) == "SecurityGroupNotFound" }

// IsInUse reports whether a security group cannot be deleted because ports use it.
func IsInUse(err error) bool { return NeutronType(err) == "SecurityGroupInUse" }

// IsRuleThere reports whether a security group already has one of the rules.
func IsRuleThere(err error) bool { return NeutronType(err) == "SecurityGroupRuleExists" }

// IsNoRouter reports whether the router does not exist or is not visible to the project.
func IsNoRouter(err error) bool { return NeutronType(err) == "RouterNotFound" }

// IsRouteLimit reports whether a router has the maximum number of routes: Neutron's max_routes, or
// from 2026.2 on the project's quota of routes.
func IsRouteLimit(err error) bool {
	switch NeutronType(err) {
	case "RoutesExhausted":
		return true
	case "OverQuota":
		return slices.Contains(ShortageOf(err).Neutron, "router_route")
	}
	return false
}

// IsUnknownAction reports whether Neutron does not support an action because an extension is
// missing. It is false for errors about the object and for a proxy's 404.
func IsUnknownAction(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusNotFound && r.isService() && !IsNoRouter(err)
}
