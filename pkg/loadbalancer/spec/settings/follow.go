package settings

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Watch is the state of the watch of EndpointSlices.
type Watch int

// The states of the watch. Unwatched is that of a process that does not follow endpoints, Unreadable that after
// a failed read by a process that does not watch them.
const (
	Unwatched Watch = iota
	Forbidden
	Watched
	Unreadable
)

// ByPods reports whether pods are the members, and not nodes with their NodePorts.
func (s *Settings) ByPods() bool { return s.Members.Mode == annotation.MembersPods }

// WithMembers returns the settings with another mode of members: see FollowsEndpoints.
func (s *Settings) WithMembers(mode string) *Settings {
	changed := *s
	if mode == annotation.MembersPods {
		changed.Members.ofPods()
	} else {
		changed.Members.ofNodes()
		changed.Members.Mode = mode
	}
	return &changed
}

// ofPods makes pods the members: each of them is one, in a subnet that depends on its address.
func (m *MemberSettings) ofPods() {
	nodes := *m
	m.nodes = &nodes
	m.Mode, m.SubnetID, m.DefaultSubnetID, m.Max = annotation.MembersPods, "", "", 0
}

// ofNodes reverts the limits of ofPods.
func (m *MemberSettings) ofNodes() {
	if nodes := m.nodes; nodes != nil {
		m.SubnetID, m.DefaultSubnetID, m.Max, m.nodes = nodes.SubnetID, nodes.DefaultSubnetID, nodes.Max, nil
	}
}

// FollowsEndpoints reports whether only pods, or nodes with endpoints of the Service, become members.
//
//	mode             traffic policy   driver                  load balancer     members
//	pods             any              any                     any               pods
//	endpoint-nodes   any              any                     any               nodes with endpoints
//	nodes            any              any                     any               all nodes
//	auto             Cluster          any                     any               all nodes
//	auto             Local            checks endpoints        any               all nodes
//	auto             Local            does not, for a port    any               nodes with endpoints
//	auto             any              router, port-forwarding any               nodes with endpoints
//	none             as auto, but a load balancer that another controller created keeps all nodes
//
// All nodes become members while the endpoints are not watched, unless ByPods.
func (f ForDriver) FollowsEndpoints() bool {
	return f.s.ByPods() || f.s.Members.Watch == Watched && f.wantsEndpoints()
}

// LacksEndpoints reports whether all nodes become members only because this process may not list
// and watch EndpointSlices.
func (f ForDriver) LacksEndpoints() bool {
	return f.s.Members.Watch == Forbidden && !f.s.ByPods() && f.wantsEndpoints()
}

// EndpointsForbidden returns the notice for a Service that LacksEndpoints.
func EndpointsForbidden() annotation.Notice {
	return annotation.Notice{Annotation: annotation.Members, Message: "all nodes are members, because " + mayNotWatch}
}

const mayNotWatch = "the controller may not list and watch EndpointSlices: ask the cluster's operator to grant its role that right"

func (f ForDriver) wantsEndpoints() bool {
	return f.s.MayFollowEndpoints() && (f.s.Members.Mode == annotation.MembersEndpointNodes || !f.KeepsNodes() && f.s.Traffic.missesEndpoints(f.drv))
}

// MayFollowEndpoints reports whether there is a driver with which the members follow the endpoints.
func (s *Settings) MayFollowEndpoints() bool {
	return mayFollow(s.Members.Mode, s.Traffic.Local || driver.WithoutOctavia(s.LoadBalancer.Provider))
}

// mayFollow reports whether members may follow endpoints. By is set if that is the default.
func mayFollow(mode string, by bool) bool {
	return mode == annotation.MembersEndpointNodes || mode == annotation.MembersPods || mode != annotation.MembersNodes && by
}

// KeepsNodes reports whether all nodes are members only because another controller created the load
// balancer, and no setting permits to change that.
func (f ForDriver) KeepsNodes() bool {
	return f.s.Members.Mode == "" && f.s.Members.Adopted && f.s.Traffic.Local && f.s.Traffic.missesEndpoints(f.drv)
}

// KeepsFlows reports whether UDP flows stay with nodes that the endpoints have left.
func (f ForDriver) KeepsFlows() bool {
	return f.drv.Quirks.CutsRemoved && f.FollowsEndpoints() && slices.ContainsFunc(f.s.Traffic.Ports, func(port v1.ServicePort) bool { return port.Protocol == v1.ProtocolUDP })
}

// missesEndpoints reports whether the pool of a port can have no monitor that asks kube-proxy
// whether a node has endpoints.
func (t TrafficSettings) missesEndpoints(drv driver.Driver) bool {
	return slices.ContainsFunc(t.Ports, func(port v1.ServicePort) bool { return !asksKubeProxy(model.Protocol(port.Protocol), drv) })
}

// asksKubeProxy reports whether monitors of a pool can probe another port of the node over HTTP.
func asksKubeProxy(protocol model.Protocol, drv driver.Driver) bool {
	return drv.Supports(driver.MonitorPorts) && (protocol.Transport() == model.TCP || drv.Supports(driver.HTTPMonitorForUDP))
}

// MayFollowEndpoints is that of the settings of a Service. It reads only these, because it is called
// for each change of endpoints.
func (p *Parser) MayFollowEndpoints(svc *v1.Service) bool {
	return mayFollow(p.MembersMode(svc), local(svc) || p.Routed(svc))
}

// Routed reports whether a Service requests the provider router or port-forwarding. It reads only this setting.
func (p *Parser) Routed(svc *v1.Service) bool {
	return driver.WithoutOctavia(p.provider(svc))
}

// Forwarded reports whether a Service requests the provider port-forwarding. It reads only this setting.
func (p *Parser) Forwarded(svc *v1.Service) bool { return p.provider(svc) == driver.PortForwarding }

func (p *Parser) provider(svc *v1.Service) string {
	provider := strings.TrimSpace(svc.Annotations[annotation.Provider])
	if class := p.config.LoadBalancerClass[strings.TrimSpace(svc.Annotations[annotation.Class])]; provider == "" && class != nil {
		provider = class.LBProvider
	}
	return cmp.Or(provider, p.config.LoadBalancer.LBProvider)
}

// FollowsPods is ByPods of the settings of a Service. It reads only these, as MayFollowEndpoints does.
func (p *Parser) FollowsPods(svc *v1.Service) bool {
	return p.MembersMode(svc) == annotation.MembersPods
}

// WeighsNodes is MemberSettings.Counts of the settings of a Service. It reads only these.
func (p *Parser) WeighsNodes(svc *v1.Service) bool {
	ofClass := func(class *config.LoadBalancerClass) string { return class.MemberWeights }
	return p.choice(svc, annotation.MemberWeights, ofClass, p.config.LoadBalancer.MemberWeights) == annotation.WeightsEndpoints
}

// MembersMode returns which nodes become members, "" if neither the Service nor cloud.conf sets it.
func (p *Parser) MembersMode(svc *v1.Service) string {
	return p.choice(svc, annotation.Members, func(class *config.LoadBalancerClass) string { return class.Members }, p.config.LoadBalancer.Members)
}

// choice returns the value of an annotation that has one of some words, else that of the Service's class, else
// the general one.
func (p *Parser) choice(svc *v1.Service, name string, ofClass func(*config.LoadBalancerClass) string, general string) string {
	value := strings.ToLower(strings.TrimSpace(svc.Annotations[name]))
	if class := p.config.LoadBalancerClass[strings.TrimSpace(svc.Annotations[annotation.Class])]; value == "" && class != nil {
		value = ofClass(class)
	}
	return cmp.Or(value, general)
}
