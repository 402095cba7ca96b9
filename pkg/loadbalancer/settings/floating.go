package settings

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// FloatingSettings are what a Service asks of its floating IP.
type FloatingSettings struct {
	// ID or Tag of the one that it asks for; LoadBalancerIP is the third way.
	ID, Tag string
	// NetworkID is where it comes from; empty means an external network of the
	// cloud's.
	NetworkID string
	// SubnetID, or a pattern for names and a list of tags, say which subnets of the
	// network it comes from; none of them means any.
	SubnetID, Pattern, Tags string
	// Keep is set where the floating IP outlives the Service.
	Keep bool
}

// ChoosesSubnets reports whether names or tags decide on the subnets.
func (f FloatingSettings) ChoosesSubnets() bool {
	return f.SubnetID == "" && (f.Pattern != "" || f.Tags != "")
}

// Subnets returns what chooses the subnets. What it is made of has passed Parse.
func (f FloatingSettings) Subnets() config.SubnetMatcher {
	matcher, err := config.NewSubnetMatcher(f.Pattern, f.Tags)
	if err != nil {
		return config.SubnetMatcher{} // Parse has refused it
	}
	return matcher
}

// floating reads what is asked of the floating IP. Network and subnets are each taken
// from the first of annotation, class and section that names one; subnets that come with
// another network are of no use. An annotation that names no network takes that of the
// section away: the cloud's own is looked for then.
func (r *reading) floating() FloatingSettings {
	values, class, section := r.values.Floating, r.class, r.conf
	f := FloatingSettings{ID: ptr.Deref(values.ID, ""), Tag: ptr.Deref(values.Tag, ""), Keep: r.values.KeepsFloatingIP()}
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

// FloatingIP reports whether the Service gets a floating IP: an external one of
// IPv4. IPv6 addresses are reached as they are.
func (s *Settings) FloatingIP() bool { return !s.Internal && s.Family == v1.IPv4Protocol }

// AskedFloatingIP returns what the Service asks of its floating IP, and the field or
// annotation that does.
func (s *Settings) AskedFloatingIP() (model.FloatingIP, string) {
	switch {
	case !s.FloatingIP():
		return model.FloatingIP{}, ""
	case s.Floating.ID != "":
		return model.FloatingIP{ID: s.Floating.ID}, annotation.Path(annotation.FloatingIPID).String()
	case s.Floating.Tag != "":
		return model.FloatingIP{Tag: s.Floating.Tag}, annotation.Path(annotation.FloatingIPTag).String()
	case s.LoadBalancerIP != "":
		return model.FloatingIP{Address: s.LoadBalancerIP}, inSpec("loadBalancerIP").String()
	}
	return model.FloatingIP{}, ""
}

// validateFloatingIP refuses a floating IP that is asked for in two ways.
func (s *Settings) validateFloatingIP() field.ErrorList {
	if !s.FloatingIP() {
		return nil
	}
	var ways []string
	for _, way := range []struct{ name, value string }{
		{annotation.FloatingIPID, s.Floating.ID},
		{annotation.FloatingIPTag, s.Floating.Tag},
		{"spec.loadBalancerIP", s.LoadBalancerIP},
	} {
		if way.value != "" {
			ways = append(ways, way.name)
		}
	}
	if len(ways) < 2 {
		return nil
	}
	return field.ErrorList{field.Forbidden(annotation.Path(ways[0]), "the floating IP is also named by "+ways[1]+": only one of the two can decide")}
}

// noticeFloatingIP tells of annotations that ask for a floating IP where there is none.
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
