package loadbalancer_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Upstream syncs every Service again and again: where nothing has changed, that is work for
// the Service, not for each of its members. The test does not run in parallel with others,
// as it counts the allocations of the process.
func TestEnsure_WhereNothingHasChangedDoesNoWorkForEachMember(t *testing.T) {
	env := newEnvironment(t, environmentOptions{})
	var nodes []*v1.Node
	for i := range 200 {
		nodes = append(nodes, env.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.%d.%d", 1+i/100, 10+i%100)))
	}
	allocs := func(name string, nodes []*v1.Node) float64 {
		svc := service(name, 3)
		env.ensure(svc, nodes)
		env.Cloud.RequestLog.Reset()
		defer func() {
			if n := len(env.Cloud.RequestLog.Requests()); n > 0 {
				t.Errorf("%s: %d requests", name, n)
			}
		}()
		return testing.AllocsPerRun(20, func() { env.ensure(svc, nodes) })
	}
	few, many := allocs("few", nodes[:2]), allocs("many", nodes)
	t.Logf("%v allocations with 2 nodes, %v with 200", few, many)
	if many > few+50 {
		t.Errorf("%v allocations with 2 nodes, %v with 200", few, many)
	}
}
