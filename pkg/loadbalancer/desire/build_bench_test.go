package desire_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// BenchmarkLoadBalancer is a Service with three ports, from its nodes to its model.
func BenchmarkLoadBalancer(b *testing.B) {
	svc := service(ports(port(v1.ProtocolTCP, 80), port(v1.ProtocolTCP, 443), port(v1.ProtocolUDP, 53)))
	settings, _, errs := desire.Read(svc, conf())
	if len(errs) > 0 {
		b.Fatal(errs.ToAggregate())
	}
	id := ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
	for _, n := range []int{3, 100, 1000} {
		var nodes []*v1.Node
		for i := range n {
			nodes = append(nodes, node(fmt.Sprintf("node-%d", i), fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)))
		}
		b.Run(fmt.Sprintf("%d-nodes", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				backends, _, err := desire.Backends(settings, nodes)
				if err != nil {
					b.Fatal(err)
				}
				desire.LoadBalancer(svc, id, settings, backends, desire.Facts{Driver: today(), VIPSubnetID: "subnet"})
			}
		})
	}
}
