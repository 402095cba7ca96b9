package goal

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// wantFailover compares a decision; why is a part of the reason, "" if the load balancer is failed over.
func wantFailover(t *testing.T, what string, got plan.Failover, why string) {
	t.Helper()
	if got.Now != (why == "") || !strings.Contains(got.WhyNot, why) || got.Now && got.WhyNot != "" {
		t.Errorf("%s: %+v, want %q", what, got, why)
	}
}

func TestFailovers_PauseLongerAfterEach(t *testing.T) {
	t.Parallel()
	clk := testingclock.NewFakePassiveClock(noon)
	f, lb := NewFailovers(clk), &model.LoadBalancer{ID: "lb", UpdatedAt: noon.Add(-time.Hour)}
	const day = 24 * time.Hour
	for _, step := range []struct {
		at    time.Duration
		why   string
		begin bool
	}{
		{0, "", true},
		{10*time.Minute - 1, "the failover at 2026-11-29T12:00:00Z did not help, the next one is not before 2026-11-29T12:10:00Z", false},
		{10 * time.Minute, "", true},
		{70*time.Minute - 1, "the failover at 2026-11-29T12:10:00Z did not help, the next one is not before 2026-11-29T13:10:00Z", false},
		{70 * time.Minute, "", true},
		{71 * time.Minute, "3 failovers did not help, the last one at 2026-11-29T13:10:00Z", false},
		{day + 70*time.Minute - 1, "3 failovers did not help", false},
		{day + 70*time.Minute, "", true}, // the first one again
		{day + 71*time.Minute, "the next one is not before 2026-11-30T13:20:00Z", false},
		{day + 80*time.Minute, "", false},
	} {
		clk.SetTime(noon.Add(step.at))
		wantFailover(t, "after "+step.at.String(), f.Of(lb, true), step.why)
		wantFailover(t, "another, after "+step.at.String(), f.Of(&model.LoadBalancer{ID: "other"}, true), "")
		if step.begin {
			f.Begin(lb.ID)
		}
	}
}

// The process before may have failed a load balancer over just before this one has started.
func TestFailovers_WaitForAnErrorThatWasThereAtTheStart(t *testing.T) {
	t.Parallel()
	clk := testingclock.NewFakePassiveClock(noon)
	f, lb := NewFailovers(clk), &model.LoadBalancer{ID: "lb", UpdatedAt: noon.Add(-5 * time.Minute)}
	wantFailover(t, "a young one", f.Of(lb, false), "this one does not before 2026-11-29T12:05:00Z")
	wantFailover(t, "one that has served", f.Of(lb, true), "")
	wantFailover(t, "an old one", f.Of(&model.LoadBalancer{ID: "lb", UpdatedAt: noon.Add(-10 * time.Minute)}, false), "")
	clk.SetTime(noon.Add(5 * time.Minute))
	wantFailover(t, "ten minutes after the ERROR", f.Of(lb, false), "")
}

// A refusal for lack of a role concerns all load balancers, and is no failover.
func TestFailovers_PauseAfterARefusal(t *testing.T) {
	t.Parallel()
	clk := testingclock.NewFakePassiveClock(noon)
	f, lb := NewFailovers(clk), &model.LoadBalancer{ID: "lb"}
	before := f.Clone()
	f.Begin(lb.ID)
	f.Forbid(lb.ID)
	for _, id := range []string{"lb", "other"} {
		wantFailover(t, id, f.Of(&model.LoadBalancer{ID: id}, true), "load-balancer_admin")
	}
	clk.SetTime(noon.Add(6*time.Hour - 1))
	wantFailover(t, "until six hours later", f.Of(lb, true), "load-balancer_admin")
	clk.SetTime(noon.Add(6 * time.Hour))
	wantFailover(t, "six hours later", f.Of(lb, true), "")
	copied := f.Clone()
	copied.Begin(lb.ID)
	wantFailover(t, "what a copy began", f.Of(lb, true), "")
	wantFailover(t, "the copy", copied.Of(lb, true), "did not help")
	clk.SetTime(noon)
	wantFailover(t, "a copy of before the refusal", before.Of(lb, true), "")
}

func TestFailover_IsForLoadBalancersInErrorThatMayBeRepaired(t *testing.T) {
	t.Parallel()
	version := model.Version{Major: 2, Minor: 30}
	failed := &model.LoadBalancer{ID: "lb", Status: model.Status{Provisioning: "ERROR"}, UpdatedAt: noon}
	for name, test := range map[string]struct {
		lb       *model.LoadBalancer
		policy   string
		provider string
		served   bool
		want     plan.Failover
	}{
		"none":                   {nil, "repair", "amphora", true, plan.Failover{}},
		"ACTIVE":                 {&model.LoadBalancer{Status: model.Status{Provisioning: "ACTIVE"}}, "repair", "amphora", true, plan.Failover{}},
		"in ERROR":               {failed, "repair", "amphora", true, plan.Failover{Now: true}},
		"in ERROR, not served":   {failed, "repair", "amphora", false, plan.Failover{WhyNot: "the controller before may just have failed it over; this one does not before 2026-11-29T12:10:00Z"}},
		"in ERROR, only reports": {failed, drift.PolicyReport, "amphora", true, plan.Failover{WhyNot: "drift-policy=report keeps it from being failed over"}},
		"in ERROR, of ovn":       {failed, "repair", "ovn", true, plan.Failover{WhyNot: "the provider ovn has no failovers"}},
	} {
		clk, svc := testingclock.NewFakePassiveClock(noon), webService()
		p := &planner{
			config: fixture.Config(func(c *config.LoadBalancer) { c.DriftPolicy = test.policy }), failovers: NewFailovers(clk), memory: Memory{Store: state.New(clk, nil)},
		}
		if test.served {
			p.memory.Store.Update(svc.UID, func(e *state.Entry) { e.Accepted = new(v1.Service) })
		}
		if got := p.failover(inputsOf(svc), test.lb, driver.Of(test.provider, version)); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
