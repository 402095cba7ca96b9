package settings

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// FloatingSettings are the settings of the floating IP.
type FloatingSettings struct {
	// ID or Tag of a requested floating IP; LoadBalancerIP is the third way to request one.
	ID, Tag string
	// NetworkID is its network; empty means an external network that the controller chooses.
	NetworkID string
	// SubnetID, or a pattern for names and a list of tags, select the subnets of the network;
	// without them all are used.
	SubnetID, Pattern, Tags string
	// Keep is set if the floating IP outlives the Service.
	Keep bool
}

// ChoosesSubnets reports whether names or tags select the subnets.
func (f FloatingSettings) ChoosesSubnets() bool {
	return f.SubnetID == "" && (f.Pattern != "" || f.Tags != "")
}

// Subnets returns the matcher for the subnets. Parse has validated the pattern and the tags.
func (f FloatingSettings) Subnets() config.SubnetMatcher {
	matcher, err := config.NewSubnetMatcher(f.Pattern, f.Tags)
	if err != nil {
		return config.SubnetMatcher{} // Parse has refused it
	}
	return matcher
}

// floating returns the settings of the floating IP. Network and subnets each come from the first of
// annotation, class and section that has one; subnets of a lower level are ignored if a higher one
// has the network. An annotation with an empty network disables that of the section: the controller
// then chooses an external network.
func (r *reading) floating() FloatingSettings {
	values, class, section := r.from.values.Floating, r.from.class, *r.from.conf
	f := FloatingSettings{ID: ptr.Deref(values.ID, ""), Tag: ptr.Deref(values.Tag, ""), Keep: r.from.values.KeepsFloatingIP()}
	if values.NetworkID != nil && *values.NetworkID == "" && class.FloatingNetworkID == "" && section.FloatingNetworkID != "" {
		section.FloatingNetworkID, section.FloatingSubnetID, section.FloatingSubnet, section.FloatingSubnetTags = "", "", "", ""
	}
	for _, level := range []FloatingSettings{
		{
			NetworkID: ptr.Deref(values.NetworkID, ""), SubnetID: ptr.Deref(values.SubnetID, ""),
			Pattern: ptr.Deref(values.Pattern, ""), Tags: ptr.Deref(values.Tags, ""),
		},
		{NetworkID: class.FloatingNetworkID, SubnetID: class.FloatingSubnetID, Pattern: class.FloatingSubnet, Tags: class.FloatingSubnetTags},
		{NetworkID: section.FloatingNetworkID, SubnetID: section.FloatingSubnetID, Pattern: section.FloatingSubnet, Tags: section.FloatingSubnetTags},
	} {
		fits := f.NetworkID == "" || level.NetworkID == "" || level.NetworkID == f.NetworkID
		if fits && f.SubnetID == "" && f.Pattern == "" && f.Tags == "" {
			f.SubnetID, f.Pattern, f.Tags = level.SubnetID, level.Pattern, level.Tags
		}
		f.NetworkID = cmp.Or(f.NetworkID, level.NetworkID)
	}
	if _, err := config.NewSubnetMatcher(ptr.Deref(values.Pattern, ""), ""); err != nil {
		r.refuse(field.Invalid(annotation.Path(annotation.FloatingPattern), *values.Pattern, err.Error()))
	}
	if _, err := config.NewSubnetMatcher("", ptr.Deref(values.Tags, "")); err != nil {
		r.refuse(field.Invalid(annotation.Path(annotation.FloatingTags), *values.Tags, err.Error()))
	}
	return f
}

// FloatingIP reports whether the Service gets a floating IP: if it is external and has a VIP of IPv4. IPv6
// addresses need none.
func (s *Settings) FloatingIP() bool {
	return !s.Internal && slices.Contains(s.Families(), v1.IPv4Protocol)
}

// floatingAddress returns the address of the floating IP that spec.loadBalancerIP requests, "" for none.
func floatingAddress(loadBalancerIP string) string {
	if inFamily(loadBalancerIP, v1.IPv4Protocol) {
		return loadBalancerIP
	}
	return ""
}

// AskedFloatingIP returns the requested floating IP, and the name of the field or annotation that
// requests it.
func (s *Settings) AskedFloatingIP() (model.FloatingIP, string) {
	switch {
	case !s.FloatingIP():
		return model.FloatingIP{}, ""
	case s.Floating.ID != "":
		return model.FloatingIP{ID: s.Floating.ID}, annotation.Path(annotation.FloatingIPID).String()
	case s.Floating.Tag != "":
		return model.FloatingIP{Tag: s.Floating.Tag}, annotation.Path(annotation.FloatingIPTag).String()
	case floatingAddress(s.LoadBalancerIP) != "":
		return model.FloatingIP{Address: floatingAddress(s.LoadBalancerIP)}, inSpec("loadBalancerIP").String()
	}
	return model.FloatingIP{}, ""
}

// validateFloatingIP returns an error if the floating IP is requested in two ways.
func validateFloatingIP(s *Settings) field.ErrorList {
	if !s.FloatingIP() {
		return nil
	}
	var ways []string
	for _, way := range []struct{ name, value string }{
		{annotation.FloatingIPID, s.Floating.ID},
		{annotation.FloatingIPTag, s.Floating.Tag},
		{"spec.loadBalancerIP", floatingAddress(s.LoadBalancerIP)},
	} {
		if way.value != "" {
			ways = append(ways, way.name)
		}
	}
	if len(ways) < 2 {
		return nil
	}
	return field.ErrorList{field.Forbidden(annotation.Path(ways[0]), "the floating IP is also requested by "+ways[1]+": use only one of them")}
}

// noticeFloatingIP reports annotations for a floating IP if there is none.
func (r *reading) noticeFloatingIP(s *Settings) {
	if s.FloatingIP() {
		return
	}
	why := "an internal load balancer has no floating IP"
	if !s.Internal {
		why = "a load balancer of IPv6 has no floating IP"
	}
	for _, asked := range []struct{ name, value string }{{annotation.FloatingIPID, s.Floating.ID}, {annotation.FloatingIPTag, s.Floating.Tag}} {
		if asked.value != "" {
			r.notice(asked.name, "without effect: "+why)
		}
	}
}
