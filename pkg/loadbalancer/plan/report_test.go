package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestReport_SplitsByWhatIsKnownOfTheLastTime(t *testing.T) {
	t.Parallel()
	one, two, three := plan.DeleteLoadBalancer{ID: "1"}, plan.DeleteLoadBalancer{ID: "2"}, plan.DeleteLoadBalancer{ID: "3"}
	todo := plan.Plan{Steps: []plan.Step{one, two, three}, Notices: []string{"the flavor stays"}}
	reverts := plan.Plan{Steps: []plan.Step{two}}
	reportedBefore := plan.Plan{Steps: []plan.Step{one}}.Lines()
	for name, test := range map[string]struct {
		report         plan.Report
		ours, reported []plan.Step
		drifted        bool
	}{
		"drift-policy=repair":           {plan.Report{}, todo.Steps, nil, false},
		"nothing is known":              {plan.NewReport(plan.Applied{}, true), todo.Steps, nil, false},
		"the same is asked for":         {plan.NewReport(plan.Applied{Same: true, Revert: reverts}, true), nil, todo.Steps, true},
		"another client changed one":    {plan.NewReport(plan.Applied{Revert: reverts}, true), []plan.Step{one, three}, reverts.Steps, true},
		"one was reported before":       {plan.NewReport(plan.Applied{Reported: reportedBefore}, true), []plan.Step{two, three}, []plan.Step{one}, true},
		"one was reported, one changed": {plan.NewReport(plan.Applied{Reported: reportedBefore, Revert: reverts}, true), []plan.Step{three}, []plan.Step{one, two}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, reported := test.report.Split(todo)
			if diff := cmp.Diff(test.ours, ours.Steps) + cmp.Diff(test.reported, reported.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(ours.Notices) != 1 || len(reported.Notices) != 0 {
				t.Errorf("notices of ours %v, of what is reported %v", ours.Notices, reported.Notices)
			}
			if test.report.Drifted() != test.drifted || test.report.Enabled() != (name != "drift-policy=repair") || test.report.All() != (len(ours.Steps) == 0) {
				t.Errorf("drifted %v, enabled %v, all %v", test.report.Drifted(), test.report.Enabled(), test.report.All())
			}
		})
	}
	if len(reportedBefore) != 1 {
		t.Errorf("what was reported before has changed: %v", reportedBefore)
	}
}

func TestReport_AllIsUnsetWhereNothingDiffers(t *testing.T) {
	t.Parallel()
	if report := plan.NewReport(plan.Applied{Same: true}, false); report.All() || report.Drifted() || !report.Enabled() {
		t.Errorf("%+v", report)
	}
}

// Members cannot be set in a pool that is not created: the round would fail each time.
func TestReport_SplitsMembersFromPoolsThatAreOnlyReported(t *testing.T) {
	t.Parallel()
	made, missing := model.ListenerKey{Port: 80}, model.ListenerKey{Port: 443}
	create := plan.CreatePool{Key: missing, Pool: model.Pool{Name: "pool"}}
	todo := plan.Plan{Steps: []plan.Step{
		create,
		plan.SetMembers{Pool: plan.PoolRef{Key: missing}, Members: model.MembersOf(model.Member{Name: "a"})},
		plan.AddMember{Pool: plan.PoolRef{Key: missing}, Member: model.Member{Name: "b"}},
		plan.SetMembers{Pool: plan.PoolRef{Key: made}, Members: model.MembersOf(model.Member{Name: "a"})},
	}}
	ours, reported := plan.NewReport(plan.Applied{Revert: plan.Plan{Steps: []plan.Step{create}}}, true).Split(todo)
	if len(ours.Steps) != 1 || len(reported.Steps) != 3 {
		t.Errorf("carried out %v, reported %v: want only the members of the pool that exists", ours.Steps, reported.Steps)
	}
}
