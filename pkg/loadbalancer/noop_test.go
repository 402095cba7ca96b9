package loadbalancer_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Upstream syncs every Service again and again. If nothing has changed, the CPU time depends on the
// Services, not on their members. The test is not parallel, because it counts the allocations of
// the process.
func TestEnsure_WhereNothingHasChangedDoesNoWorkForEachMember(t *testing.T) {
	env := newEnvironment(t, environmentOptions{})
	nodes := manyNodes(env, 1000)
	allocs := func(name string, nodes []*v1.Node) float64 {
		svc := service(name, 3)
		env.ensure(svc, nodes)
		env.Cloud.RequestLog.Reset()
		defer func() {
			if n := len(env.Cloud.RequestLog.Requests()); n > 0 {
				t.Errorf("%s: %d requests", name, n)
			}
		}()
		const runs = 20
		began := time.Now()
		n := testing.AllocsPerRun(runs, func() { env.ensure(svc, nodes) })
		t.Logf("%v allocations with %d nodes, %v", n, len(nodes), time.Since(began)/(runs+1))
		return n
	}
	few, many := allocs("few", nodes[:2]), allocs("many", nodes)
	if many > few+50 {
		t.Errorf("%v allocations with 2 nodes, %v with 1000", few, many)
	}
}
