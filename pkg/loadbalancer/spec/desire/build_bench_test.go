package desire_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// BenchmarkLoadBalancer is a Service with three ports, from its nodes to its model.
func BenchmarkLoadBalancer(b *testing.B) {
	svc := fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 443), fixture.Port(v1.ProtocolUDP, 53)))
	s := fixture.Settings(b, svc, fixture.Config())
	id := ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
	for _, n := range []int{3, 100, 1000} {
		var nodes []*v1.Node
		for i := range n {
			nodes = append(nodes, fixture.Node(fmt.Sprintf("node-%d", i), fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)))
		}
		b.Run(fmt.Sprintf("%d-nodes", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				selected, err := new(members.Selector).Select(s, nodes)
				if err != nil {
					b.Fatal(err)
				}
				desire.LoadBalancer(id, s, selected.InAll(s), desire.Facts{Driver: fixture.Amphora(), VIPSubnetID: "subnet"})
			}
		})
	}
}
