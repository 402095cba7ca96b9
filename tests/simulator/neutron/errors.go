package neutron

import (
	"fmt"
	"net/http"
)

// The constructors below carry the exception names and messages of
// neutron-lib and of Neutron's own extensions.

func notFound(kind, format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Type: kind, Message: fmt.Sprintf(format, args...)}
}

func conflict(kind, format string, args ...any) *Error {
	return &Error{Status: http.StatusConflict, Type: kind, Message: fmt.Sprintf(format, args...)}
}

func badRequest(kind, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: kind, Message: fmt.Sprintf(format, args...)}
}

func networkNotFound(id string) *Error {
	return notFound("NetworkNotFound", "Network %s could not be found.", id)
}

func subnetNotFound(id string) *Error {
	return notFound("SubnetNotFound", "Subnet %s could not be found.", id)
}

func portNotFound(id string) *Error {
	return notFound("PortNotFound", "Port %s could not be found.", id)
}

func routerNotFound(id string) *Error {
	return notFound("RouterNotFound", "Router %s could not be found", id)
}

func floatingIPNotFound(id string) *Error {
	return notFound("FloatingIPNotFound", "Floating IP %s could not be found", id)
}

func securityGroupNotFound(id string) *Error {
	return notFound("SecurityGroupNotFound", "Security group %s does not exist", id)
}

func addressGroupNotFound(id string) *Error {
	return notFound("AddressGroupNotFound", "Address group %s could not be found.", id)
}

func ruleNotFound(id string) *Error {
	return notFound("SecurityGroupRuleNotFound", "Security group rule %s does not exist", id)
}

func noMoreAddresses(networkID string) *Error {
	return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", networkID)
}

func addressTaken(address, subnetID string) *Error {
	return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", address, subnetID)
}

func overQuota(resource string) *Error {
	return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource)
}

func invalidInput(format string, args ...any) *Error {
	return badRequest("InvalidInput", "Invalid input for operation: %s.", fmt.Sprintf(format, args...))
}

// policyForbids is a refusal of Neutron's policy engine.
func policyForbids(rule string) *Error {
	return &Error{Status: http.StatusForbidden, Type: "PolicyNotAuthorized", Message: rule + " is disallowed by policy"}
}
