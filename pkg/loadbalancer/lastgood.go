package loadbalancer

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// lastGood returns the last accepted version of a Service, with the changes that kube-proxy has
// already made on the nodes:
//
//	part of the Service                                   taken from
//	annotations, the ports and their settings             the accepted version
//	externalTrafficPolicy, healthCheckNodePort            the live version
//	the NodePort of a port that the live version has,     the live version
//	too, by number and protocol, or else by name
//	and protocol
//	the NodePort of a port that the live version lacks,   the accepted version: kube-proxy serves
//	or for which it has no NodePort                       nothing in its place
//	status                                                the live version
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

// livePort returns the live version of an accepted port; nil if it is removed. A live port of the
// same name is another port if it has the number of another accepted port.
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
