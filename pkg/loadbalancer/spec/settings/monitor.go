package settings

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// MonitorSettings are the settings of health monitors.
type MonitorSettings struct {
	// Enabled requests monitors although they are optional. Off, from the Service itself, disables
	// them even with externalTrafficPolicy Local. Unmonitored is set if another controller created
	// the load balancer without monitors. Asked is set if the Service itself requests them.
	Enabled, Off, Unmonitored, Asked bool
	MonitorTiming
	Probe
	// KubeProxy probes kube-proxy's healthz for the node's health, with externalTrafficPolicy
	// Cluster; KubeProxyAsked is set if the Service itself requests it.
	KubeProxy, KubeProxyAsked bool
	// Ports are those that monitors may probe in addition to the Service's own.
	Ports config.PortRanges
}

// MonitorTiming is how often members are probed, and how many answers count. Delay and Timeout are
// in seconds.
type MonitorTiming struct {
	Delay, Timeout             int
	MaxRetries, MaxRetriesDown int
}

// Probe is the user's description of a probe. Empty fields have the defaults.
type Probe struct {
	Type, Path, HTTPMethod, Codes string
	HTTPVersion, DomainName       string
	// Port is the probed port.
	Port int
}

// Endpoints of kube-proxy.
const (
	// kubeProxyPort is the port of /healthz (its --healthz-bind-address).
	kubeProxyPort = 10256
	// healthzPath is the path there, and on the healthCheckNodePort of a Service.
	healthzPath = "/healthz"
)

func (l *levels) monitor() MonitorSettings {
	values, conf := l.values.Monitor, l.conf
	s := MonitorSettings{
		Enabled: ptr.Deref(values.Enabled, conf.CreateMonitor),
		Off:     !ptr.Deref(values.Enabled, true),
		Asked:   ptr.Deref(values.Enabled, false),
		MonitorTiming: MonitorTiming{
			Delay:          ptr.Deref(values.Delay, int(conf.MonitorDelay.Seconds())),
			Timeout:        ptr.Deref(values.Timeout, int(conf.MonitorTimeout.Seconds())),
			MaxRetries:     ptr.Deref(values.MaxRetries, int(conf.MonitorMaxRetries)),
			MaxRetriesDown: ptr.Deref(values.MaxRetriesDown, int(conf.MonitorMaxRetriesDown)),
		},
		Probe: Probe{
			Type:        ptr.Deref(values.Type, ""),
			Path:        ptr.Deref(values.Path, ""),
			HTTPMethod:  ptr.Deref(values.HTTPMethod, ""),
			Codes:       ptr.Deref(values.Codes, ""),
			HTTPVersion: ptr.Deref(values.HTTPVersion, ""),
			DomainName:  ptr.Deref(values.DomainName, ""),
			Port:        ptr.Deref(values.Port, 0),
		},
		KubeProxy:      ptr.Deref(values.KubeProxy, conf.MonitorKubeProxy),
		KubeProxyAsked: ptr.Deref(values.KubeProxy, false),
	}
	s.Ports, _ = config.ParsePorts(conf.MonitorPorts) // validated when cloud.conf was loaded
	return s
}

// monitored reports whether the pools of the Service get monitors. With externalTrafficPolicy Local
// they always do, because nodes without endpoints drop packets, with two exceptions: the Service
// itself disables them, or another controller created the load balancer without. In that case it is
// unknown whether monitors reach the nodes, and if they do not, all members would be down.
func (s *Settings) monitored() bool {
	return !s.Monitor.Off && (s.Monitor.Enabled || s.MonitoredByPolicy() && !s.Monitor.Unmonitored)
}

// MonitoredByPolicy reports whether externalTrafficPolicy Local is the only reason for monitors. It is
// none for pods, which kube-proxy does not forward to.
func (s *Settings) MonitoredByPolicy() bool {
	return !s.Monitor.Off && !s.Monitor.Enabled && s.Traffic.Local && !s.ByPods()
}

// WithoutMonitors returns the settings with health monitors disabled.
func (s *Settings) WithoutMonitors() *Settings {
	without := *s
	without.Monitor.Enabled, without.Monitor.Off = false, true
	return &without
}

// MissingMonitors returns a text for a Service if another controller created its load balancer
// without the monitors that it needs, with the remedy; "" if none are missing.
func (f ForDriver) MissingMonitors() string {
	if !f.s.Monitor.Unmonitored || !f.s.MonitoredByPolicy() {
		return ""
	}
	monitored := *f.s
	monitored.Monitor.Unmonitored = false
	text := fmt.Sprintf("With externalTrafficPolicy Local, nodes without endpoints drop connections, and the load balancer, created by another "+
		"controller, has no health monitors to detect them. Set %s: \"true\" to add them", annotation.Monitor)
	for _, port := range f.s.Traffic.Ports {
		if _, at := monitored.OfPort(port).For(f.drv).HealthMonitor(model.Protocol(port.Protocol)); at != 0 {
			return fmt.Sprintf("%s. They probe port %d of the nodes: if the nodes' security groups do not allow that, open the port before, "+
				"otherwise all members go down", text, at)
		}
	}
	return text
}

// custom reports whether the user describes the probe.
func (m MonitorSettings) custom() bool {
	return m.Type != "" || m.overHTTP() || m.Port != 0 && !m.KubeProxy
}

// overHTTP reports whether the description has fields of HTTP.
func (p Probe) overHTTP() bool {
	return p.Path != "" || p.HTTPMethod != "" || p.Codes != "" || p.HTTPVersion != "" || p.DomainName != ""
}

// customType returns the type of the probe that the user describes.
func (p Probe) customType(protocol model.Protocol) string {
	switch {
	case p.Type != "":
		return p.Type
	case p.overHTTP():
		return model.MonitorHTTP
	default:
		return plainType(protocol)
	}
}

// plainType returns the type of a monitor that connects to the NodePort.
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

// HealthMonitor returns the monitor of a pool, nil for none, and the port that it probes if it is
// not the members' own.
//
//	requested                    provider, protocol        monitor
//	the user's own               if supported              as described, on the NodePort or the port given
//	policy Local                 other ports, TCP          HTTP on healthCheckNodePort
//	policy Local                 other ports, UDP, 6.0     HTTP on healthCheckNodePort
//	kube-proxy, policy Cluster   other ports, TCP          HTTP on kube-proxy's healthz
//	kube-proxy, policy Cluster   other ports, UDP, 6.0     HTTP on kube-proxy's healthz
//	any other                    TCP                       TCP on the NodePort
//	any other                    UDP                       UDP-CONNECT on the NodePort
//	any other                    SCTP                      SCTP on the NodePort; none at ovn
//
// If pods are the members, the monitors probe their ports instead of NodePorts, and kube-proxy is not
// asked.
//
// A TCP monitor on the NodePort serves the policy Local too, because kube-proxy drops connections
// on nodes without endpoints. UDP-CONNECT does not: see losesDatagrams.
func (f ForDriver) HealthMonitor(protocol model.Protocol) (*model.Monitor, int) {
	if !f.s.monitored() {
		return nil, 0
	}
	m := f.s.Monitor
	asksKubeProxy := asksKubeProxy(protocol, f.drv) && !f.s.ByPods()
	switch kind := m.customType(protocol); {
	case m.custom() && m.fits(kind, protocol, f.drv) && overHTTP(kind):
		return m.http(kind, "/"), m.Port
	case m.custom() && m.fits(kind, protocol, f.drv):
		return m.plain(kind), m.Port
	case m.custom():
	case f.s.Traffic.Local && asksKubeProxy:
		return m.http(model.MonitorHTTP, healthzPath), f.s.Traffic.HealthCheckNodePort
	case m.KubeProxy && !f.s.Traffic.Local && asksKubeProxy:
		return m.http(model.MonitorHTTP, healthzPath), cmp.Or(m.Port, kubeProxyPort)
	}
	kind := plainType(protocol)
	if !slices.Contains(f.drv.Monitors, kind) {
		return nil, 0
	}
	return m.plain(kind), 0
}

// plain returns a monitor that only connects.
func (m MonitorSettings) plain(kind string) *model.Monitor {
	return &model.Monitor{Type: kind, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown}
}

// http returns an HTTP monitor for a path, with all defaults of Octavia.
func (m MonitorSettings) http(kind, path string) *model.Monitor {
	made := m.plain(kind)
	made.HTTPMethod, made.URLPath = cmp.Or(m.HTTPMethod, "GET"), cmp.Or(m.Path, path)
	made.ExpectedCodes, made.HTTPVersion, made.DomainName = cmp.Or(m.Codes, "200"), m.HTTPVersion, m.DomainName
	if m.DomainName != "" {
		made.HTTPVersion = "1.1"
	}
	return made
}

func overHTTP(kind string) bool { return kind == model.MonitorHTTP || kind == model.MonitorHTTPS }

// fits reports whether pools of a protocol can have monitors of a type. UDP ports do not answer
// TCP, so that such a monitor needs its own port there.
func (m MonitorSettings) fits(kind string, protocol model.Protocol, drv driver.Driver) bool {
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
