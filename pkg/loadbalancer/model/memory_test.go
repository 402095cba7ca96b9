package model

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// ofService returns the load balancer of a Service with ports on hosts as it is kept in memory:
// only the hosts are shared with others.
func ofService(ports, hosts int) *LoadBalancer {
	id := func() string { return uuid.NewString() }
	name := func(kind string, i int) string {
		return fmt.Sprintf("%s_%d_kube_service_kubernetes_default_web-%s", kind, i, id()[:4])
	}
	sound := Status{"ACTIVE", "ONLINE"}
	tags := func() []string {
		return []string{name("lb", 0), "kube_cluster_id_" + id(), "kube_svc_uid_" + id()}
	}
	lb := &LoadBalancer{
		ID: id(), Name: name("lb", 0), Description: "Kubernetes external service default/web from cluster kubernetes", Tags: tags(), Provider: strings.Clone("amphora"),
		VIP: VIP{NetworkID: id(), SubnetID: id(), PortID: id(), Address: strings.Clone("10.100.200.1")}, Status: sound, UpdatedAt: time.Unix(1, 0),
		FloatingIP: &FloatingIP{ID: id(), NetworkID: id(), Address: strings.Clone("203.0.113.1"), Description: name("fip", 0), PortID: id(), Owned: true},
	}
	for i := range ports {
		members := make([]Member, 0, hosts)
		subnet := id()
		for host := range hosts {
			members = append(members, onHost(host, 30000+i, func(m *Member) { m.ID, m.SubnetID = id(), subnet }))
		}
		lb.Listeners = append(lb.Listeners, Listener{
			ID: id(), Name: name("listener", i), Protocol: TCP, Port: 80 + i, Tags: tags(), Status: sound,
			Pool: Pool{ID: id(), Name: name("pool", i), Protocol: TCP, Algorithm: strings.Clone("ROUND_ROBIN"), Tags: tags(), Status: sound, Members: MembersOf(members...)},
		})
	}
	return lb
}

// Not parallel: the memory of others would be counted.
func TestLoadBalancer_TakesLittleMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const count = 200
	for _, test := range []struct{ hosts, most int }{{100, 12 << 10}, {500, 31 << 10}} {
		all := make([]*LoadBalancer, 0, count)
		before := heap()
		for range count {
			all = append(all, ofService(3, test.hosts))
		}
		each := int(heap()-before) / count
		t.Logf("3 ports × %d members: %.1f KiB", test.hosts, float64(each)/1024)
		if each > test.most {
			t.Errorf("a load balancer of 3 ports × %d members takes %d bytes, want %d at most", test.hosts, each, test.most)
		}
		runtime.KeepAlive(all)
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied in two steps
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
