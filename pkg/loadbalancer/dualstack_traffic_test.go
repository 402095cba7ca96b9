package loadbalancer_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Clients of both families get answers at each published address: by HAProxy from members of either family,
// with ovn from members of their own.
//
//proves:29,32
func TestDualStack_CarriesTrafficOfBothFamilies(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{octavia.ProviderAmphora, octavia.ProviderOVN} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			block := loopback.Block(t)
			keys := map[string]string{"lb-provider": provider}
			if provider == octavia.ProviderOVN {
				keys["lb-method"] = "SOURCE_IP_PORT"
			}
			env := newEnvironment(t, environmentOptions{keys: keys, simulator: simulator.Options{Topology: simulator.Topology{
				CIDR: fmt.Sprintf("127.232.%d.0/24", block), ExternalCIDR: fmt.Sprintf("127.233.%d.0/24", block),
			}}})
			// IPv6 has one loopback address, at which VIP and member have ports of their own.
			if _, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{
				Name: "six", NetworkID: env.Cloud.Network.ID, CIDR: "::/120", GatewayIP: "::2",
			}); err != nil {
				t.Fatal(err)
			}
			plane := attach.Start(env.Cloud.Octavia, env.Cloud.Neutron, datapath.Options{TimeScale: 0.01})
			t.Cleanup(plane.Close)
			number := serveHTTP(t, "[::1]:0")
			at := fmt.Sprintf("127.232.%d.200", block)
			serveHTTP(t, net.JoinHostPort(at, itoa(number)))
			node := env.nodeAt("node", at)
			node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "::1"})

			svc := dual(service("web", 0), require, v1.IPv4Protocol, v1.IPv6Protocol)
			svc.Annotations[annotation.VIPAddress] = "::1"
			svc.Spec.Ports = []v1.ServicePort{{Name: "web", Protocol: v1.ProtocolTCP, Port: int32(loopback.Port + 1 + block), NodePort: int32(number)}}
			status := env.ensure(svc, []*v1.Node{node})
			published := ipsOf(status)
			if len(published) != 2 || published[1] != "::1" {
				t.Fatalf("published: %v", published)
			}
			for _, address := range append(published, env.loadBalancer().VIP.Address) {
				await.Eventually(t, "an answer at "+address, func(context.Context) error {
					_, err := ask(net.JoinHostPort(address, itoa(int(svc.Spec.Ports[0].Port))), false)
					return err
				})
			}
		})
	}
}
