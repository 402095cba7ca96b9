package settings

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
)

// Unused returns what of the settings the driver does not do, or no port of the Service
// makes use of.
func (s *Settings) Unused(drv driver.Driver) []annotation.Notice {
	notices := s.unusedOnExisting(drv)
	add := func(name, text string) {
		notices = append(notices, annotation.Notice{Annotation: name, Message: text})
	}
	by := limitAnnotations()
	for _, name := range s.Listeners.annotated {
		if why := drv.Lacks(LimitFeature(name)); why != "" {
			add(by[name], "has no effect: "+why)
		}
	}
	if why := drv.Lacks(driver.CustomTags); len(s.LoadBalancer.Tags) > 0 && why != "" {
		add(annotation.Tags, "has no effect: "+why)
	}
	if len(s.Access.SourceRanges) > 0 && drv.Supports(driver.SourceRanges) && drv.Quirks.UnprovenSourceRanges {
		add("spec.loadBalancerSourceRanges", fmt.Sprintf("may have no effect: Octavia is given them, but nobody knows whether the provider %s keeps other clients out; try it from outside", drv.Name))
	}
	if s.otherAddress != "" {
		add("spec.loadBalancerIP", s.otherAddress+" has no effect: the load balancer was made for another, and has the address of that; leave it out, "+
			"or take "+annotation.LoadBalancerID+" away for a load balancer of its own")
	}
	if s.Pools.AlgorithmOfClass && !slices.Contains(drv.Algorithms, s.Pools.Algorithm) {
		add(annotation.Class, fmt.Sprintf("its lb-method %s has no effect: the provider %s knows %s", s.Pools.Algorithm, drv.Name, strings.Join(drv.Algorithms, ", ")))
	}
	if s.Listeners.Proxy != "" && !s.Traffic.hasTCP() {
		add(annotation.ProxyProtocol, "has no effect: the Service has no port of TCP")
	}
	if s.losesDatagrams(drv) {
		add("spec.externalTrafficPolicy", "Local loses datagrams of UDP ports: kube-proxy drops them in silence on nodes without endpoints, "+
			"and that is what a monitor of type UDP-CONNECT takes for health; give every node an endpoint, or pick nodes that have one with "+annotation.NodeSelector)
	}
	if s.Traffic.ClientAffinity && s.Traffic.hasTCP() && s.Traffic.CustomAffinityTimeout() {
		add("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "has no effect on ports of TCP: Octavia knows no such time for them")
	}
	return notices
}

// noticeSpec tells of fields of the spec that have no effect on any load balancer. Those that are for
// others, such as kube-proxy (internalTrafficPolicy, trafficDistribution, externalIPs), are no business of
// ours.
func (r *reading) noticeSpec(s *Settings) {
	spec := r.svc.Spec
	policy := ptr.Deref(spec.IPFamilyPolicy, v1.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) > 1 || policy == v1.IPFamilyPolicyRequireDualStack || policy == v1.IPFamilyPolicyPreferDualStack && len(spec.IPFamilies) == 0 {
		r.notice("spec.ipFamilyPolicy", fmt.Sprintf("%s has no effect on the load balancer, which serves one family, %s: for the other one, "+
			"make another Service with ipFamilyPolicy SingleStack and that family in ipFamilies", policy, s.Family))
	}
	if spec.ExternalName != "" {
		r.notice("spec.externalName", "has no effect on a Service of type LoadBalancer: leave it out, or publish a name with "+annotation.Hostname)
	}
}

// unusedOnExisting returns what of the settings counts as not given on a load balancer
// that exists.
func (s *Settings) unusedOnExisting(drv driver.Driver) []annotation.Notice {
	var notices []annotation.Notice
	for _, m := range s.OnExisting(drv).Malformed {
		if m.NewRefused {
			notices = append(notices, m.notice())
		}
	}
	if why := drv.Lacks(driver.OwnPort); s.VIP.PortID != "" && why != "" {
		notices = append(notices, annotation.Notice{Annotation: annotation.PortID, Message: "has no effect, the VIP stays on its port: " + why})
	}
	if why := s.unenforced(drv); why != "" {
		notices = append(notices, annotation.Notice{Annotation: "spec.loadBalancerSourceRanges", Message: "have no effect, everybody may connect as before: " + why})
	}
	return notices
}
