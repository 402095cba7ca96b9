// Package build turns a Service, its nodes, the configuration and a few facts of
// the cloud into the load balancer that they ask for, or into errors that name
// the field, its value and what is allowed. It is pure: it reads and writes
// nothing, and every rejection happens here, before the first write.
package desire

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Settings are what a Service asks for in its annotations and fields, with the
// class and the configuration where it is silent: annotation before class before
// section, for every setting.
type Settings struct {
	Family v1.IPFamily
	// Internal load balancers get no floating IP.
	Internal bool
	// LoadBalancerID is the Service's word that this load balancer is its own.
	LoadBalancerID string
	// LoadBalancerIP is the address asked for: of the floating IP, or of the VIP
	// where there is none.
	LoadBalancerIP string
	// Provider makes the load balancer; ProviderAsked tells that the Service itself
	// names it.
	Provider      string
	ProviderAsked bool
	// Method is the algorithm; MethodAsked tells that the Service itself names it,
	// MethodOfClass that its class does. methodOtherwise is what counts if it does not.
	Method          string
	MethodAsked     bool
	MethodOfClass   bool
	methodOtherwise string
	SubnetID        string
	NetworkID       string
	// PortID is of the port that is to be the VIP, VIPAddress its address where
	// LoadBalancerIP is that of the floating IP.
	PortID, VIPAddress string
	// VIP is what the load balancer has on its VIP.
	VIP model.VIPSettings
	// AllowReplace permits another load balancer in place of one that cannot become
	// what is asked for.
	AllowReplace bool
	// MemberSubnetID is where members are to be, MembersIn where new ones go otherwise:
	// see facts.Reader.
	MemberSubnetID, MembersIn string
	Floating                  FloatingSettings
	KeepFloatingIP            bool
	// FlavorID is a flavor's ID or name.
	FlavorID         string
	AvailabilityZone string
	Monitor          MonitorSettings
	Listeners        ListenerSettings
	// Hostname is published in place of the address. HostnameSuffix makes a name of
	// the address where members get PROXY headers; empty makes none.
	Hostname, HostnameSuffix string
	// servesTCP tells that the Service has a port of TCP.
	servesTCP    bool
	NodeSelector labels.Selector
	// Seed is the Service's own, to choose members by.
	Seed string
	// MaxMembers is how many nodes become members at most; 0 means all.
	MaxMembers int
	// SourceRanges are CIDRs in canonical form; none means everybody.
	SourceRanges []string
	// rangesAnnotated tells that an annotation names them, not the field.
	rangesAnnotated bool
	// SecurityGroups is security-group-mode, "" when security groups are not managed.
	SecurityGroups string
	// Tags are the user's own.
	Tags []string
	// Malformed are annotations that count as not given, as their values are not allowed.
	Malformed []Malformed
	// exists tells that the settings are for a load balancer that is there: see
	// OnExisting.
	exists bool
}

// Read gathers the settings of a Service. Notices are what the user should know
// of settings without effect.
func Read(svc *v1.Service, cfg *config.Config) (Settings, []annotation.Notice, field.ErrorList) {
	allowed, denied := permitted(svc, cfg)
	values, notices, errs := annotation.Parse(allowed)
	errs = slices.Concat(wrongConfig(cfg), denied, errs)
	class := &config.LoadBalancerClass{}
	if values.Class != nil {
		found, err := cfg.Class(*values.Class)
		if err != nil {
			errs = append(errs, field.Invalid(annotation.Path(annotation.Class), *values.Class, err.Error()+"; ask the cluster's operator for it"))
		} else {
			class = found
		}
	}
	lb := cfg.LoadBalancer.With(class)
	settings := Settings{
		Family:           family(svc),
		Internal:         lb.InternalLB || value(values.Internal),
		LoadBalancerID:   NamedLoadBalancer(svc, values),
		LoadBalancerIP:   svc.Spec.LoadBalancerIP,
		Provider:         first(value(values.Provider), lb.LBProvider),
		ProviderAsked:    values.Provider != nil,
		Method:           first(value(values.Method), lb.LBMethod),
		MethodAsked:      values.Method != nil,
		MethodOfClass:    values.Method == nil && class.LBMethod != "",
		methodOtherwise:  lb.LBMethod,
		MemberSubnetID:   first(value(values.MemberSubnetID), class.MemberSubnetID, lb.MemberSubnetID),
		KeepFloatingIP:   values.KeepsFloatingIP(),
		FlavorID:         override(values.FlavorID, lb.FlavorID),
		AvailabilityZone: override(values.AvailabilityZone, lb.AvailabilityZone),
		Monitor:          monitorSettings(values, lb),
		Listeners:        listenerSettings(values, lb),
		servesTCP:        slices.ContainsFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return p.Protocol == v1.ProtocolTCP }),
		Seed:             string(svc.UID),
		MaxMembers:       maxMembers(svc, values, class, lb),
		SecurityGroups:   lb.SecurityGroups(),
		Tags:             tags(values, lb),
		Malformed:        malformed(values, lb),
	}
	notices = append(notices, malformedNotices(settings.Malformed)...)
	settings.SubnetID, settings.NetworkID = vipPlace(values, class, lb)
	settings.MembersIn = first(cfg.LoadBalancer.SubnetID, settings.SubnetID)
	settings.VIP = vipSettings(values, lb)
	settings.PortID, settings.AllowReplace = value(values.PortID), value(values.AllowReplace)
	if lb.InternalLB && values.Internal != nil && !*values.Internal {
		notices = append(notices, annotation.Notice{Annotation: annotation.Internal, Message: "cloud.conf says internal-lb=true: all load balancers are internal"})
	}
	var more field.ErrorList
	settings.NodeSelector, more = nodeSelector(values, lb)
	errs = append(errs, more...)
	settings.rangesAnnotated = len(svc.Spec.LoadBalancerSourceRanges) == 0
	var leftOut []annotation.Notice
	settings.SourceRanges, leftOut, more = sourceRanges(svc, values)
	notices, errs = append(notices, leftOut...), append(errs, more...)
	if lb.EnableIngressHostname {
		settings.HostnameSuffix = lb.IngressHostnameSuffix
	}
	settings.Hostname, more = hostname(values)
	errs = append(errs, more...)
	settings.LoadBalancerIP, more = loadBalancerIP(svc, settings.Family)
	errs = append(errs, more...)
	settings.VIPAddress, more = vipAddress(values, settings.Family)
	errs = append(append(errs, more...), oneVIP(settings)...)
	settings.Floating, more = floating(values, class, lb)
	errs = append(append(errs, more...), oneFloatingIP(settings)...)
	notices = append(notices, settings.Monitor.notices(svc, values)...)
	return settings, append(notices, floatingNotices(settings)...), errs
}

// NodesSubnets tells that nobody names the subnet of members: each is in its node's.
func (s Settings) NodesSubnets() bool { return s.MemberSubnetID == "" && s.MembersIn == "" }

// permitted leaves out the annotations that cloud.conf lets no Service use, each of
// which is an error.
func permitted(svc *v1.Service, cfg *config.Config) (map[string]string, field.ErrorList) {
	names, _ := annotation.Denied(cfg.LoadBalancer.DenyAnnotations) // checked at the start
	allowed := svc.Annotations
	var errs field.ErrorList
	for _, name := range names {
		given, there := svc.Annotations[name]
		if !there {
			continue
		}
		if len(errs) == 0 {
			allowed = maps.Clone(allowed)
		}
		delete(allowed, name)
		errs = append(errs, field.Invalid(annotation.Path(name), given,
			"deny-annotations of cloud.conf lets no Service use this annotation: leave it out, or ask the cluster's operator"))
	}
	return allowed, errs
}

// maxMembers gives how many nodes become members. With externalTrafficPolicy Local
// it is all of them: those without endpoints get no traffic.
func maxMembers(svc *v1.Service, values annotation.Values, class *config.LoadBalancerClass, lb config.LoadBalancer) int {
	switch {
	case local(svc):
		return 0
	case values.MaxMembers != nil:
		return *values.MaxMembers
	case class.MaxMembers > 0:
		return int(class.MaxMembers)
	default:
		return int(lb.MaxMembers)
	}
}

// SelectsNodes tells whether labels decide which nodes are members of a Service. It
// reads no more than that: it is asked of all Services at each change of a node.
func SelectsNodes(svc *v1.Service, cfg *config.Config) bool {
	text, ok := svc.Annotations[annotation.NodeSelector]
	if !ok {
		text = cfg.LoadBalancer.NodeSelector
	}
	return len(text) <= annotation.MaxSelector && strings.TrimSpace(text) != ""
}

// nodeSelector reads which nodes become members.
func nodeSelector(values annotation.Values, lb config.LoadBalancer) (labels.Selector, field.ErrorList) {
	text := override(values.NodeSelector, lb.NodeSelector)
	selector, err := config.ParseSelector(text)
	if err != nil {
		return labels.Everything(), field.ErrorList{field.Invalid(annotation.Path(annotation.NodeSelector), text,
			fmt.Sprintf("%v; allowed: %s", err, config.SelectorAllowed))}
	}
	return selector, nil
}

// family gives the IP family that the Service is served in: its first.
func family(svc *v1.Service) v1.IPFamily {
	if len(svc.Spec.IPFamilies) > 0 {
		return svc.Spec.IPFamilies[0]
	}
	if strings.Contains(svc.Spec.ClusterIP, ":") {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// override gives what an annotation says, be it empty, else what cloud.conf does.
func override(annotated *string, otherwise string) string {
	if annotated != nil {
		return *annotated
	}
	return otherwise
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// describe names a family as users know it.
func describe(f v1.IPFamily) string {
	return fmt.Sprintf("IPv%s", strings.TrimPrefix(string(f), "IPv"))
}
