package settings

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// dualStack is the request for both IP families.
type dualStack struct {
	// policy is ipFamilyPolicy; second is the second IP family that the Service requests, "" for none.
	policy v1.IPFamilyPolicy
	second v1.IPFamily
}

// families returns the first IP family of a Service, and its request for another one.
func families(svc *v1.Service) (first v1.IPFamily, dual dualStack) {
	first = FamilyOf(svc)
	dual.policy = ptr.Deref(svc.Spec.IPFamilyPolicy, v1.IPFamilyPolicySingleStack)
	if dual.policy == v1.IPFamilyPolicyRequireDualStack || dual.policy == v1.IPFamilyPolicyPreferDualStack && len(svc.Spec.IPFamilies) > 1 {
		dual.second = other(first)
	}
	return first, dual
}

func other(family v1.IPFamily) v1.IPFamily {
	if family == v1.IPv4Protocol {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// AskedSecond returns the second IP family that the Service requests, even if the load balancer does not
// serve it; "" for none.
func (s *Settings) AskedSecond() v1.IPFamily { return s.dual.second }

// RequiresDualStack reports whether the Service is refused if it cannot be served in both IP families.
func (s *Settings) RequiresDualStack() bool {
	return s.dual.policy == v1.IPFamilyPolicyRequireDualStack
}

// Families returns the IP families in which the Service is served, the first one first.
func (s *Settings) Families() []v1.IPFamily {
	if s.Second == "" {
		return []v1.IPFamily{s.Family}
	}
	return []v1.IPFamily{s.Family, s.Second}
}

// InSecond returns the settings of the other IP family alone, for the selection of its members.
func (s *Settings) InSecond() *Settings {
	in := *s
	in.Family, in.Second = other(s.Family), ""
	return &in
}

// ForNew returns the settings for a new load balancer of a driver: a Service that prefers both IP
// families is served in the first one if the driver does not support both.
func (s *Settings) ForNew(drv driver.Driver) *Settings {
	if s.Second == "" || s.RequiresDualStack() || s.LacksDualStack(drv) == "" {
		return s
	}
	return s.InFirst()
}

// InFirst returns the settings for a load balancer with VIPs of the first IP family alone. Source ranges
// of the other one do not apply.
func (s *Settings) InFirst() *Settings {
	if s.Second == "" {
		return s
	}
	on := *s
	on.Second = ""
	ours := slices.DeleteFunc(slices.Clone(s.Access.SourceRanges), func(text string) bool { return !rangeIn(text, s.Family) })
	if len(ours) == 0 && len(s.Access.SourceRanges) > 0 {
		on.Access.otherFamily = true // no ranges would admit all clients
		return &on
	}
	on.Access.SourceRanges = model.CanonicalCIDRs(ours, false)
	return &on
}

// OnVIPs returns the settings for the VIPs of an existing load balancer.
func (s *Settings) OnVIPs(vip model.VIP) *Settings {
	if vip.DualStack() {
		return s
	}
	return s.InFirst()
}

// LacksDualStack returns the reason why a new load balancer cannot serve both IP families that the
// Service requests, "" if it can.
func (s *Settings) LacksDualStack(drv driver.Driver) string {
	if why := drv.Lacks(driver.AdditionalVIPs); why != "" {
		return why
	}
	if s.VIP.PortID != "" {
		return "the VIP has the address of the port in " + annotation.PortID
	}
	ofSecond := func(text string) bool { return rangeIn(text, s.dual.second) }
	if !drv.Version.AtLeast(driver.VersionRangesOfAllVIPs) && drv.Supports(driver.SourceRanges) && slices.ContainsFunc(s.Access.SourceRanges, ofSecond) {
		return fmt.Sprintf("this Octavia has API version %s, source ranges of %s beside a VIP of %s need %s",
			drv.Version, s.dual.second, s.Family, driver.VersionRangesOfAllVIPs)
	}
	return ""
}

// WantsVIPs reports whether the Service requests several VIPs, and a driver supports them.
func (s *Settings) WantsVIPs(drv driver.Driver) bool {
	return (s.dual.second != "" || len(s.VIP.AdditionalSubnetIDs) > 0) && s.LacksDualStack(drv) == ""
}

// VIPFamilies returns the IP families of the VIPs of a new load balancer, that of the first VIP first: the
// Service's first one, unless only the first VIP can have the floating IP.
func (s *Settings) VIPFamilies(drv driver.Driver) []v1.IPFamily {
	families := s.Families()
	if s.Second == v1.IPv4Protocol && s.FloatingIP() && drv.Quirks.PortPerVIP {
		slices.Reverse(families)
	}
	return families
}

// validateDualStack returns an error if a new load balancer cannot have the VIPs that the Service
// requires, and for source ranges of which none is of an IP family that is served.
func (s *Settings) validateDualStack(drv driver.Driver) field.ErrorList {
	var errs field.ErrorList
	if why := s.LacksDualStack(drv); s.RequiresDualStack() && why != "" && !s.exists {
		errs = append(errs, field.Invalid(inSpec("ipFamilyPolicy"), s.dual.policy, fmt.Sprintf(
			"is not supported: %s; allowed: %s, %s", why, v1.IPFamilyPolicySingleStack, v1.IPFamilyPolicyPreferDualStack)))
	}
	if why := s.lacksAdditional(drv); why != "" && !s.exists {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.AdditionalSubnets), why))
	}
	if s.Access.otherFamily {
		errs = append(errs, field.Invalid(inSpec("loadBalancerSourceRanges"), strings.Join(s.Access.SourceRanges, ","), fmt.Sprintf(
			"the load balancer serves only %s: at least one range must be of that IP family", s.Family)))
	}
	return errs
}

// lacksAdditional returns the reason why a new load balancer cannot have the further VIPs that the
// Service names, "" if it can.
func (s *Settings) lacksAdditional(drv driver.Driver) string {
	if len(s.VIP.AdditionalSubnetIDs) == 0 || s.dual.second != "" {
		return ""
	}
	return s.LacksDualStack(drv)
}

// unusedFamilies reports an IP family in which the Service is not served although it requests that, or in
// which no client is admitted. Package plan reports it if the driver supports both.
func (s *Settings) unusedFamilies(drv driver.Driver, add func(name, text string)) {
	if why := s.LacksDualStack(drv); s.dual.second != "" && s.Second == "" && why != "" {
		add("spec.ipFamilyPolicy", fmt.Sprintf("%s: the load balancer serves only %s, because %s", s.dual.policy, s.Family, why))
	}
	if why := s.lacksAdditional(drv); why != "" {
		add(annotation.AdditionalSubnets, "has no effect: "+why)
	}
	if s.Second == "" || len(s.Access.SourceRanges) == 0 {
		return
	}
	for _, family := range s.Families() {
		if !slices.ContainsFunc(s.Access.SourceRanges, func(text string) bool { return rangeIn(text, family) }) {
			add("spec.loadBalancerSourceRanges", fmt.Sprintf("exclude all clients of %s: no range is of that IP family", family))
		}
	}
}

// rangeIn reports whether a CIDR is of an IP family.
func rangeIn(text string, family v1.IPFamily) bool {
	prefix, err := netip.ParsePrefix(text)
	return err == nil && InFamily(prefix.Addr(), family)
}

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
