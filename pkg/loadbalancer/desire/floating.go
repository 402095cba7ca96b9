package desire

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
}

// ChoosesSubnets tells whether names or tags decide on the subnets.
func (f FloatingSettings) ChoosesSubnets() bool {
	return f.SubnetID == "" && (f.Pattern != "" || f.Tags != "")
}

// Subnets picks the subnets. What it is made of has passed Read.
func (f FloatingSettings) Subnets() config.SubnetMatcher {
	matcher, err := config.NewSubnetMatcher(f.Pattern, f.Tags)
	if err != nil {
		return config.SubnetMatcher{} // Read has refused it
	}
	return matcher
}

// floating reads them. Network and subnets are each taken from the first of
// annotation, class and section that names one; subnets that come with another
// network are of no use. An annotation that names no network takes that of the section
// away: the cloud's own is looked for then.
func floating(values annotation.Values, class *config.LoadBalancerClass, lb config.LoadBalancer) (FloatingSettings, field.ErrorList) {
	f := FloatingSettings{ID: value(values.FloatingIPID), Tag: value(values.FloatingIPTag)}
	if values.FloatingNetworkID != nil && *values.FloatingNetworkID == "" && class.FloatingNetworkID == "" && lb.FloatingNetworkID != "" {
		lb.FloatingNetworkID, lb.FloatingSubnetID, lb.FloatingSubnet, lb.FloatingSubnetTags = "", "", "", ""
	}
	for _, level := range []FloatingSettings{
		{
			NetworkID: value(values.FloatingNetworkID), SubnetID: value(values.FloatingSubnetID),
			Pattern: value(values.FloatingPattern), Tags: value(values.FloatingTags),
		},
		{NetworkID: class.FloatingNetworkID, SubnetID: class.FloatingSubnetID, Pattern: class.FloatingSubnet, Tags: class.FloatingSubnetTags},
		{NetworkID: lb.FloatingNetworkID, SubnetID: lb.FloatingSubnetID, Pattern: lb.FloatingSubnet, Tags: lb.FloatingSubnetTags},
	} {
		fits := f.NetworkID == "" || level.NetworkID == "" || level.NetworkID == f.NetworkID
		if fits && f.SubnetID == "" && f.Pattern == "" && f.Tags == "" {
			f.SubnetID, f.Pattern, f.Tags = level.SubnetID, level.Pattern, level.Tags
		}
		f.NetworkID = first(f.NetworkID, level.NetworkID)
	}
	var errs field.ErrorList
	if _, err := config.NewSubnetMatcher(value(values.FloatingPattern), ""); err != nil {
		errs = append(errs, field.Invalid(annotation.Path(annotation.FloatingPattern), *values.FloatingPattern, err.Error()))
	}
	if _, err := config.NewSubnetMatcher("", value(values.FloatingTags)); err != nil {
		errs = append(errs, field.Invalid(annotation.Path(annotation.FloatingTags), *values.FloatingTags, err.Error()))
	}
	return f, errs
}

// FloatingIP tells whether the Service gets a floating IP: an external one of
// IPv4. IPv6 addresses are reached as they are.
func (s Settings) FloatingIP() bool { return !s.Internal && s.Family == v1.IPv4Protocol }

// AskedFloatingIP gives what the Service asks of its floating IP, and the field or
// annotation that does.
func (s Settings) AskedFloatingIP() (model.FloatingIP, string) {
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

// oneFloatingIP refuses to be asked for a floating IP in two ways.
func oneFloatingIP(s Settings) field.ErrorList {
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

// floatingNotices tell of annotations that ask for a floating IP where there is
// none.
func floatingNotices(s Settings) []annotation.Notice {
	if s.FloatingIP() {
		return nil
	}
	why := "an internal load balancer has no floating IP"
	if !s.Internal {
		why = "a load balancer of IPv6 has no floating IP"
	}
	var notices []annotation.Notice
	for _, asked := range []struct{ name, value string }{{annotation.FloatingIPID, s.Floating.ID}, {annotation.FloatingIPTag, s.Floating.Tag}} {
		if asked.value != "" {
			notices = append(notices, annotation.Notice{Annotation: asked.name, Message: "without effect: " + why})
		}
	}
	return notices
}

// floatingIP gives the floating IP that a Service asks for.
func floatingIP(s Settings, description string, facts Facts) *model.FloatingIP {
	fip, _ := s.AskedFloatingIP()
	fip.NetworkID, fip.SubnetIDs, fip.Description = facts.FloatingNetworkID, facts.FloatingSubnetIDs, description
	return &fip
}
