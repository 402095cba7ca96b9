package desire

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// oneFamily tells whether the members behind a port must be of the VIP's IP family:
// ovn wants it of all, amphora of what does not go through HAProxy. Octavia answers 501
// to members that are not, but not where a load balancer is created with them.
func oneFamily(protocol v1.Protocol, can Capabilities) bool {
	return can.Provider == ProviderOVN || protocol != v1.ProtocolTCP && slices.Contains(amphorae(), can.Provider)
}

// NeedsOneFamily tells whether any port of a Service must have members of the VIP's IP
// family.
func NeedsOneFamily(svc *v1.Service, can Capabilities) bool {
	return slices.ContainsFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return oneFamily(p.Protocol, can) })
}

// ValidateFamilies refuses ports whose members, which are of the Service's IP family,
// cannot be served at a VIP of another one; vip is empty where it is not known.
func ValidateFamilies(svc *v1.Service, s Settings, can Capabilities, vip v1.IPFamily) field.ErrorList {
	if vip == "" || vip == s.Family {
		return nil
	}
	var errs field.ErrorList
	for i, port := range svc.Spec.Ports {
		if oneFamily(port.Protocol, can) {
			errs = append(errs, field.Invalid(inSpec("ports").Index(i).Child("protocol"), port.Protocol, fmt.Sprintf(
				"the members are %s and the VIP is %s, which the provider %s cannot do: set spec.ipFamilies to %s, or name a subnet of %s with the annotation %s",
				s.Family, vip, can.Provider, vip, s.Family, annotation.SubnetID)))
		}
	}
	return errs
}
