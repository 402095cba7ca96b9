package settings

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// NoMember is the port of a monitor without members.
const NoMember = -1

// KeptMonitor returns the monitor of a pool, nil for none, while the Service is refused, and the
// port that it probes if it is not the members' own. at is the port that the present monitor,
// there, probes. Kube-proxy already follows the new traffic policy of the Service:
//
//	there is                            policy Local                  policy Cluster
//	none, or UDP-CONNECT                as the policy requires     as it is
//	HTTP on kube-proxy's healthz        HTTP on healthCheckNodePort   as it is
//	HTTP on a health check node port    HTTP on healthCheckNodePort   as monitors are configured, none if they
//	                                                                  are not, with the previous timing
//	any other, or the user's own        as it is                      as it is
//
// If pods are the members, it is as it is. No record has the health check node port: a monitor of /healthz at a port that no annotation has
// is assumed to be of it.
func (f ForDriver) KeptMonitor(there *model.Monitor, at int, protocol model.Protocol) (*model.Monitor, int) {
	if f.s.ByPods() {
		return there, max(at, 0)
	}
	m, healthPort := f.s.Monitor, f.s.Traffic.HealthCheckNodePort
	byPolicy := *f.s
	byPolicy.Monitor.Probe = Probe{}
	if m.custom() && at == NoMember {
		at = m.Port
	} else if !m.custom() {
		byPolicy.Monitor.Port = m.Port
	}
	asksKubeProxy := there != nil && there.Type == model.MonitorHTTP && there.URLPath == healthzPath && at != 0 && (at != m.Port || !m.custom())
	switch {
	case f.s.Traffic.Local && asksKubeProxy && healthPort != 0:
		return there, healthPort
	case f.s.Traffic.Local && !asksKubeProxy && (there == nil || there.Type == model.MonitorUDPConnect):
		if made, where := byPolicy.For(f.drv).HealthMonitor(protocol); made != nil && (there == nil || where != 0) {
			return made, where
		}
	case !f.s.Traffic.Local && asksKubeProxy && at != kubeProxyPort && (at != m.Port || !m.KubeProxy):
		made, where := byPolicy.For(f.drv).HealthMonitor(protocol)
		if made != nil {
			made.Delay, made.Timeout, made.MaxRetries, made.MaxRetriesDown = there.Delay, there.Timeout, there.MaxRetries, there.MaxRetriesDown
		}
		return made, where
	}
	return there, max(at, 0)
}
