package loadbalancer_test

import "testing"

// CPU costs grow with members. A round makes the desired load balancer and compares it no more
// often than necessary: once for the plan. The cloud has shown the result.
func TestReconcile_DesiresTwiceAndPlansOnceWhereANodeIsAdded(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes[:2])
	stages, err := env.engine.CountStages(env.ctx, svc, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if stages.Desired > 2 || stages.Planned > 1 || stages.Observed > 0 {
		t.Errorf("desired %d times, planned %d times, observed %d times", stages.Desired, stages.Planned, stages.Observed)
	}
	if stages, err = env.engine.CountStages(env.ctx, svc, nodes); err != nil || stages.Desired+stages.Planned+stages.Observed > 0 {
		t.Errorf("where nothing has changed: %+v, %v", stages, err)
	}
}
