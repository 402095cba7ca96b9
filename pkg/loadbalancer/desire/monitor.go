package desire

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// MonitorSettings are what is asked of health monitors. Delay and Timeout are in
// seconds.
type MonitorSettings struct {
	// Enabled asks for monitors where there need not be any; Off, of the Service
	// itself, for none even with externalTrafficPolicy Local. Unmonitored tells that
	// another controller made the load balancer, without any.
	Enabled, Off   bool
	Unmonitored    bool
	Delay          int
	Timeout        int
	MaxRetries     int
	MaxRetriesDown int
	// Type, Path, HTTPMethod and Codes are those of a monitor of the user's own;
	// Port is where it asks. Empty is the usual one.
	Type, Path, HTTPMethod, Codes string
	Version, Domain               string
	Port                          int
	// KubeProxy asks kube-proxy's healthz for the node's health, with
	// externalTrafficPolicy Cluster; KubeProxyAsked tells that the Service itself
	// says so.
	KubeProxy, KubeProxyAsked bool
	// Ports are those that monitors may ask beside the Service's own.
	Ports config.PortRanges
}

// kubeProxyPort is where kube-proxy serves /healthz (its --healthz-bind-address).
const kubeProxyPort = 10256

func monitorSettings(values annotation.Values, lb config.LoadBalancer) MonitorSettings {
	settings := MonitorSettings{
		Enabled:        lb.CreateMonitor,
		Delay:          int(lb.MonitorDelay.Seconds()),
		Timeout:        int(lb.MonitorTimeout.Seconds()),
		MaxRetries:     int(lb.MonitorMaxRetries),
		MaxRetriesDown: int(lb.MonitorMaxRetriesDown),
		Type:           value(values.MonitorType),
		Path:           value(values.MonitorPath),
		HTTPMethod:     value(values.MonitorMethod),
		Codes:          value(values.MonitorCodes),
		Version:        value(values.MonitorVersion),
		Domain:         value(values.MonitorDomain),
		Port:           value(values.MonitorPort),
		KubeProxy:      lb.MonitorKubeProxy,
		KubeProxyAsked: value(values.MonitorKubeProxy),
	}
	settings.Ports, _ = config.ParsePorts(lb.MonitorPorts) // checked when cloud.conf was read
	if values.Monitor != nil {
		settings.Enabled, settings.Off = *values.Monitor, !*values.Monitor
	}
	if values.MonitorKubeProxy != nil {
		settings.KubeProxy = *values.MonitorKubeProxy
	}
	for _, override := range []struct {
		from *int
		to   *int
	}{
		{values.MonitorDelay, &settings.Delay},
		{values.MonitorTimeout, &settings.Timeout},
		{values.MonitorMaxRetries, &settings.MaxRetries},
		{values.MonitorMaxRetriesDown, &settings.MaxRetriesDown},
	} {
		if override.from != nil {
			*override.to = *override.from
		}
	}
	return settings
}

// on tells whether the pools of a Service get monitors: with externalTrafficPolicy
// Local always, as nodes without endpoints drop what they get, unless the Service
// itself switches them off, or another controller made the load balancer without: then
// nobody knows whether monitors reach the nodes, and where they do not, they take all
// members down.
func (m MonitorSettings) on(svc *v1.Service) bool {
	return !m.Off && (m.Enabled || m.ByPolicy(svc) && !m.Unmonitored)
}

// ByPolicy tells that nothing but externalTrafficPolicy Local asks for monitors.
func (m MonitorSettings) ByPolicy(svc *v1.Service) bool { return !m.Off && !m.Enabled && local(svc) }

// Missing says what a Service lacks whose load balancer another controller made without
// monitors, and how to get it; "" where it lacks nothing.
func (m MonitorSettings) Missing(svc *v1.Service, drv driver.Driver) string {
	if !m.Unmonitored || !m.ByPolicy(svc) {
		return ""
	}
	m.Unmonitored = false
	told := fmt.Sprintf("With externalTrafficPolicy Local, nodes without endpoints drop connections, and the load balancer, which another "+
		"controller made, has no health monitors that would find them. It is left so; %s: \"true\" adds them", annotation.Monitor)
	for _, port := range svc.Spec.Ports {
		if _, at := monitor(svc, model.Protocol(port.Protocol), m, drv); at != 0 {
			return fmt.Sprintf("%s. They ask port %d of the nodes: where the nodes' security groups close it to the load balancer, open it before, "+
				"else all members go down", told, at)
		}
	}
	return told
}

// own tells that the user describes the probe.
func (m MonitorSettings) own() bool {
	return m.Type != "" || m.overHTTP() || m.Port != 0 && !m.KubeProxy
}

// overHTTP tells that it is described by what only HTTP has.
func (m MonitorSettings) overHTTP() bool {
	return m.Path != "" || m.HTTPMethod != "" || m.Codes != "" || m.Version != "" || m.Domain != ""
}

// ownType gives the type of the probe that the user describes.
func (m MonitorSettings) ownType(protocol model.Protocol) string {
	switch {
	case m.Type != "":
		return m.Type
	case m.overHTTP():
		return model.MonitorHTTP
	default:
		return plainType(protocol)
	}
}

// plainType is the type of a monitor that asks on the NodePort whether anybody is
// there.
func plainType(protocol model.Protocol) string {
	switch protocol {
	case model.UDP:
		return model.MonitorUDPConnect
	case model.SCTP:
		return model.MonitorSCTP
	default:
		return model.MonitorTCP
	}
}

// monitor gives the monitor of a pool, and the port at which it asks members if it
// is not their own.
//
//	asked for                    provider, protocol        monitor
//	the user's own               where it fits             as described, on the NodePort or the port given
//	policy Local                 other ports, TCP          HTTP on healthCheckNodePort
//	policy Local                 other ports, UDP, 6.0     HTTP on healthCheckNodePort
//	kube-proxy, policy Cluster   other ports, TCP          HTTP on kube-proxy's healthz
//	kube-proxy, policy Cluster   other ports, UDP, 6.0     HTTP on kube-proxy's healthz
//	any other                    TCP                       TCP on the NodePort
//	any other                    UDP                       UDP-CONNECT on the NodePort
//	any other                    SCTP                      SCTP on the NodePort; none at ovn
//
// A monitor of TCP on the NodePort serves the policy Local too: kube-proxy drops
// where no endpoint is. UDP-CONNECT does not, which is told: see blind.
func monitor(svc *v1.Service, protocol model.Protocol, m MonitorSettings, drv driver.Driver) (*model.Monitor, int) {
	if !m.on(svc) {
		return nil, 0
	}
	made := &model.Monitor{Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown}
	http := func(kind, path string) {
		made.Type, made.HTTPMethod, made.URLPath = kind, first(m.HTTPMethod, "GET"), first(m.Path, path)
		made.ExpectedCodes, made.HTTPVersion, made.DomainName = first(m.Codes, "200"), m.Version, m.Domain
		if m.Domain != "" {
			made.HTTPVersion = "1.1"
		}
	}
	asksKubeProxy := drv.Supports(driver.MonitorPorts) && (protocol.Transport() == model.TCP || drv.Supports(driver.HTTPMonitorForUDP))
	path, port := servicehelpers.GetServiceHealthCheckPathPort(svc)
	switch kind := m.ownType(protocol); {
	case m.own() && fits(kind, protocol, m, drv) && overHTTP(kind):
		http(kind, "/")
		return made, m.Port
	case m.own() && fits(kind, protocol, m, drv):
		made.Type = kind
		return made, m.Port
	case m.own():
	case local(svc) && asksKubeProxy:
		http(model.MonitorHTTP, path)
		return made, int(port)
	case m.KubeProxy && !local(svc) && asksKubeProxy:
		http(model.MonitorHTTP, "/healthz")
		if m.Port != 0 {
			return made, m.Port
		}
		return made, kubeProxyPort
	}
	if made.Type = plainType(protocol); !slices.Contains(drv.Monitors, made.Type) {
		return nil, 0
	}
	return made, 0
}

func overHTTP(kind string) bool { return kind == model.MonitorHTTP || kind == model.MonitorHTTPS }

// fits tells whether pools of a protocol can have monitors of a type. Nobody answers
// TCP where UDP is served, so there such a monitor needs a port of its own.
func fits(kind string, protocol model.Protocol, m MonitorSettings, drv driver.Driver) bool {
	switch {
	case !slices.Contains(drv.Monitors, kind):
		return false
	case kind == plainType(protocol):
		return true
	case kind == model.MonitorUDPConnect || kind == model.MonitorSCTP:
		return false
	case protocol.Transport() == model.TCP:
		return true
	default:
		return (kind == model.MonitorHTTP || kind == model.MonitorTCP) && m.Port != 0 && drv.Supports(driver.HTTPMonitorForUDP)
	}
}
