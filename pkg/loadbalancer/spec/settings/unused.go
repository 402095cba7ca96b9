package settings

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Unused returns the settings that the driver does not support, or only in part, or that apply to no
// port of the Service.
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
		add("spec.loadBalancerSourceRanges", fmt.Sprintf("may have no effect: Octavia stores them, but the provider %s may ignore them; test the access from outside", drv.Name))
	}
	if s.sharesPorts(drv) {
		add("spec.loadBalancerSourceRanges", "do not exclude clients that another Service admits to the same port of the nodes: let no other Service have the port")
	}
	if s.otherAddress != "" {
		add("spec.loadBalancerIP", s.otherAddress+" has no effect: the load balancer was created for another Service and has its address; remove the field, "+
			"or remove "+annotation.LoadBalancerID+" to get another load balancer")
	}
	if s.Pools.AlgorithmOfClass && !slices.Contains(drv.Algorithms, s.Pools.Algorithm) {
		add(annotation.Class, fmt.Sprintf("its lb-method %s has no effect: the provider %s supports %s", s.Pools.Algorithm, drv.Name, strings.Join(drv.Algorithms, ", ")))
	}
	if s.Listeners.Proxy != "" && !s.Traffic.hasTCP() {
		add(annotation.ProxyProtocol, "has no effect: the Service has no port of TCP")
	}
	if s.LacksEndpoints(drv) {
		notices = append(notices, EndpointsForbidden())
		if s.Members.Drains() {
			add(annotation.MemberWeights, s.Members.Weights+" has no effect: the controller does not know the endpoints of the members")
		}
	}
	if mode := s.Ingress("").IPMode; s.ByPods() && drv.Quirks.CutsHairpins && (mode == nil || *mode != v1.LoadBalancerIPModeVIP) {
		add(annotation.Members, "clients in the cluster cannot reach pods on their own node: the Service has a host name or ipMode Proxy, so that their connections "+
			"pass through the load balancer, and the provider "+drv.Name+" cannot send them back to the same node")
	}
	if mode := s.Ingress("").IPMode; drv.Quirks.Routed && !s.FloatingIP() && mode != nil && *mode != v1.LoadBalancerIPModeVIP {
		add(annotation.IPMode, "has no effect: kube-proxy drops the packets for the VIP without ipMode VIP, and the Service has no other address")
	}
	if s.losesDatagrams(drv) {
		add("spec.externalTrafficPolicy", "Local loses datagrams of UDP ports: kube-proxy silently drops them on nodes without endpoints, "+
			"which monitors of type UDP-CONNECT do not detect; run an endpoint on every node, or select nodes with endpoints with "+annotation.NodeSelector)
	}
	if s.Traffic.ClientAffinity {
		s.affinityNotices(drv, add)
	}
	s.unusedFamilies(drv, add)
	return notices
}

// affinityNotices reports session affinity, or a timeout of it, that has no effect.
func (s *Settings) affinityNotices(drv driver.Driver, add func(name, text string)) {
	switch {
	case drv.Quirks.Routed: // kube-proxy keeps a client at its pod
	case drv.Quirks.NoAffinity:
		add("spec.sessionAffinity", fmt.Sprintf("ClientIP has no effect: the provider %s of this release does not keep a client at its node", drv.Name))
	case drv.Quirks.AffinityNeedsTimeout && s.Traffic.hasTCP():
		add("spec.sessionAffinity", fmt.Sprintf("ClientIP has no effect on TCP ports: the provider %s keeps a client at its node only on ports of UDP and SCTP", drv.Name))
	case s.Traffic.hasTCP() && s.Traffic.CustomAffinityTimeout():
		add("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "has no effect on TCP ports: Octavia has no timeout for them")
	}
}

// noticeSpec reports fields of the spec that have no effect on any load balancer. Fields for other
// components, such as kube-proxy (internalTrafficPolicy, trafficDistribution, externalIPs), are
// ignored.
func (r *reading) noticeSpec() {
	spec := r.svc.Spec
	if spec.ExternalName != "" {
		r.notice("spec.externalName", "has no effect on a Service of type LoadBalancer: remove it, or publish a name with "+annotation.Hostname)
	}
}

// unusedOnExisting returns the settings that count as not given on an existing load balancer.
func (s *Settings) unusedOnExisting(drv driver.Driver) []annotation.Notice {
	var notices []annotation.Notice
	for _, m := range s.OnExisting(drv).Malformed {
		if m.NewRefused {
			notices = append(notices, m.notice())
		}
	}
	if why := drv.Lacks(driver.OwnPort); s.VIP.PortID != "" && why != "" {
		notices = append(notices, annotation.Notice{Annotation: annotation.PortID, Message: "has no effect, the VIP keeps its port: " + why})
	}
	if why := s.unenforced(drv); why != "" {
		notices = append(notices, annotation.Notice{Annotation: "spec.loadBalancerSourceRanges", Message: "have no effect, all clients may connect as before: " + why})
	}
	return notices
}
