package settings

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// NeedsOneFamily reports whether the members of any port must be of the VIP's IP family.
func (s *Settings) NeedsOneFamily(drv driver.Driver) bool {
	return slices.ContainsFunc(s.Traffic.Ports, func(p v1.ServicePort) bool { return slices.Contains(drv.SameFamily, p.Protocol) })
}

// ValidateFamilies returns an error if the provider cannot serve members of the Service's IP family
// at a VIP of the other one. vip is empty if it is unknown.
func (s *Settings) ValidateFamilies(drv driver.Driver, vip v1.IPFamily) field.ErrorList {
	if vip == "" || vip == s.Family {
		return nil
	}
	var errs field.ErrorList
	for i, port := range s.Traffic.Ports {
		if slices.Contains(drv.SameFamily, port.Protocol) {
			errs = append(errs, field.Invalid(inSpec("ports").Index(i).Child("protocol"), port.Protocol, fmt.Sprintf(
				"the members are %s and the VIP is %s, which the provider %s does not support: set spec.ipFamilies to %s, or name a subnet of %s with the annotation %s",
				s.Family, vip, drv.Name, vip, s.Family, annotation.SubnetID)))
		}
	}
	return errs
}
