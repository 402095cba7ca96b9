package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Members of another IP family than the VIP's get no traffic behind UDP of amphora, and none at all
// of ovn. Octavia reports that only for members that are added later, after the creation of the
// load balancer. So the controller refuses them before the first write.
//
//proves:2
func TestMembers_OfFamilyNotServedAreRefusedBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		protocol v1.Protocol
		refused  string
	}{
		"UDP of amphora":  {octavia.ProviderAmphora, v1.ProtocolUDP, `spec.ports[1].protocol: Invalid value: "UDP": the members are IPv4 and the VIP is IPv6`},
		"SCTP of amphora": {octavia.ProviderAmphora, v1.ProtocolSCTP, `spec.ports[1].protocol: Invalid value: "SCTP": the members are IPv4`},
		"TCP of amphora":  {octavia.ProviderAmphora, v1.ProtocolTCP, ""},
		"TCP of ovn":      {octavia.ProviderOVN, v1.ProtocolTCP, `spec.ports[0].protocol: Invalid value: "TCP": the members are IPv4`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := map[string]string{"lb-provider": c.provider}
			if c.provider == octavia.ProviderOVN {
				keys["lb-method"] = "SOURCE_IP_PORT"
			}
			env := newEnvironment(t, environmentOptions{keys: keys, simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}})
			nodes, svc := env.nodes(1), service("web", 1)
			svc.Spec.Ports = append(svc.Spec.Ports, port(c.protocol, 53))
			svc.Annotations[annotation.Internal] = "true"
			svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
			env.Cloud.RequestLog.Reset()
			if c.refused == "" {
				env.ensure(svc, nodes)
				return
			}
			env.refused(svc, nodes, c.refused)
			env.writes(0)
			svc.Annotations[annotation.SubnetID] = env.Cloud.Subnet.ID
			env.ensure(svc, nodes)
		})
	}
}

// If a Service adds a UDP port, the existing load balancer decides.
func TestEnsure_RefusesPortThatLoadBalancerOfOtherFamilyCannotServe(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}})
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
	env.ensure(svc, nodes)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
	for range 2 { // from memory, and after a read
		env.Cloud.RequestLog.Reset()
		env.refused(svc, nodes, "spec.ports[1].protocol")
		env.writes(0)
	}
}
