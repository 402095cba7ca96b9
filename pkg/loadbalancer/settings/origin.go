package settings

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// Origin is where the value of a setting comes from.
type Origin struct {
	// Name is the annotation, the field, or the key of cloud.conf.
	Name string
	// Service is set where the Service itself has the value, not its class or cloud.conf.
	Service bool

	annotation, value string
}

// Origin returns where the value of the setting with an annotation comes from.
func (s *Settings) Origin(name string) Origin {
	for _, o := range s.origins() {
		if o.annotation == name {
			return o
		}
	}
	return Origin{Name: annotation.Path(name).String(), annotation: name}
}

// Naming returns what names an ID or an address that a text of OpenStack's is about, "" where
// no setting does, or the text has the name already.
func (s *Settings) Naming(text string) string {
	for _, o := range s.origins() {
		if o.distinct() && mentions(text, o.value) {
			if strings.Contains(text, o.Name) {
				return ""
			}
			return o.Name
		}
	}
	return ""
}

// distinct reports whether a text that has the value is surely about it.
func (o Origin) distinct() bool {
	_, err := netip.ParseAddr(o.value)
	return err == nil || uuid.Validate(o.value) == nil
}

// mentions reports whether a text has a value that is not part of a longer one.
func mentions(text, value string) bool {
	part := func(r rune) bool {
		return r == '.' || r == ':' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !part(r) })
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(strings.Trim(word, ".:-"), strings.Trim(value, ":")) })
}

// origins returns where the settings come from that name something in the cloud.
func (s *Settings) origins() (all []Origin) {
	r := s.from
	if r == nil {
		return nil
	}
	add := func(name, value string, given *string, ofClass string) {
		if value != "" {
			all = append(all, r.origin(name, value, given, ofClass))
		}
	}
	vip, floating, class := r.values.VIP, r.values.Floating, r.class
	add(annotation.SubnetID, s.VIP.SubnetID, vip.SubnetID, class.SubnetID)
	add(annotation.NetworkID, s.VIP.NetworkID, vip.NetworkID, class.NetworkID)
	add(annotation.PortID, s.VIP.PortID, vip.PortID, "")
	add(annotation.VIPAddress, s.VIP.Address, vip.Address, "")
	add(annotation.MemberSubnetID, s.Members.SubnetID, r.values.Members.SubnetID, class.MemberSubnetID)
	add(annotation.NodeSelector, s.Members.NodeSelector.String(), r.values.Members.NodeSelector, "")
	add(annotation.FloatingNetID, s.Floating.NetworkID, floating.NetworkID, class.FloatingNetworkID)
	add(annotation.FloatingSubnet, s.Floating.SubnetID, floating.SubnetID, class.FloatingSubnetID)
	add(annotation.FloatingIPID, s.Floating.ID, floating.ID, "")
	add(annotation.LoadBalancerID, s.LoadBalancer.ID, r.values.LoadBalancer.ID, "")
	add(annotation.FlavorID, s.LoadBalancer.FlavorID, r.values.LoadBalancer.FlavorID, class.FlavorID)
	add(annotation.AvailabilityZone, s.LoadBalancer.AvailabilityZone, r.values.LoadBalancer.AvailabilityZone, class.AvailabilityZone)
	add(annotation.TLSContainer, s.Listeners.TLSContainerRef, r.values.Listeners.TLSContainerRef, "")
	add(annotation.VIPQoSPolicyID, s.VIP.QoSPolicyID, vip.QoSPolicyID, class.VIPQoSPolicyID)
	for _, id := range s.VIP.SecurityGroupIDs {
		add(annotation.VIPSecurityGroups, id, vip.SecurityGroups, class.VIPSecurityGroupIDs)
	}
	if s.LoadBalancerIP != "" {
		all = append(all, Origin{Name: inSpec("loadBalancerIP").String(), Service: true, value: s.LoadBalancerIP})
	}
	return all
}

// origin returns where a value comes from: the annotation, the class that has a value for it,
// or else the section.
func (r *reading) origin(name, value string, given *string, ofClass string) Origin {
	o := Origin{annotation: name, value: value}
	key := strings.TrimPrefix(name, annotation.Prefix)
	switch {
	case ptr.Deref(given, "") != "":
		o.Name, o.Service = annotation.Path(name).String(), true
	case ofClass != "":
		o.Name = key + " of class " + cmp.Or(ptr.Deref(r.values.LoadBalancer.Class, ""), "?") + " in cloud.conf"
	default:
		o.Name = key + " in cloud.conf"
	}
	return o
}
