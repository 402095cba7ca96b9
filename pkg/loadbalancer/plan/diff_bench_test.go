package plan_test

import (
	"fmt"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// BenchmarkDiff compares load balancers with three listeners: like ones, and ones
// that differ by one node.
func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		observed := model.Observed{LoadBalancer: spread(n)}
		for _, c := range []struct {
			name    string
			desired *model.LoadBalancer
			steps   int
		}{
			{"same", spread(n), 0},
			{"node", spread(n + 1), 3},
		} {
			b.Run(fmt.Sprintf("%s/%d-nodes", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := plan.Diff(c.desired, observed, plan.Options{}); len(got.Steps) != c.steps {
						b.Fatalf("%d steps: %v", len(got.Steps), got.Steps)
					}
				}
			})
		}
	}
}

// spread makes a load balancer with three listeners and members on n nodes, all of
// them ACTIVE.
func spread(n int) *model.LoadBalancer {
	sound := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	lb := web(ports(listener(0, model.TCP, 80), listener(1, model.TCP, 443), listener(2, model.UDP, 53)))
	lb.ID, lb.Status = "lb", sound
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		l.ID, l.Status = fmt.Sprintf("listener-%d", i), sound
		l.Pool.ID, l.Pool.Status = fmt.Sprintf("pool-%d", i), sound
		var members []model.Member
		for node := range n {
			members = append(members, model.Member{
				ID: fmt.Sprintf("member-%d-%d", i, node), Name: fmt.Sprintf("node-%d", node), SubnetID: "subnet", Status: sound,
				Address: fmt.Sprintf("10.0.%d.%d", node/250, 1+node%250), Port: 30000 + l.Port,
			})
		}
		l.Pool.Members = model.MembersOf(members...)
	}
	lb.Sort()
	return lb
}
