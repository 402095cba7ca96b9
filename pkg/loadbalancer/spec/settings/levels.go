package settings

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// levels have the values of settings: the annotations of a Service, its class and section [LoadBalancer] of
// cloud.conf. Their methods return the settings that are the first value of these.
type levels struct {
	values annotation.Values
	// class is empty for none; section is [LoadBalancer], and conf the class on top of the section. They
	// are not modified.
	class         *config.LoadBalancerClass
	section, conf *config.LoadBalancer
}

func (l *levels) loadBalancer(svc *v1.Service) LoadBalancerSettings {
	values := l.values.LoadBalancer
	return LoadBalancerSettings{
		ID:               named(svc, l.values),
		Share:            ptr.Deref(values.Share, ""),
		Provider:         cmp.Or(ptr.Deref(values.Provider, ""), l.conf.LBProvider),
		ProviderAsked:    values.Provider != nil,
		FlavorID:         ptr.Deref(values.FlavorID, l.conf.FlavorID),
		AvailabilityZone: ptr.Deref(values.AvailabilityZone, l.conf.AvailabilityZone),
		AllowReplace:     ptr.Deref(values.AllowReplace, false),
		Tags:             l.tags(),
	}
}

// tags returns the user's tags: those of the annotation, else the class's, else the section's. They
// are set when parts are created and never compared: a change of the tags of a load balancer has a
// large effect in Octavia, and others may have added tags. Those of cloud.conf were validated when
// it was loaded.
func (l *levels) tags() []string {
	if l.values.LoadBalancer.Tags != nil {
		return l.values.LoadBalancer.Tags
	}
	parsed, _ := config.ParseTags(l.conf.Tags)
	return parsed
}

func (l *levels) pools() PoolSettings {
	method := l.values.Members.Method
	return PoolSettings{
		Algorithm:          cmp.Or(ptr.Deref(method, ""), l.conf.LBMethod),
		AlgorithmAsked:     method != nil,
		AlgorithmOfClass:   method == nil && l.class.LBMethod != "",
		Persistence:        ptr.Deref(l.values.Members.Persistence, ""),
		CookieName:         ptr.Deref(l.values.Members.CookieName, ""),
		algorithmOtherwise: l.conf.LBMethod,
	}
}

// podsForbidden returns why pods cannot be the members with the security groups of cloud.conf, "" if they
// can. Unlike NodePorts, pods of several Services may have the same target port.
func (l *levels) podsForbidden() string {
	switch {
	case l.conf.SecurityGroups() == "":
		return ""
	case l.conf.SecurityGroups() == config.SecurityGroupsShared:
		return "pods need security-group-mode=per-service of cloud.conf: Services with the same target port would take each other's rule in a shared group; " +
			"ask the cluster's operator"
	case l.conf.Members != annotation.MembersPods:
		return "security groups would open the target ports of pods on all nodes: ask the cluster's operator for a class with members=pods"
	}
	return ""
}

// maxMembers returns the maximum number of members. With externalTrafficPolicy Local all nodes are
// members: those without endpoints get no traffic.
func (l *levels) maxMembers(local bool) int {
	switch {
	case local:
		return 0
	case l.values.Members.Max != nil:
		return *l.values.Members.Max
	case l.class.MaxMembers > 0:
		return int(l.class.MaxMembers)
	default:
		return int(l.conf.MaxMembers)
	}
}
