package loadbalancer_test

import (
	"strings"
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

// What the provider does not have stops no load balancer that is there, and opens
// nothing new.
func TestWhatTheProviderLacksStopsNoLoadBalancerThatExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"lb-provider": "ovn"}})
	nodes, svc := w.nodes(3), service("web", 1)
	w.ensure(svc, nodes[:2])
	svc.Annotations[annotation.Method] = "ROUND_ROBIN"
	svc.Annotations[annotation.PortID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "fd00::/8"}
	w.restart()
	w.cloud.Books.Reset()
	w.told()
	w.ensure(svc, nodes[:2])
	w.writes(0)
	w.ensure(svc, nodes)
	w.membersAre(nodes)
	told := w.told()
	for _, want := range []string{annotation.Method, annotation.PortID, "everybody may connect as before", "fd00::/8"} {
		if !strings.Contains(told, want) {
			t.Errorf("events:\n%s\nsay nothing of %q", told, want)
		}
	}
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
	w.refused(svc, nodes[:1], "so port TCP/443 is not opened")
	w.membersAre(nodes[:1])
	if got := len(w.loadBalancer().Listeners); got != 1 {
		t.Errorf("%d listeners", got)
	}
	svc.Spec.LoadBalancerSourceRanges = nil
	w.ensure(svc, nodes)
}
