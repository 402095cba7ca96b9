package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// The first remedy that applies to a load balancer in ERROR with a published address.
func TestDiff_TriesARemedyForALoadBalancerInErrorAtATime(t *testing.T) {
	t.Parallel()
	const failOver = "load balancer kube_service_rig_default_web (lb-1): fail over, as it is in ERROR\n"
	const inError = "load balancer kube_service_rig_default_web (lb-1) is in ERROR"
	const left, ask = "; it may still serve traffic, so it is left alone", ": ask the cloud's operator to fail it over (openstack loadbalancer failover lb-1)"
	const anew = `, let a new one take its place with the annotation loadbalancer.openstack.org/allow-replace: "true", or delete the Service to start anew`
	replaced := func() *plan.Replacement { return &plan.Replacement{LoadBalancer: web(floatingIP(nil))} }
	shared := func(lb *model.LoadBalancer) { lb.Shared = &model.Shared{} }
	orphaned := func(lb *model.LoadBalancer) { lb.Shared = &model.Shared{Removable: true, Orphaned: true} }
	for name, test := range map[string]struct {
		change func(*model.LoadBalancer)
		opts   plan.Options
		want   string
	}{
		"it can be failed over":              {nil, plan.Options{Failover: plan.Failover{Now: true}}, failOver},
		"it can be failed over, or replaced": {nil, plan.Options{Failover: plan.Failover{Now: true}, Replacement: replaced()}, failOver},
		"it cannot be failed over, but replaced": {nil, plan.Options{Replacement: replaced()},
			"load balancer kube_service_rig_default_web: create (amphora) with TCP/80, TCP/443 and 6 members, to take the place of lb-1: it is in ERROR\n"},
		"it cannot be replaced either":           {nil, plan.Options{}, "blocked: " + inError + left + ask + anew + "\n"},
		"the reason is known":                    {nil, plan.Options{Failover: plan.Failover{WhyNot: "the provider has no failovers"}}, "blocked: " + inError + left + "; the provider has no failovers" + ask + anew + "\n"},
		"objects of others keep its replacement": {func(lb *model.LoadBalancer) { lb.Foreign = []model.Foreign{{Kind: "pool", ID: "p"}} }, plan.Options{Replacement: replaced()}, "blocked: " + inError + left + ask + anew + "\n"},
		"time and operating status are known": {func(lb *model.LoadBalancer) {
			lb.UpdatedAt, lb.Status.Operating = time.Date(2026, 11, 29, 12, 0, 0, 0, time.FixedZone("CET", 3600)), "OFFLINE"
		}, plan.Options{}, "blocked: " + inError + " since 2026-11-29T11:00:00Z (operating status OFFLINE)" + left + ask + anew + "\n"},
		"another's":                     {shared, plan.Options{Failover: plan.Failover{Now: true}, Replacement: replaced()}, "blocked: load balancer lb-1, which was made for another and is shared, is in ERROR\n"},
		"another's, the owner is gone":  {orphaned, plan.Options{Failover: plan.Failover{Now: true}, Replacement: replaced()}, failOver},
		"the same, it cannot be failed": {orphaned, plan.Options{Replacement: replaced()}, "blocked: " + inError + left + ask + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := made(t, web(floatingIP(nil)))
			observed.LoadBalancer.Status.Provisioning = "ERROR"
			if test.change != nil {
				test.change(observed.LoadBalancer)
			}
			opts := test.opts
			opts.Published = true
			todo := plan.Diff(web(floatingIP(nil)), observed, opts)
			if diff := cmp.Diff(test.want, todo.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Another client has disabled a load balancer: its owner enables it, and if that is gone, the Services that share it do.
func TestDiff_EnablesALoadBalancerWithoutAnotherOwner(t *testing.T) {
	t.Parallel()
	const enabled = "load balancer kube_service_rig_default_web (lb-1): admin_state_up false → true\n"
	for name, test := range map[string]struct {
		shared *model.Shared
		want   string
	}{
		"its own":                      {nil, enabled},
		"another's":                    {&model.Shared{Removable: true}, ""},
		"an operator's":                {&model.Shared{}, ""},
		"another's, the owner is gone": {&model.Shared{Removable: true, Orphaned: true}, enabled},
	} {
		observed := made(t, web())
		observed.LoadBalancer.AdminDown, observed.LoadBalancer.Shared = true, test.shared
		if got := plan.Diff(web(), observed, plan.Options{}).String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What a failed-over load balancer lacks is repaired by the next plan.
func TestAdvance_TakesAFailoverForSuccessful(t *testing.T) {
	t.Parallel()
	observed := made(t, web())
	observed.LoadBalancer.Status.Provisioning = "ERROR"
	opts := plan.Options{Published: true, Failover: plan.Failover{Now: true}}
	for _, step := range plan.Diff(web(nodes(1, 2)), observed, opts).Steps {
		plan.Advance(&observed, step)
	}
	want := []string{"pool TCP/80: member -node-3=10.0.0.3:30080", "pool TCP/443: member -node-3=10.0.0.3:30443"}
	if diff := cmp.Diff(want, lines(plan.Diff(web(nodes(1, 2)), observed, opts))); diff != "" {
		t.Error(diff)
	}
}
