package build_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/build"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/identity"
)

// BenchmarkLoadBalancer is a Service with three ports, from its nodes to its model.
func BenchmarkLoadBalancer(b *testing.B) {
	svc := service(ports(port(v1.ProtocolTCP, 80), port(v1.ProtocolTCP, 443), port(v1.ProtocolUDP, 53)))
	settings, _, errs := build.Read(svc, conf())
	if len(errs) > 0 {
		b.Fatal(errs.ToAggregate())
	}
	id := identity.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
	for _, n := range []int{3, 100, 1000} {
		var nodes []*v1.Node
		for i := range n {
			nodes = append(nodes, node(fmt.Sprintf("node-%d", i), fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250)))
		}
		b.Run(fmt.Sprintf("%d-nodes", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				backends, _, err := build.Backends(settings, nodes)
				if err != nil {
					b.Fatal(err)
				}
				build.LoadBalancer(svc, id, settings, backends, build.Facts{Can: today(), VIPSubnetID: "subnet"})
			}
		})
	}
}
