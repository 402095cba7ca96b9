package goal

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// The security groups of the nodes are planned for the clients of the Service; those of a refused one stay.
func TestBegin_PlansTheSecurityGroupsOfClients(t *testing.T) {
	t.Parallel()
	lists := model.Knowledge{Source: model.Lists}
	for name, test := range map[string]struct {
		svc     *v1.Service
		rig     []func(*rig)
		recall  bool
		have    model.Knowledge
		before  bool
		planned bool // a specification
	}{
		"managed":                          {by(driver.Router, routedAddresses), []func(*rig){managed}, true, model.Knowledge{}, true, true},
		"managed, never served":            {by(driver.Router), []func(*rig){managed}, false, model.Knowledge{}, false, true},
		"not managed":                      {by(driver.Router, routedAddresses), nil, false, model.Knowledge{}, true, false},
		"not managed, known":               {by(driver.Router, routedAddresses), nil, true, model.Knowledge{}, false, false},
		"not managed, known by lists":      {by(driver.Router, routedAddresses), nil, true, lists, true, false},
		"not managed, never served":        {by(driver.Router), nil, false, model.Knowledge{}, false, false},
		"not managed, never served, lists": {by(driver.Router), nil, true, lists, false, false},
	} {
		r := newRig(t, append(test.rig, withFloating)...)
		current := func() bool { return true }
		subject := r.of(test.svc).subject()
		subject.NodesCurrent = current
		for _, goalOf := range []func() (Goal, error){
			func() (Goal, error) { return r.NewRouted(t.Context(), subject, false) },
			func() (Goal, error) { return r.NewRoutedKept(t.Context(), subject, driver.Router, Limits{}) },
		} {
			g, err := goalOf()
			if err != nil {
				t.Fatal(err)
			}
			round, todo, err := planned(t, g)
			if err != nil {
				t.Fatal(err)
			}
			round.Recalled, round.Have.Knowledge = test.recall, test.have
			groups, _, err := g.Begin(t.Context(), round, todo)
			asked := r.planned[len(r.planned)-1]
			kept := g.(*Routed).unread != nil
			if err != nil || groups.Task != r.task || groups.VIPSubnet != "vips" || asked.VIPSubnet != "vips" || asked.ID != rigIdentity() || asked.NodesCurrent == nil {
				t.Errorf("%s: %+v, error %v", name, asked, err)
			}
			if asked.Before != test.before || (asked.Spec != nil) != test.planned || asked.Kept != kept || asked.Unread {
				t.Errorf("%s, kept %v: %+v", name, kept, asked)
			}
		}
	}
	r := newRig(t, withFloating, managed)
	g := r.of(by(driver.Router, routedAddresses, ranges("nonsense"))).keepRouted(driver.Router)
	round, todo, err := planned(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Begin(t.Context(), round, todo); err != nil || !r.planned[0].Unread {
		t.Errorf("invalid source ranges are taken for those of the clients: %+v, error %v", r.planned[0], err)
	}
	r.fails["groups-plan"] = errFailed
	if groups, _, err := g.Begin(t.Context(), round, todo); err != errFailed || groups.Task != nil {
		t.Errorf("%+v, error %v", groups, err)
	}
}

// With drift-policy=report, a change by another client stays while the Service asks for the same.
func TestReported_IsWhatWouldRevertAnotherClient(t *testing.T) {
	t.Parallel()
	reports := func(r *rig) { r.conf.LoadBalancer.DriftPolicy = "report" }
	repairs := func(r *rig) { r.conf.LoadBalancer.DriftPolicy = "repair" }
	step := plan.Plan{Steps: []plan.Step{plan.LeadVIP{Address: "10.77.0.5"}}}
	opens := &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "group"}}}}
	for name, test := range map[string]struct {
		policy func(*rig)
		before *state.Routed
		todo   plan.Plan
		groups *securitygroup.Task
		all    bool
	}{
		"changed by another client":         {reports, &state.Routed{Digest: "same"}, step, &securitygroup.Task{}, true},
		"security groups were changed":      {reports, &state.Routed{Digest: "same"}, plan.Plan{}, opens, true},
		"nothing is left of it":             {reports, &state.Routed{Digest: "same"}, plan.Plan{}, &securitygroup.Task{}, false},
		"changed by the Service as well":    {reports, &state.Routed{Digest: "other"}, step, opens, false},
		"nothing has changed":               {reports, nil, step, opens, false},
		"changes of others are reverted":    {repairs, &state.Routed{Digest: "same"}, step, opens, false},
		"the same, with security groups":    {repairs, &state.Routed{Digest: "same"}, plan.Plan{}, opens, false},
		"another digest, and nothing to do": {reports, &state.Routed{Digest: "other"}, plan.Plan{}, &securitygroup.Task{}, false},
	} {
		r := newRig(t, test.policy)
		g := &withoutOctavia{Engine: r.Engine, in: Inputs{Drift: state.Drift{Routed: test.before}}}
		if got := g.reported(Round{Want: &Desired{digest: "same"}}, test.todo, test.groups); got.All() != test.all {
			t.Errorf("%s: all is reported: %v", name, got.All())
		}
	}
}

// Each change is announced once: as one of the Service, as one that reverts another client's, or as one that is left.
func TestAnnounce_AttributesEachChange(t *testing.T) {
	t.Parallel()
	step := plan.Plan{Steps: []plan.Step{plan.DeleteVIP{PortID: "port", Address: "10.77.0.9"}}}
	opens := &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "group"}}}, Unfound: []string{"node-2"}}
	reported := plan.NewReport(plan.Applied{Same: true}, true)
	for name, test := range map[string]struct {
		change  string // by another client
		report  plan.Report
		want    []string
		without string
	}{
		"its own":                   {"", plan.Report{}, []string{"ChangingLoadBalancer VIP 10.77.0.9", "ChangingLoadBalancer security group"}, "another client"},
		"it reverts another client": {"the route is gone", plan.Report{}, []string{"ChangingLoadBalancer VIP 10.77.0.9", "Changed by another client: the route is gone. It is being reverted"}, "left as it is"},
		"it is left":                {"the route is gone", reported, []string{"would revert it (actual → desired): VIP 10.77.0.9", "would revert it (actual → desired): security group"}, "ChangingLoadBalancer"},
	} {
		r := newRig(t)
		g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router)).route().Inputs()}
		g.in.Drift.Reason = test.change
		r.events()
		round := Round{Want: &Desired{Followed: members.Followed{Placeless: true}}, Groups: SecurityGroups{Task: opens}, Report: test.report}
		todo, left := step, plan.Plan{}
		if test.report.All() {
			todo, left = left, todo
		}
		g.announce(round, todo, left)
		got := r.events()
		for _, words := range append(test.want, "has the address of node-2", "All nodes are members") {
			if !strings.Contains(got, words) {
				t.Errorf("%s: without %q:\n%s", name, words, got)
			}
		}
		if strings.Contains(got, test.without) {
			t.Errorf("%s: with %q:\n%s", name, test.without, got)
		}
	}
}

// A plan beyond the limits of cloud.conf, or of the provider, is refused before the first step.
func TestPrepare_RefusesAPlanBeforeItsFirstStep(t *testing.T) {
	t.Parallel()
	creates := plan.Plan{Steps: []plan.Step{plan.CreateVIP{LoadBalancer: &model.LoadBalancer{}}}}
	floating := plan.Plan{Steps: []plan.Step{plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "vip-net", Address: "203.0.113.7"}}}}
	limited := func(r *rig) {
		r.conf.LoadBalancer.MaxServicesPerNamespace = 1
		r.store.Update("another", func(e *state.Entry) { e.Namespace = "default" })
	}
	tight := func(r *rig) { r.conf.LoadBalancer.MaxSourceRanges = 1 }
	for name, test := range map[string]struct {
		rig     []func(*rig)
		ranges  []string
		todo    plan.Plan
		check   error
		words   string
		counted bool
	}{
		"within the limits":        {nil, nil, creates, nil, "", true},
		"one Service too many":     {[]func(*rig){limited}, nil, creates, nil, "max-services-per-namespace", false},
		"the same, that has a VIP": {[]func(*rig){limited}, nil, plan.Plan{}, nil, "", true},
		"too many source ranges":   {[]func(*rig){tight, managed}, []string{"198.51.100.0/24", "192.0.2.0/24"}, creates, nil, "", true},
		"refused by the provider":  {nil, nil, creates, errFailed, "failed", false},
		"an address of no subnet":  {nil, nil, floating, nil, "none can be created with it", false},
	} {
		r := newRig(t, test.rig...)
		g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, ranges(test.ranges...))).route().Inputs()}
		round := Round{Want: &Desired{LoadBalancer: &model.LoadBalancer{}}, Have: nothing(rigIdentity())}
		err := g.prepare(t.Context(), round, test.todo, func() error { return test.check })
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) || (r.store.Get(serviceUID).Namespace != "") != test.counted {
			t.Errorf("%s: %v, counted in %q", name, err, r.store.Get(serviceUID).Namespace)
		}
	}
	r := newRig(t, tight, managed)
	g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, ranges("198.51.100.0/24", "192.0.2.0/24"))).route().Inputs()}
	opened := &model.LoadBalancer{Listeners: []model.Listener{{AllowedCIDRs: []string{"198.51.100.0/24"}}}}
	err := g.prepare(t.Context(), Round{Want: &Desired{LoadBalancer: opened}, Have: nothing(rigIdentity())}, creates, func() error { return nil })
	if err == nil || !strings.Contains(err.Error(), "max-source-ranges") {
		t.Errorf("too many source ranges: %v", err)
	}
}
