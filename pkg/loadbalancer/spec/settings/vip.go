package settings

import (
	"cmp"
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

// vip returns the settings of the VIP without its address.
func (l *levels) vip() VIPSettings {
	values := l.values.VIP
	s := VIPSettings{PortID: ptr.Deref(values.PortID, "")}
	s.SubnetID, s.NetworkID = l.vipPlace()
	s.AdditionalSubnetIDs = l.additionalSubnets()
	s.QoSPolicyID = strings.ToLower(cmp.Or(ptr.Deref(values.QoSPolicyID, ""), l.conf.VIPQoSPolicyID))
	for id := range strings.SplitSeq(cmp.Or(ptr.Deref(values.SecurityGroups, ""), l.conf.VIPSecurityGroupIDs), ",") {
		if id = strings.ToLower(strings.TrimSpace(id)); id != "" {
			s.SecurityGroupIDs = append(s.SecurityGroupIDs, id)
		}
	}
	slices.Sort(s.SecurityGroupIDs)
	s.SecurityGroupIDs = slices.Compact(s.SecurityGroupIDs)
	return s
}

// additionalSubnets returns the subnets of the VIPs besides the first, in their order.
func (l *levels) additionalSubnets() []string {
	text := ptr.Deref(l.values.VIP.AdditionalSubnetIDs, "")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// vipPlace returns subnet and network of the VIP from the first of annotation, class and section
// that has either, because a subnet of one need not be in the network of another.
func (l *levels) vipPlace() (subnet, network string) {
	for _, place := range [][2]string{
		{ptr.Deref(l.values.VIP.SubnetID, ""), ptr.Deref(l.values.VIP.NetworkID, "")},
		{l.class.SubnetID, l.class.NetworkID},
		{l.conf.SubnetID, l.conf.NetworkID},
	} {
		if place[0] != "" || place[1] != "" {
			return place[0], place[1]
		}
	}
	return "", ""
}

func (r *reading) loadBalancerIP(families []v1.IPFamily) string {
	text := r.svc.Spec.LoadBalancerIP
	if text == "" {
		return ""
	}
	path := inSpec("loadBalancerIP")
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		r.refuse(field.Invalid(path, text, "must be an IP address"))
		return ""
	case !inFamilies(address, families):
		r.refuse(field.Invalid(path, text, fmt.Sprintf("must be of the Service's IP family, %s", families[0])))
		return ""
	case !ofHost(address):
		r.refuse(field.Invalid(path, text, notOfHost))
		return ""
	}
	return address.Unmap().String()
}

const notOfHost = "must be the address of a host; leave it out for one that OpenStack chooses"

// ofHost reports whether an address can belong to a host: it is neither unspecified nor multicast.
func ofHost(address netip.Addr) bool {
	address = address.Unmap()
	return !address.IsUnspecified() && !address.IsMulticast() && address != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// vipAddress returns the address of the VIP that the Service requests in addition to its floating
// IP.
func (r *reading) vipAddress(families []v1.IPFamily) string {
	text := r.from.values.VIP.Address
	if text == nil {
		return ""
	}
	path := annotation.Path(annotation.VIPAddress)
	address, err := netip.ParseAddr(*text)
	switch {
	case err != nil || address.Zone() != "":
		r.refuse(field.Invalid(path, *text, "must be an IP address"))
		return ""
	case !inFamilies(address, families):
		r.refuse(field.Invalid(path, *text, fmt.Sprintf("must be of the Service's IP family, %s", families[0])))
		return ""
	case !ofHost(address):
		r.refuse(field.Invalid(path, *text, notOfHost))
		return ""
	case r.from.values.VIP.PortID != nil:
		r.refuse(field.Forbidden(path, "the VIP has the address of the port in "+annotation.PortID))
		return ""
	}
	return address.Unmap().String()
}

// VIPAddress returns the requested address of the VIP of an IP family, "" for none, and the name of the
// field or annotation that requests it. Floating is set if the Service gets a floating IP, which
// spec.loadBalancerIP of IPv4 then requests.
func (s *Settings) VIPAddress(family v1.IPFamily, floating bool) (address, askedBy string) {
	switch {
	case inFamily(s.VIP.Address, family):
		return s.VIP.Address, annotation.Path(annotation.VIPAddress).String()
	case s.VIP.PortID == "" && inFamily(s.LoadBalancerIP, family) && (!floating || family != v1.IPv4Protocol):
		return s.LoadBalancerIP, inSpec("loadBalancerIP").String()
	}
	return "", ""
}

// inFamily reports whether a text is an address of an IP family.
func inFamily(text string, family v1.IPFamily) bool { return model.FamilyOf(text) == string(family) }

// validateVIPAddress returns an error for two addresses of the VIP.
func validateVIPAddress(s *Settings) field.ErrorList {
	if s.LoadBalancerIP == "" || s.FloatingIP() && inFamily(s.LoadBalancerIP, v1.IPv4Protocol) {
		return nil
	}
	switch {
	case s.VIP.Address != s.LoadBalancerIP && model.FamilyOf(s.VIP.Address) == model.FamilyOf(s.LoadBalancerIP):
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.VIPAddress), "spec.loadBalancerIP requests another address of the VIP: "+s.LoadBalancerIP)}
	case s.VIP.PortID != "":
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.PortID), "spec.loadBalancerIP requests an address of the VIP, which the port determines")}
	}
	return nil
}

// vip returns errors for settings of the VIP that the driver does not support, from any
// level: ignoring them would remove a protection. The value none is always valid.
func (v validation) vip() field.ErrorList {
	var errs field.ErrorList
	asked := v.s.VIP.Settled()
	if why := v.drv.Lacks(driver.VIPQoS); asked.QoSPolicyID != "" && why != "" {
		errs = append(errs, field.Forbidden(annotation.Path(annotation.VIPQoSPolicyID), asked.QoSPolicyID+" is not supported: "+why))
	}
	if len(asked.SecurityGroupIDs) == 0 {
		return errs
	}
	at, ids := annotation.Path(annotation.VIPSecurityGroups), strings.Join(asked.SecurityGroupIDs, ",")
	if why := v.drv.Lacks(driver.VIPSecurityGroups); why != "" {
		return append(errs, field.Forbidden(at, ids+" is not supported: "+why))
	}
	if len(v.s.Access.SourceRanges) > 0 {
		errs = append(errs, field.Forbidden(at, ids+" and source ranges exclude each other: define the clients in the groups, or set "+model.None))
	}
	return errs
}
