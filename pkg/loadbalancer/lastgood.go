package loadbalancer

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// lastGood returns a Service as it was accepted last, but for what kube-proxy has changed on the
// nodes already, whether or not the load balancer can follow:
//
//	of the Service                                        is taken from
//	annotations, the ports and their settings             the accepted one
//	externalTrafficPolicy, healthCheckNodePort            the live one
//	the NodePort of a port that the live one has too:     the live one
//	of the same number and protocol, or else of the
//	same name and protocol
//	the NodePort of a port that the live one lacks, or    the accepted one: kube-proxy serves
//	for which it has no NodePort                          nothing in its place
//	status                                                the live one
func lastGood(accepted, live *v1.Service) *v1.Service {
	good := accepted.DeepCopy()
	good.Status = live.Status
	good.Spec.ExternalTrafficPolicy = live.Spec.ExternalTrafficPolicy
	good.Spec.HealthCheckNodePort = live.Spec.HealthCheckNodePort
	for i, port := range accepted.Spec.Ports {
		if now := livePort(port, accepted.Spec.Ports, live.Spec.Ports); now != nil && now.NodePort != 0 {
			good.Spec.Ports[i].NodePort = now.NodePort
		}
	}
	return good
}

// livePort returns what has become of an accepted port; nil where it is gone. A live port of the
// same name is another one where it has the number of a port that was accepted.
func livePort(port v1.ServicePort, accepted, live []v1.ServicePort) *v1.ServicePort {
	same := func(a, b v1.ServicePort) bool { return a.Protocol == b.Protocol && a.Port == b.Port }
	if i := slices.IndexFunc(live, func(now v1.ServicePort) bool { return same(now, port) }); i >= 0 {
		return &live[i]
	}
	i := slices.IndexFunc(live, func(now v1.ServicePort) bool {
		return now.Name == port.Name && now.Protocol == port.Protocol &&
			!slices.ContainsFunc(accepted, func(other v1.ServicePort) bool { return same(other, now) })
	})
	if i < 0 {
		return nil
	}
	return &live[i]
}
