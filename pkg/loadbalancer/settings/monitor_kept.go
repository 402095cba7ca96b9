package settings

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// NoMember is where a monitor asks that has no member to ask.
const NoMember = -1

// KeptMonitor returns what becomes of the monitor of a pool, nil for none, that is kept while the
// Service is refused, and the port at which it asks members if it is not their own. At is where
// it asks now. Kube-proxy has followed the traffic policy of the Service already:
//
//	there is                            policy Local                  policy Cluster
//	none, or UDP-CONNECT                as the policy asks for it     as it is
//	HTTP on kube-proxy's healthz        HTTP on healthCheckNodePort   as it is
//	HTTP on a health check node port    HTTP on healthCheckNodePort   as monitors are asked for, none where they
//	                                                                  are not, as often as before
//	any other, or the user's own        as it is                      as it is
//
// Nothing records which port was a health check node port: a monitor of /healthz at a port that no
// annotation names is taken for one of it.
func (s *Settings) KeptMonitor(there *model.Monitor, at int, protocol model.Protocol, drv driver.Driver) (*model.Monitor, int) {
	m, healthPort := s.Monitor, s.Traffic.HealthCheckNodePort
	byPolicy := *s
	byPolicy.Monitor.Probe = Probe{}
	if m.custom() && at == NoMember {
		at = m.Port
	} else if !m.custom() {
		byPolicy.Monitor.Port = m.Port
	}
	asksKubeProxy := there != nil && there.Type == model.MonitorHTTP && there.URLPath == healthzPath && at != 0 && (at != m.Port || !m.custom())
	switch {
	case s.Traffic.Local && asksKubeProxy && healthPort != 0:
		return there, healthPort
	case s.Traffic.Local && !asksKubeProxy && (there == nil || there.Type == model.MonitorUDPConnect):
		if made, where := byPolicy.HealthMonitor(protocol, drv); made != nil && (there == nil || where != 0) {
			return made, where
		}
	case !s.Traffic.Local && asksKubeProxy && at != kubeProxyPort && (at != m.Port || !m.KubeProxy):
		made, where := byPolicy.HealthMonitor(protocol, drv)
		if made != nil {
			made.Delay, made.Timeout, made.MaxRetries, made.MaxRetriesDown = there.Delay, there.Timeout, there.MaxRetries, there.MaxRetriesDown
		}
		return made, where
	}
	return there, max(at, 0)
}
