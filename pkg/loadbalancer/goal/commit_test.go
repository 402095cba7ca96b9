package goal

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// The end of a round stores its state. A change that is only reported neither changes the status nor removes anything.
func TestCommit_StoresTheStateOfTheRound(t *testing.T) {
	t.Parallel()
	reported := plan.Plan{Steps: []plan.Step{plan.DeleteListener{ID: "l"}}}
	all := plan.NewReport(plan.Applied{Same: true}, true)
	for name, test := range map[string]struct {
		report   plan.Report
		reported plan.Plan
		left     []model.FloatingIP
		keep     bool
		gone     bool
		status   string
		closed   bool
		// unattached is set if a floating IP of the Service is still known to be unattached.
		unattached bool
	}{
		"a change":                        {status: "10.0.0.5 VIP", closed: true},
		"steps are reported":              {reported: reported, status: "203.0.113.7", unattached: true},
		"all is reported":                 {report: all, status: "203.0.113.7", unattached: true},
		"all is reported, it is gone":     {report: all, gone: true, status: "203.0.113.7", unattached: true},
		"a floating IP is left":           {left: []model.FloatingIP{{ID: "fip", Owned: true}}, status: "10.0.0.5 VIP", closed: true, unattached: true},
		"another's is left":               {left: []model.FloatingIP{{ID: "fip"}}, status: "10.0.0.5 VIP", closed: true},
		"a floating IP is left, and kept": {left: []model.FloatingIP{{ID: "fip", Owned: true}}, keep: true, status: "10.0.0.5 VIP", closed: true},
	} {
		r := newRig(t)
		at("203.0.113.7")(r.svc)
		a := r.ask()
		r.store.Update(r.svc.UID, func(e *state.Entry) {
			e.Made = state.Made{VIP: true, Forwards: true, UnattachedFloatingIP: true, LoadBalancerID: "lb", Entered: []string{"lb"}}
			e.Applied = appliedOn("before", false)
		})
		a.in.Settings.Floating.Keep, a.in.Previous, a.in.Entered = test.keep, []string{"lb"}, []string{"lb"}
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", VIP: model.VIP{Address: "10.0.0.5"}}, UnattachedFloatingIPs: test.left}}, Report: test.report, Want: &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: a.in.Settings}}
		if test.gone {
			round.Have.LoadBalancer = nil
		}
		r.sent = nil
		status, err := a.Commit(r.ctx, round, test.reported, &r.lock)
		if err != nil || printed(status) != test.status || r.has("groups-close") != test.closed {
			t.Errorf("%s: status %v, error %v, requests %v", name, status, err, r.sent)
		}
		entry := r.store.Get(r.svc.UID)
		if made := entry.Made; made.VIP == test.closed || made.Forwards == test.closed || made.UnattachedFloatingIP != test.unattached || (made.Entered == nil) != test.closed {
			t.Errorf("%s: made %+v", name, made)
		}
		if (entry.Applied == nil) != test.gone || entry.Applied != nil && (entry.Applied.LoadBalancer.ID != "lb" || len(entry.Applied.Reported) != len(test.reported.Steps)) {
			t.Errorf("%s: applied %+v", name, entry.Applied)
		}
		if event := r.events(); strings.Contains(event, "The address changed from 203.0.113.7 to 10.0.0.5") != test.closed {
			t.Errorf("%s: events %q", name, event)
		}
	}
}

// The status of a kept Service stays, unless another floating IP is in place of a lost one. Its state counts as applied only
// where the Service is served by this load balancer, with all listeners.
func TestCommit_OfKeptStoresWhatItKnows(t *testing.T) {
	t.Parallel()
	reported := plan.Plan{Steps: []plan.Step{plan.DeleteListener{ID: "l"}}}
	for name, test := range map[string]struct {
		lost, floating string
		replaced       bool
		previous       string
		limits         Limits
		report         plan.Report
		reported       plan.Plan
		status         string
		closed         bool
		applied        string // its address, "" for none
		changed        bool   // an event says so
	}{
		"as before":                  {previous: "lb", status: "203.0.113.7", closed: true, applied: "203.0.113.7"},
		"another floating IP":        {previous: "lb", lost: "203.0.113.7", floating: "203.0.113.8", status: "203.0.113.8 VIP", closed: true, applied: "203.0.113.8", changed: true},
		"the same floating IP":       {previous: "lb", lost: "203.0.113.7", floating: "203.0.113.7", status: "203.0.113.7", closed: true, applied: "203.0.113.7"},
		"one that was not lost":      {previous: "lb", floating: "203.0.113.8", status: "203.0.113.7", closed: true, applied: "203.0.113.7"},
		"another one serves":         {previous: "lb", replaced: true, status: "203.0.113.7"},
		"it has parts elsewhere":     {previous: "old", status: "203.0.113.7"},
		"a listener was not written": {previous: "lb", limits: Limits{Lost: []string{secretRef}}, status: "203.0.113.7", closed: true},
		"steps are reported":         {previous: "lb", reported: reported, status: "203.0.113.7", applied: "10.0.0.5"},
		"all is reported":            {previous: "lb", report: plan.NewReport(plan.Applied{Same: true}, true), status: "203.0.113.7", applied: "10.0.0.5"},
	} {
		r := newRig(t)
		at("203.0.113.7")(r.svc)
		k := r.keep(test.limits)
		k.in.Previous = []string{test.previous}
		lb := &model.LoadBalancer{ID: "lb", VIP: model.VIP{Address: "10.0.0.5"}}
		if test.floating != "" {
			lb.FloatingIP = &model.FloatingIP{ID: "fip", Address: test.floating}
		}
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, Lost: test.lost, Replaced: test.replaced}, Report: test.report, Want: &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: k.in.Settings}}
		status, err := k.Commit(r.ctx, round, test.reported, &r.lock)
		if err != nil || printed(status) != test.status || r.has("groups-close") != test.closed {
			t.Errorf("%s: status %v, error %v, requests %v", name, status, err, r.sent)
		}
		address := ""
		if applied := r.store.Get(r.svc.UID).Applied; applied != nil {
			address = applied.Address
		}
		if address != test.applied {
			t.Errorf("%s: applied at %q, want %q", name, address, test.applied)
		}
		if event := r.events(); strings.Contains(event, "The address changed from 203.0.113.7 to 203.0.113.8") != test.changed {
			t.Errorf("%s: events %q", name, event)
		}
	}
}
