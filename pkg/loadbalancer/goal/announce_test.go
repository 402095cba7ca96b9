package goal

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// The events before a change report all that an operator would not expect.
func TestAnnounce_ReportsTheUnexpected(t *testing.T) {
	t.Parallel()
	foreign, todo := &model.FloatingIP{ID: "fip", Address: "203.0.113.7"}, plan.Plan{Steps: []plan.Step{plan.DeleteListener{ID: "l"}}}
	vip := model.VIP{Address: "10.0.0.5"}
	guest := &model.LoadBalancer{ID: "lb", VIP: vip, Shared: &model.Shared{}}
	guestWithFIP := &model.LoadBalancer{ID: "lb", VIP: vip, Shared: &model.Shared{}, FloatingIP: foreign}
	own, attached := &model.LoadBalancer{ID: "lb", VIP: vip}, &model.LoadBalancer{ID: "lb", VIP: vip, FloatingIP: foreign}
	const onlyVIP, another = "reachable at its VIP 10.0.0.5 only", "Another client attached floating IP 203.0.113.7"
	record := func(fip string) string {
		return state.Record{LoadBalancerID: "lb", Service: "service-uid", Digests: state.Digests{Full: "d"}, FloatingIPID: fip}.String()
	}
	for name, test := range map[string]struct {
		lb       *model.LoadBalancer
		internal bool
		todo     plan.Plan
		record   string
		applied  string // its floating IP
		quiet    bool
		change   func(*Asked, *Round)
		want     string // of the events on these subjects
	}{
		"a new one":                       {todo: todo},
		"another's without a floating IP": {lb: guest, todo: todo, want: onlyVIP},
		"another's, nothing changes":      {lb: guest},
		"another's, internal":             {lb: guest, internal: true, todo: todo},
		"another's, with a floating IP":   {lb: guestWithFIP, todo: todo},
		"its own without a floating IP":   {lb: own, todo: todo},
		"another client's floating IP":    {lb: attached, internal: true, want: another},
		"its own floating IP":             {lb: attached},
		"one that was recorded":           {lb: attached, internal: true, record: record("fip")},
		"another than was recorded":       {lb: attached, internal: true, record: record("older"), want: another},
		"one that was known":              {lb: attached, internal: true, applied: "fip"},
		"another than was known":          {lb: attached, internal: true, applied: "older", want: another},
		"another one is named":            {lb: own, change: func(a *Asked, _ *Round) { a.in.Settings.LoadBalancer.ID = "missing" }, want: "there is no load balancer missing"},
		"another one is named, quietly":   {lb: own, quiet: true, change: func(a *Asked, _ *Round) { a.in.Settings.LoadBalancer.ID = "missing" }},
		"nodes have no second address": {lb: own, change: func(a *Asked, round *Round) {
			round.Want.Settings.Second = v1.IPv6Protocol
			a.in.Second.Without = []string{"node-1"}
		}, want: "no IPv6 address: node-1"},
		"nodes have none, one family is used": {lb: own, change: func(a *Asked, _ *Round) { a.in.Second.Without = []string{"node-1"} }},
		"a port without endpoints":            {lb: own, change: func(_ *Asked, round *Round) { round.Want.Followed.Empty = []string{"TCP/80"} }, want: "of TCP/80 is"},
		"a limit that is ignored": {lb: own, change: func(_ *Asked, round *Round) {
			round.Want.Facts.Ignored = []annotation.Notice{{Annotation: "a", Message: "no use"}}
		}, want: "a: no use"},
		"no external network": {todo: plan.Plan{Steps: []plan.Step{plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}}}, change: func(_ *Asked, round *Round) { round.Want.Facts.NoFloatingIP = "no external network" }, want: "no external network"},
	} {
		r := newRig(t, service(dual(v1.IPFamilyPolicyPreferDualStack)))
		a := r.ask()
		r.records.text, a.quiet, a.in.Settings.Internal = test.record, test.quiet, test.internal
		r.events()
		first := *a.in.Settings.InFirst()
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: test.lb}}, Want: &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: &first}}
		round.Want.Facts.Driver, round.Groups.Task = fixture.Amphora(), new(securitygroup.Task)
		if !test.internal {
			round.Want.LoadBalancer.FloatingIP = &model.FloatingIP{}
		}
		if test.applied != "" {
			round.Applied = &state.Applied{LoadBalancer: state.LoadBalancer{FloatingIPID: test.applied}}
		}
		if test.change != nil {
			test.change(a, &round)
		}
		a.Announce(round, test.todo, plan.Plan{})
		var got []string
		for line := range strings.Lines(r.events()) {
			if !strings.Contains(line, string(reason.Changing)) {
				got = append(got, line)
			}
		}
		if len(got) > 1 || (len(got) > 0) != (test.want != "") || !strings.Contains(strings.Join(got, ""), test.want) {
			t.Errorf("%s: events %q, want %q", name, got, test.want)
		}
	}
}

// Missing health monitors of a load balancer that another controller created are reported with the remedy.
func TestAnnounce_ReportsMissingMonitors(t *testing.T) {
	t.Parallel()
	for name, adopted := range map[string]bool{"of another controller": true, "its own": false} {
		r := newRig(t, service(fixture.Local))
		a := r.ask()
		r.events()
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", Adopted: adopted}}}, Want: &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: a.in.Settings}}
		round.Want.Facts.Driver, round.Groups.Task = fixture.Amphora(), new(securitygroup.Task)
		a.Announce(round, plan.Plan{}, plan.Plan{})
		if events := r.events(); strings.Contains(events, string(reason.HealthMonitorMissing)) != adopted {
			t.Errorf("%s: %q", name, events)
		}
	}
}
