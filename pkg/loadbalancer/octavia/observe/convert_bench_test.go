package observe_test

import (
	"fmt"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// BenchmarkModel makes a model of a load balancer with three listeners, as it was
// read.
func BenchmarkModel(b *testing.B) {
	id := ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
	for _, n := range []int{3, 100, 1000} {
		parts := read(id, 3, n)
		b.Run(fmt.Sprintf("%d-nodes", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lb := parts.Model(id)
				if len(lb.Listeners) != 3 || lb.Listeners[0].Pool.Members.Len() != n || len(lb.Foreign) > 0 {
					b.Fatalf("%d listeners, foreign %v", len(lb.Listeners), lb.Foreign)
				}
			}
		})
	}
}

// read returns the answers of the load balancer service about a load balancer of ours.
func read(id ownership.Identity, ports, nodes int) observe.Parts {
	const active, online = "ACTIVE", "ONLINE"
	weight, up := new(1), new(true)
	parts := observe.Parts{
		LoadBalancer: octavia.LoadBalancer{
			ID: "lb", Name: id.Name(), Description: id.Description(), Tags: id.Tags(), Provider: "amphora",
			ProvisioningStatus: active, OperatingStatus: online,
		},
		Members: map[string][]octavia.Member{},
	}
	for i := range ports {
		pool := fmt.Sprintf("pool-%d", i)
		parts.Listeners = append(parts.Listeners, octavia.Listener{
			ID: fmt.Sprintf("listener-%d", i), Name: id.ListenerName(i), Tags: id.Tags(), Protocol: "TCP", Port: 80 + i,
			DefaultPoolID: pool, ProvisioningStatus: active, OperatingStatus: online,
		})
		parts.Pools = append(parts.Pools, octavia.Pool{
			ID: pool, Name: id.PoolName(i), Tags: id.Tags(), Protocol: "TCP", Algorithm: "ROUND_ROBIN",
			ProvisioningStatus: active, OperatingStatus: online,
		})
		for node := range nodes {
			parts.Members[pool] = append(parts.Members[pool], octavia.Member{
				ID: fmt.Sprintf("member-%d-%d", i, node), Name: fmt.Sprintf("node-%d", node), SubnetID: "subnet",
				Address: fmt.Sprintf("10.0.%d.%d", node/250, 1+node%250), Port: 30080 + i, Weight: weight, AdminStateUp: up,
				ProvisioningStatus: active, OperatingStatus: online,
			})
		}
	}
	return parts
}
