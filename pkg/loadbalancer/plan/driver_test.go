package plan_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestDiff_CreatesEmptyWhereAFullCreateIsRefused(t *testing.T) {
	t.Parallel()
	ranges := func(lb *model.LoadBalancer) { lb.Listeners[1].AllowedCIDRs = []string{"192.0.2.0/24"} }
	none := func(*model.LoadBalancer) {}
	breaks := driver.Driver{Quirks: driver.Quirks{RangesBreakFullCreate: true}}
	for name, test := range map[string]struct {
		opts   plan.Options
		change func(*model.LoadBalancer)
		want   bool
	}{
		"a driver that has it":                {plan.Options{}, ranges, false},
		"a driver without":                    {plan.Options{Driver: driver.Driver{}.Without(driver.FullCreate)}, none, true},
		"a driver without batches":            {plan.Options{Driver: driver.Driver{}.Without(driver.MemberBatches)}, none, false},
		"the Service's was refused":           {plan.Options{CreateEmpty: true}, none, true},
		"Octavia fails for source ranges":     {plan.Options{Driver: breaks}, ranges, true},
		"Octavia fails for ranges, none here": {plan.Options{Driver: breaks}, none, false},
	} {
		todo := plan.Diff(web(test.change), model.Observed{}, test.opts)
		created, ok := todo.Steps[0].(plan.CreateLoadBalancer)
		if !ok || (len(created.LoadBalancer.Listeners) == 0) != test.want {
			t.Errorf("%s:\n%s", name, todo)
		}
	}
}

// A replacement is created by its own driver, whatever that of the load balancer is that
// it replaces.
func TestDiff_CreatesAReplacementAsItsDriverWants(t *testing.T) {
	t.Parallel()
	serial := driver.Driver{}.Without(driver.FullCreate)
	for name, test := range map[string]struct {
		old, next driver.Driver
		status    string
		address   string
		want      bool
	}{
		"the old driver has no full creates":           {serial, driver.Driver{}, "ACTIVE", "", false},
		"the new driver has no full creates":           {driver.Driver{}, serial, "ACTIVE", "", true},
		"the new one takes the address of the old":     {driver.Driver{}, serial, "ACTIVE", "10.0.0.9", true},
		"the old one is in ERROR and has never served": {driver.Driver{}, serial, "ERROR", "", true},
	} {
		desired := web(func(lb *model.LoadBalancer) { lb.Provider, lb.VIP.Address = "acme", test.address })
		observed := made(t, web())
		observed.LoadBalancer.Status.Provisioning = test.status
		observed.LoadBalancer.VIP.Address = test.address
		todo := plan.Diff(desired, observed, plan.Options{Driver: test.old, Replacement: &plan.Replacement{LoadBalancer: desired, Driver: test.next}})
		var created *plan.CreateLoadBalancer
		for _, step := range todo.Steps {
			if s, ok := step.(plan.CreateLoadBalancer); ok {
				created = &s
			}
		}
		if created == nil || (len(created.LoadBalancer.Listeners) == 0) != test.want {
			t.Errorf("%s:\n%s", name, todo)
		}
	}
}

// The replacement of a load balancer that has never served may have other settings than the desired one has beside it,
// such as a subnet that the cloud chose before.
func TestDiff_CreatesTheReplacementInPlaceOfOneInErrorThatNeverServed(t *testing.T) {
	t.Parallel()
	observed := made(t, web())
	observed.LoadBalancer.Status.Provisioning = "ERROR"
	next := web(func(lb *model.LoadBalancer) { lb.VIP.SubnetID = "as before" })
	for name, test := range map[string]struct {
		replacement *plan.Replacement
		subnet      string
		listeners   int
	}{
		"none":               {nil, "", 2},
		"of the same driver": {&plan.Replacement{LoadBalancer: next}, "as before", 2},
		"of another driver":  {&plan.Replacement{LoadBalancer: next, Driver: driver.Driver{}.Without(driver.FullCreate)}, "as before", 0},
	} {
		todo := plan.Diff(web(), observed, plan.Options{Replacement: test.replacement})
		created, is := todo.Steps[1].(plan.CreateLoadBalancer)
		if _, deletes := todo.Steps[0].(plan.DeleteLoadBalancer); !deletes || !is || created.LoadBalancer.VIP.SubnetID != test.subnet || len(created.LoadBalancer.Listeners) != test.listeners {
			t.Errorf("%s:\n%s", name, todo)
		}
	}
}

func TestNeeds_NamesTheFeatureOfAStep(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		step     plan.Step
		feature  driver.Feature
		optional bool
	}{
		{plan.CreateLoadBalancer{LoadBalancer: web()}, driver.FullCreate, true},
		{plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}, driver.FullCreate, false},
		{plan.SetMembers{}, driver.MemberBatches, true},
		{plan.AddMember{}, 0, false},
		{plan.CreateMonitor{}, 0, false},
	} {
		if feature, optional := plan.Needs(test.step); optional != test.optional || optional && feature != test.feature {
			t.Errorf("%s needs %s (optional: %v)", test.step, feature, optional)
		}
	}
}
