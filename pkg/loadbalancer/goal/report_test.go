package goal

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// With drift-policy=report, steps that only revert changes of another client are reported. Which these are depends on what
// is known of the last request.
func TestReport_IsOfStepsThatRevertAnotherClient(t *testing.T) {
	t.Parallel()
	desired := fixture.Desired(t, fixture.Service(), fixture.Config(), fixture.Amphora())
	there := desired.Clone()
	there.ID, there.Listeners[0].ID, there.Listeners[0].Pool.ID = "lb", "listener", "pool"
	changed := there.Clone()
	changed.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8"}
	listener, addition := plan.DeleteListener{ID: "listener"}, plan.AddMember{Pool: plan.PoolRef{}}
	first := plan.Plan{Steps: []plan.Step{listener, addition}}
	full, nodeless := state.Digests{Full: "same"}, state.Digests{Nodeless: digest.Nodeless(desired, inputsOf(webService()).Settings)}
	recorded := func(digests state.Digests) string {
		return state.Record{LoadBalancerID: "lb", Service: "u", Digests: digests}.String()
	}
	adopted := there.Clone()
	adopted.Adopted = true
	beforeDrift := func(depth model.Depth, digests state.Digests) func(*Inputs) {
		return func(in *Inputs) {
			in.Drift = state.Drift{Reason: state.ReasonChanged, Before: &state.Applied{Contents: there, Knowledge: model.Knowledge{Depth: depth}, Digests: digests}}
		}
	}
	served := func(in *Inputs) { in.Published = published("203.0.113.7") }
	for name, test := range map[string]struct {
		policy  string // drift.PolicyReport unless set
		applied *state.Applied
		lb      *model.LoadBalancer
		record  string
		touched bool
		change  func(*Inputs)
		first   plan.Plan
		groups  *securitygroup.Task
		enabled bool
		all     bool
		// reported are the steps of first that are reported, drifted is set if there are any others.
		reported []plan.Step
		drifted  bool
	}{
		"repairs":                             {policy: "repair", lb: there, applied: &state.Applied{Digests: full}, first: first},
		"a new one":                           {first: first},
		"it is gone":                          {first: first, change: beforeDrift(model.Full, full), enabled: true, all: true, reported: first.Steps},
		"the same request":                    {lb: there, applied: &state.Applied{Digests: full}, first: first, enabled: true, all: true, reported: first.Steps},
		"the same request, nothing differs":   {lb: there, applied: &state.Applied{Digests: full}, enabled: true},
		"the same request, no groups differ":  {lb: there, applied: &state.Applied{Digests: full}, groups: new(securitygroup.Task), enabled: true},
		"the same request, groups differ":     {lb: there, applied: &state.Applied{Digests: full}, groups: &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{}}}}, enabled: true, all: true},
		"another request":                     {lb: there, applied: &state.Applied{}, first: first, enabled: true},
		"another request, one was reported":   {lb: there, applied: &state.Applied{Reported: map[string]bool{listener.String(): true}}, first: first, enabled: true, reported: first.Steps[:1]},
		"another request, after a change":     {lb: changed, change: beforeDrift(model.Full, state.Digests{}), first: first, enabled: true, drifted: true},
		"another request, after one, by list": {lb: changed, change: beforeDrift(model.Listed, state.Digests{}), first: first, enabled: true},
		"recorded":                            {lb: there, record: recorded(full), first: first, enabled: true, all: true, reported: first.Steps},
		"recorded, a change began":            {lb: there, record: recorded(full), touched: true, first: first, enabled: true},
		"recorded without a request":          {lb: there, record: recorded(state.Digests{Nodeless: "other"}), first: first, enabled: true},
		"recorded but for nodes":              {lb: there, record: recorded(nodeless), first: first, enabled: true, reported: first.Steps[:1]},
		"recorded but for nodes, one began":   {lb: there, record: recorded(nodeless), touched: true, first: first, enabled: true},
		"recorded, groups are managed":        {lb: there, record: recorded(nodeless), change: func(in *Inputs) { in.Settings.Access.SecurityGroupMode = securitygroup.Shared }, first: first, enabled: true},
		"of another controller":               {lb: adopted, change: served, first: first, enabled: true, reported: first.Steps[:1]},
		"its own, never served by this one":   {lb: there, change: served, first: first, enabled: true},
		"of another controller, unpublished":  {lb: adopted, first: first, enabled: true},
		"of another controller, written":      {lb: adopted, change: func(in *Inputs) { served(in); in.Published.Place = "lb" }, first: first, enabled: true},
		"of another controller, recorded":     {lb: adopted, change: served, record: recorded(state.Digests{Full: "other"}), first: first, enabled: true},
		"of another controller, applied":      {lb: adopted, change: served, applied: &state.Applied{}, first: first, enabled: true},
	} {
		svc := webService()
		in := inputsOf(svc)
		in.Settings.LoadBalancer.Provider, in.Version = "amphora", model.Version{Major: 2, Minor: 30}
		if test.change != nil {
			test.change(&in)
		}
		conf := fixture.Config(func(c *config.LoadBalancer) { c.DriftPolicy = drift.PolicyReport })
		if test.policy != "" {
			conf.LoadBalancer.DriftPolicy = test.policy
		}
		memory := memoryOf(svc, test.record, state.Entry{Made: state.Made{Touched: test.touched}})
		p := &reporter{config: conf, memory: memory, planner: &planner{config: conf, drivers: driver.NewRegistry(driver.Settings{}), memory: memory}}
		r := Round{Applied: test.applied, Have: Observation{Observed: &model.Observed{LoadBalancer: test.lb}}, Want: &Desired{LoadBalancer: desired, digest: "same"}}
		got := p.report(in, r, test.first, SecurityGroups{Task: test.groups})
		if got.Enabled() != test.enabled || got.All() != test.all {
			t.Errorf("%s: enabled: %v, all: %v", name, got.Enabled(), got.All())
		}
		ours, reported := got.Split(test.first)
		if len(reported.Steps) != len(test.reported) || len(ours.Steps)+len(reported.Steps) != len(test.first.Steps) || len(test.reported) > 0 && reported.Steps[0] != test.reported[0] {
			t.Errorf("%s: reported %v", name, reported.Steps)
		}
		if got.Drifted() != (test.all || len(test.reported) > 0 || test.drifted) {
			t.Errorf("%s: another client has changed something: %v", name, got.Drifted())
		}
	}
}

// A change of another client is announced once, with the steps that revert it, or would.
func TestAnnounce_NamesWhatRevertsAChange(t *testing.T) {
	t.Parallel()
	todo, groups := plan.Plan{Steps: []plan.Step{plan.DeleteListener{ID: "of the Service"}}}, &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "nodes"}}}}
	differs, reportsOne := plan.NewReport(plan.Applied{Same: true}, true), plan.NewReport(plan.Applied{Reported: map[string]bool{"a step": true}}, true)
	const reverted, left, changing = "It is being reverted", "It is left as it is", "ChangingLoadBalancer"
	for name, test := range map[string]struct {
		reason         string
		report         plan.Report
		groups         *securitygroup.Task
		todo, reported plan.Plan
		unfound        []string
		want           []string // in this order
	}{
		"a change of the Service":    {todo: todo, want: []string{changing}},
		"drift":                      {reason: state.ReasonChanged, todo: todo, want: []string{changing, reverted}},
		"drift, reported":            {reason: state.ReasonChanged, report: differs, reported: todo, want: []string{left}},
		"reported, unnoticed before": {report: reportsOne, reported: todo, want: []string{left}},
		"reported, of a group":       {report: differs, groups: groups, want: []string{left}},
		"a group":                    {groups: groups, want: []string{changing}},
		"drift of a group":           {reason: state.ReasonChanged, groups: groups, want: []string{reverted, changing}},
		"in ERROR, without a cause":  {reason: state.ReasonFailed, todo: todo, want: []string{changing}},
		"in ERROR, and a change":     {reason: state.ReasonFailed, report: reportsOne, reported: todo, want: []string{left}},
		"a node without a port":      {groups: &securitygroup.Task{Unfound: []string{"node-1"}}, want: []string{"node-1"}},
	} {
		recorder := record.NewFakeRecorder(20)
		p, in := &reporter{events: events.New(recorder, warnings{})}, inputsOf(webService())
		in.Drift.Reason, in.Members = test.reason, new(members.Set)
		if test.groups == nil {
			test.groups = new(securitygroup.Task)
		}
		p.announce(in, Round{Report: test.report, Groups: SecurityGroups{Task: test.groups}}, test.todo, test.reported)
		close(recorder.Events)
		var got []string
		for event := range recorder.Events {
			got = append(got, event)
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: %d events: %v", name, len(got), got)
			continue
		}
		for i, word := range test.want {
			if !strings.Contains(got[i], word) {
				t.Errorf("%s: event %d is %q, want %q", name, i, got[i], word)
			}
		}
	}
}
