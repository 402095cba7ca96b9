package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// Values that cloud-provider-openstack took for its default, or that OpenStack refused
// then, change nothing when it is replaced, and the Services are served in full.
//
//proves:120
func TestMalformedValuesChangeNothingAtTheTakeover(t *testing.T) {
	t.Parallel()
	in := inherit(t)
	for _, svc := range in.Services {
		for name, value := range map[string]string{
			annotation.Internal: "True", annotation.ForwardedFor: "True", annotation.ProxyProtocol: "V2", annotation.KeepFloatingIP: "1",
			annotation.ConnLimit: "", annotation.ClientData: "5s", annotation.Method: "SOURCE_IP_PORT", annotation.MonitorDelay: "0",
		} {
			if _, there := svc.Annotations[name]; !there {
				svc.Annotations[name] = value
			}
		}
	}
	in.adopt()
	in.writes(0)
	for _, svc := range in.Services {
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 9000+len(svc.Name)))
		in.ensure(svc, in.Nodes)
	}
}

// An internal Service does not get a public address by a typing error.
func TestATypingErrorPublishesNoInternalService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	w.ensure(svc, nodes[:2])
	svc.Annotations[annotation.Internal] = "True"
	for _, restart := range []bool{false, true} {
		if restart {
			w.restart()
		}
		w.cloud.Books.Reset()
		w.refused(svc, nodes[:2], `"True": allowed: "true" or "false"; false, which counts without the annotation, would change the load balancer`)
		w.writes(0)
	}
	w.floatingIPs(0)
	w.refused(svc, nodes, "follows the nodes")
	w.membersAre(nodes)
	svc.Annotations[annotation.Internal] = "false"
	w.ensure(svc, nodes)
	w.floatingIPs(1)
}
