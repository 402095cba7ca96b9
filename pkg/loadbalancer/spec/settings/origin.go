package settings

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Origin is the origin of a setting's value.
type Origin struct {
	// Name is the annotation, the field, or the key of cloud.conf.
	Name string
	// Service is set if the Service itself has the value, and not its class or cloud.conf.
	Service bool

	annotation, value string
}

// Origins are the origins of the settings that name objects in the cloud.
type Origins []Origin

// Of returns the origin of the value of the setting with an annotation.
func (all Origins) Of(name string) Origin {
	for _, o := range all {
		if o.annotation == name {
			return o
		}
	}
	return Origin{Name: annotation.Path(name).String(), annotation: name}
}

// Naming returns the setting that contains the ID or address in a message of OpenStack, "" if there
// is none, or the message names the setting already.
func (all Origins) Naming(text string) string {
	for _, o := range all {
		if o.distinct() && mentions(text, o.value) {
			if strings.Contains(text, o.Name) {
				return ""
			}
			return o.Name
		}
	}
	return ""
}

// distinct reports whether a message with the value is certainly about it.
func (o Origin) distinct() bool {
	_, err := netip.ParseAddr(o.value)
	return err == nil || uuid.Validate(o.value) == nil
}

// mentions reports whether a text contains a value that is not part of a longer one.
func mentions(text, value string) bool {
	part := func(r rune) bool {
		return r == '.' || r == ':' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !part(r) })
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(strings.Trim(word, ".:-"), strings.Trim(value, ":")) })
}

// Origins returns the origins of the settings that name objects in the cloud. It reads the Service
// again, so that settings, which are kept while a round waits, do not keep all values.
func (s *Settings) Origins() (all Origins) {
	if s.parser == nil {
		return nil
	}
	r := s.parser.read(s.service)
	add := func(name, value string, given *string, ofClass string) {
		if value != "" {
			all = append(all, r.from.origin(name, value, given, ofClass))
		}
	}
	vip, floating, class := r.from.values.VIP, r.from.values.Floating, r.from.class
	add(annotation.SubnetID, s.VIP.SubnetID, vip.SubnetID, class.SubnetID)
	add(annotation.NetworkID, s.VIP.NetworkID, vip.NetworkID, class.NetworkID)
	add(annotation.PortID, s.VIP.PortID, vip.PortID, "")
	add(annotation.VIPAddress, s.VIP.Address, vip.Address, "")
	add(annotation.MemberSubnetID, s.Members.SubnetID, r.from.values.Members.SubnetID, class.MemberSubnetID)
	add(annotation.NodeSelector, s.Members.NodeSelector.String(), r.from.values.Members.NodeSelector, "")
	add(annotation.FloatingNetID, s.Floating.NetworkID, floating.NetworkID, class.FloatingNetworkID)
	add(annotation.FloatingSubnet, s.Floating.SubnetID, floating.SubnetID, class.FloatingSubnetID)
	add(annotation.FloatingIPID, s.Floating.ID, floating.ID, "")
	add(annotation.LoadBalancerID, s.LoadBalancer.ID, r.from.values.LoadBalancer.ID, "")
	add(annotation.FlavorID, s.LoadBalancer.FlavorID, r.from.values.LoadBalancer.FlavorID, class.FlavorID)
	add(annotation.AvailabilityZone, s.LoadBalancer.AvailabilityZone, r.from.values.LoadBalancer.AvailabilityZone, class.AvailabilityZone)
	add(annotation.TLSContainer, s.Listeners.TLSContainerRef, r.from.values.Listeners.TLSContainerRef, "")
	add(annotation.VIPQoSPolicyID, s.VIP.QoSPolicyID, vip.QoSPolicyID, class.VIPQoSPolicyID)
	for _, id := range s.VIP.SecurityGroupIDs {
		add(annotation.VIPSecurityGroups, id, vip.SecurityGroups, class.VIPSecurityGroupIDs)
	}
	if s.LoadBalancerIP != "" {
		all = append(all, Origin{Name: inSpec("loadBalancerIP").String(), Service: true, value: s.LoadBalancerIP})
	}
	return all
}

// origin returns the origin of a value: the annotation, the class if it has a value, or else the
// section.
func (l *levels) origin(name, value string, given *string, ofClass string) Origin {
	o := Origin{annotation: name, value: value}
	key := strings.TrimPrefix(name, annotation.Prefix)
	switch {
	case ptr.Deref(given, "") != "":
		o.Name, o.Service = annotation.Path(name).String(), true
	case ofClass != "":
		o.Name = key + " of class " + cmp.Or(ptr.Deref(l.values.LoadBalancer.Class, ""), "?") + " in cloud.conf"
	default:
		o.Name = key + " in cloud.conf"
	}
	return o
}
