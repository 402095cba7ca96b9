package apierror

import (
	"net/http"
	"slices"
	"strings"
)

// noRouter is Neutron's type of the 404 for a floating IP on a subnet that no
// router connects to the external network.
const noRouter = "ExternalGatewayForFloatingIPNotFound"

// NeutronType returns Neutron's name for an error, for example
// "IpAddressAlreadyAllocated"; "" for errors that are not Neutron's.
func NeutronType(err error) string { return refusalOf(err).body.neutronType }

// IsExhausted reports whether there was no free address where a floating IP was to
// come from.
func IsExhausted(err error) bool {
	kind := NeutronType(err)
	return strings.HasPrefix(kind, "IpAddressGenerationFailure") || kind == "ExternalIpAddressExhausted"
}

// IsUnreachable reports whether a floating IP cannot be put on a port because no router leads from
// there to its network.
func IsUnreachable(err error) bool { return NeutronType(err) == noRouter }

// IsNoAddress reports whether an address that was asked for cannot be had where it was asked for:
// it is taken, or in no subnet there.
func IsNoAddress(err error) bool {
	switch NeutronType(err) {
	case "IpAddressAlreadyAllocated", "InvalidIpForNetwork", "InvalidIpForSubnet":
		return true
	}
	return false
}

// IsStale reports whether an object was changed after it was read (412).
func IsStale(err error) bool { return StatusCode(err) == http.StatusPreconditionFailed }

// IsInUse reports whether a security group cannot be deleted because ports use it.
func IsInUse(err error) bool { return NeutronType(err) == "SecurityGroupInUse" }

// IsRuleThere reports whether a security group has one of the rules already.
func IsRuleThere(err error) bool { return NeutronType(err) == "SecurityGroupRuleExists" }

// IsNoRouter reports whether there is no such router, or the project may not see it.
func IsNoRouter(err error) bool { return NeutronType(err) == "RouterNotFound" }

// IsRouteLimit reports whether a router has as many routes as Neutron's max_routes
// allows, or from 2026.2 on the project's quota of routes.
func IsRouteLimit(err error) bool {
	switch NeutronType(err) {
	case "RoutesExhausted":
		return true
	case "OverQuota":
		return slices.Contains(ShortageOf(err).Neutron, "router_route")
	}
	return false
}

// IsUnknownAction reports whether Neutron does not know what was to be done to an
// object, for want of an extension. It is not about the object, and no proxy's 404.
func IsUnknownAction(err error) bool {
	r := refusalOf(err)
	return r.status == http.StatusNotFound && r.isService() && !IsNoRouter(err)
}
