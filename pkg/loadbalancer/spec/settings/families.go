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

// DualStack is the request of a Service for both IP families.
type DualStack struct {
	// Policy is ipFamilyPolicy; Second is the second IP family that the Service requests, even if the load
	// balancer does not serve it, "" for none.
	Policy v1.IPFamilyPolicy
	Second v1.IPFamily
}

// Required reports whether the Service is refused if it cannot be served in both IP families.
func (d DualStack) Required() bool { return d.Policy == v1.IPFamilyPolicyRequireDualStack }

// families returns the first IP family of a Service, and its request for another one.
func families(svc *v1.Service) (first v1.IPFamily, dual DualStack) {
	first = FamilyOf(svc)
	dual.Policy = ptr.Deref(svc.Spec.IPFamilyPolicy, v1.IPFamilyPolicySingleStack)
	if dual.Policy == v1.IPFamilyPolicyRequireDualStack || dual.Policy == v1.IPFamilyPolicyPreferDualStack && len(svc.Spec.IPFamilies) > 1 {
		dual.Second = other(first)
	}
	return first, dual
}

func other(family v1.IPFamily) v1.IPFamily {
	if family == v1.IPv4Protocol {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
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

// OnNew returns the settings for a new load balancer: a Service that prefers both IP
// families is served in the first one if the driver does not support both.
func (f ForDriver) OnNew() *Settings {
	if f.s.Second == "" || f.s.Dual.Required() || f.LacksDualStack() == "" {
		return f.s
	}
	return f.s.InFirst()
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

// LacksDualStack returns the reason why a new load balancer cannot serve both IP families that the
// Service requests, "" if it can.
func (f ForDriver) LacksDualStack() string {
	if why := f.drv.Lacks(driver.AdditionalVIPs); why != "" {
		return why
	}
	if f.s.VIP.PortID != "" {
		return "the VIP has the address of the port in " + annotation.PortID
	}
	ofSecond := func(text string) bool { return rangeIn(text, f.s.Dual.Second) }
	if !f.drv.Version.AtLeast(driver.VersionRangesOfAllVIPs) && f.drv.Supports(driver.SourceRanges) && slices.ContainsFunc(f.s.Access.SourceRanges, ofSecond) {
		return fmt.Sprintf("this Octavia has API version %s, source ranges of %s beside a VIP of %s need %s",
			f.drv.Version, f.s.Dual.Second, f.s.Family, driver.VersionRangesOfAllVIPs)
	}
	return ""
}

// WantsVIPs reports whether the Service requests several VIPs, and a driver supports them.
func (f ForDriver) WantsVIPs() bool {
	return (f.s.Dual.Second != "" || len(f.s.VIP.AdditionalSubnetIDs) > 0) && f.LacksDualStack() == ""
}

// VIPFamilies returns the IP families of the VIPs of a new load balancer, that of the first VIP first: the
// Service's first one, unless only the first VIP can have the floating IP.
func (f ForDriver) VIPFamilies() []v1.IPFamily {
	families := f.s.Families()
	if f.s.Second == v1.IPv4Protocol && f.s.FloatingIP() && f.drv.Quirks.PortPerVIP {
		slices.Reverse(families)
	}
	return families
}

// dualStack returns an error if a new load balancer cannot have the VIPs that the Service
// requires, and for source ranges of which none is of an IP family that is served.
func (v validation) dualStack() field.ErrorList {
	var errs field.ErrorList
	if why := v.LacksDualStack(); v.s.Dual.Required() && why != "" && !v.s.exists {
		errs = append(errs, field.Invalid(inSpec("ipFamilyPolicy"), v.s.Dual.Policy, fmt.Sprintf(
			"is not supported: %s; allowed: %s, %s", why, v1.IPFamilyPolicySingleStack, v1.IPFamilyPolicyPreferDualStack)))
	}
	if why := v.lacksAdditional(); why != "" && !v.s.exists {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.AdditionalSubnets), why))
	}
	if v.s.Access.otherFamily {
		errs = append(errs, field.Invalid(inSpec("loadBalancerSourceRanges"), strings.Join(v.s.Access.SourceRanges, ","), fmt.Sprintf(
			"the load balancer serves only %s: at least one range must be of that IP family", v.s.Family)))
	}
	return errs
}

// lacksAdditional returns the reason why a new load balancer cannot have the further VIPs that the
// Service names, "" if it can.
func (f ForDriver) lacksAdditional() string {
	if len(f.s.VIP.AdditionalSubnetIDs) == 0 || f.s.Dual.Second != "" {
		return ""
	}
	return f.LacksDualStack()
}

// families reports an IP family in which the Service is not served although it requests that, or in
// which no client is admitted. Package plan reports it if the driver supports both.
func (u *unused) families() {
	if why := u.LacksDualStack(); u.s.Dual.Second != "" && u.s.Second == "" && why != "" {
		u.add("spec.ipFamilyPolicy", fmt.Sprintf("%s: the load balancer serves only %s, because %s", u.s.Dual.Policy, u.s.Family, why))
	}
	if why := u.lacksAdditional(); why != "" {
		u.add(annotation.AdditionalSubnets, "has no effect: "+why)
	}
	if u.s.Second == "" || len(u.s.Access.SourceRanges) == 0 {
		return
	}
	for _, family := range u.s.Families() {
		if !slices.ContainsFunc(u.s.Access.SourceRanges, func(text string) bool { return rangeIn(text, family) }) {
			u.add("spec.loadBalancerSourceRanges", fmt.Sprintf("exclude all clients of %s: no range is of that IP family", family))
		}
	}
}

// rangeIn reports whether a CIDR is of an IP family.
func rangeIn(text string, family v1.IPFamily) bool {
	prefix, err := netip.ParsePrefix(text)
	return err == nil && InFamily(prefix.Addr(), family)
}

// ValidateFamilies returns an error if the provider cannot serve members of the Service's IP family
// at a VIP of the other one. vip is empty if it is unknown.
func (f ForDriver) ValidateFamilies(vip v1.IPFamily) field.ErrorList {
	if vip == "" || vip == f.s.Family {
		return nil
	}
	var errs field.ErrorList
	for i, port := range f.s.Traffic.Ports {
		if slices.Contains(f.drv.SameFamily, port.Protocol) {
			errs = append(errs, field.Invalid(inSpec("ports").Index(i).Child("protocol"), port.Protocol, fmt.Sprintf(
				"the members are %s and the VIP is %s, which the provider %s does not support: set spec.ipFamilies to %s, or name a subnet of %s with the annotation %s",
				f.s.Family, vip, f.drv.Name, vip, f.s.Family, annotation.SubnetID)))
		}
	}
	return errs
}
