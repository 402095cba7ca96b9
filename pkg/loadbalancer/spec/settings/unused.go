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
func (f ForDriver) Unused() []annotation.Notice {
	u := &unused{ForDriver: f}
	u.onExisting()
	u.all()
	return u.notices
}

// unused are the settings of a Service that a driver does not support, or only in part, or that apply to no
// port.
type unused struct {
	ForDriver
	notices []annotation.Notice
}

func (u *unused) add(name, text string) {
	u.notices = append(u.notices, annotation.Notice{Annotation: name, Message: text})
}

func (u *unused) all() {
	by := limitAnnotations()
	for _, name := range u.s.Listeners.annotated {
		if why := u.drv.Lacks(LimitFeature(name)); why != "" {
			u.add(by[name], "has no effect: "+why)
		}
	}
	if why := u.drv.Lacks(driver.CustomTags); len(u.s.LoadBalancer.Tags) > 0 && why != "" {
		u.add(annotation.Tags, "has no effect: "+why)
	}
	if len(u.s.Access.SourceRanges) > 0 && u.drv.Supports(driver.SourceRanges) && u.drv.Quirks.UnprovenSourceRanges {
		u.add("spec.loadBalancerSourceRanges", fmt.Sprintf("may have no effect: Octavia stores them, but the provider %s may ignore them; test the access from outside", u.drv.Name))
	}
	if u.sharesPorts() {
		u.add("spec.loadBalancerSourceRanges", "do not exclude clients that another Service admits to the same port of the nodes: let no other Service have the port")
	}
	if u.s.otherAddress != "" {
		u.add("spec.loadBalancerIP", u.s.otherAddress+" has no effect: the load balancer was created for another Service and has its address; remove the field, "+
			"or remove "+annotation.LoadBalancerID+" to get another load balancer")
	}
	if u.s.Pools.AlgorithmOfClass && !slices.Contains(u.drv.Algorithms, u.s.Pools.Algorithm) {
		u.add(annotation.Class, fmt.Sprintf("its lb-method %s has no effect: the provider %s supports %s", u.s.Pools.Algorithm, u.drv.Name, strings.Join(u.drv.Algorithms, ", ")))
	}
	if u.s.Listeners.Proxy != "" && !u.s.Traffic.hasTCP() {
		u.add(annotation.ProxyProtocol, "has no effect: the Service has no port of TCP")
	}
	if u.LacksEndpoints() {
		u.notices = append(u.notices, EndpointsForbidden())
		if u.s.Members.Drains() {
			u.add(annotation.MemberWeights, u.s.Members.Weights+" has no effect: the controller does not know the endpoints of the members")
		}
	}
	if mode := u.s.Ingress("").IPMode; u.s.ByPods() && u.drv.Quirks.CutsHairpins && (mode == nil || *mode != v1.LoadBalancerIPModeVIP) {
		u.add(annotation.Members, "clients in the cluster cannot reach pods on their own node: the Service has a host name or ipMode Proxy, so that their connections "+
			"pass through the load balancer, and the provider "+u.drv.Name+" cannot send them back to the same node")
	}
	if mode := u.s.Ingress("").IPMode; u.drv.Quirks.Routed && !u.s.FloatingIP() && mode != nil && *mode != v1.LoadBalancerIPModeVIP {
		u.add(annotation.IPMode, "has no effect: kube-proxy drops the packets for the VIP without ipMode VIP, and the Service has no other address")
	}
	if u.losesDatagrams() {
		u.add("spec.externalTrafficPolicy", "Local loses datagrams of UDP ports: kube-proxy silently drops them on nodes without endpoints, "+
			"which monitors of type UDP-CONNECT do not detect; run an endpoint on every node, or select nodes with endpoints with "+annotation.NodeSelector)
	}
	if u.s.Traffic.ClientAffinity {
		u.affinity()
	}
	u.families()
}

// affinity reports session affinity, or a timeout of it, that has no effect.
func (u *unused) affinity() {
	switch {
	case u.drv.Quirks.Routed: // kube-proxy keeps a client at its pod
	case u.drv.Quirks.NoAffinity:
		u.add("spec.sessionAffinity", fmt.Sprintf("ClientIP has no effect: the provider %s of this release does not keep a client at its node", u.drv.Name))
	case u.drv.Quirks.AffinityNeedsTimeout && u.s.Traffic.hasTCP():
		u.add("spec.sessionAffinity", fmt.Sprintf("ClientIP has no effect on TCP ports: the provider %s keeps a client at its node only on ports of UDP and SCTP", u.drv.Name))
	case u.s.Traffic.hasTCP() && u.s.Traffic.CustomAffinityTimeout():
		u.add("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "has no effect on TCP ports: Octavia has no timeout for them")
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

// onExisting adds the settings that count as not given on an existing load balancer.
func (u *unused) onExisting() {
	for _, m := range u.OnExisting().Malformed {
		if m.NewRefused {
			u.notices = append(u.notices, m.notice())
		}
	}
	if why := u.drv.Lacks(driver.OwnPort); u.s.VIP.PortID != "" && why != "" {
		u.add(annotation.PortID, "has no effect, the VIP keeps its port: "+why)
	}
	if why := u.unenforced(); why != "" {
		u.add("spec.loadBalancerSourceRanges", "have no effect, all clients may connect as before: "+why)
	}
}
