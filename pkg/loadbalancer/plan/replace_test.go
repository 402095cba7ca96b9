package plan_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Nothing of the floating IP that can be refused is left when a load balancer is deleted for its VIP, and
// no floating IP is deleted before that.
func TestDiff_DeletesALoadBalancerForItsVIPWhenTheFloatingIPIsThere(t *testing.T) {
	t.Parallel()
	property(t, func(t *testing.T, m maker) {
		desired, opts := m.desired(), m.options()
		c := m.cloud(opts)
		lb := c.observed.LoadBalancer
		if lb == nil || len(lb.Foreign) > 0 || lb.Shared != nil {
			return
		}
		desired.VIP.PortID, desired.FlavorID = lb.VIP.PortID, "big"
		c.observed.Duplicates = nil
		if lb.Status.Failed() || desired.VIP.SubnetID != "" && desired.VIP.SubnetID != lb.VIP.SubnetID || desired.VIP.NetworkID != "" && desired.VIP.NetworkID != lb.VIP.NetworkID {
			return
		}
		opts.Replacement = &plan.Replacement{LoadBalancer: desired, Driver: opts.Driver}
		todo := plan.Diff(desired, c.observed, opts)
		deleted := false
		for _, step := range todo.Steps {
			switch step.(type) {
			case plan.DeleteLoadBalancer:
				fip := c.observed.LoadBalancer.FloatingIP
				if want := desired.FloatingIP; want != nil && (fip == nil || !want.Fits(*fip)) {
					t.Errorf("the load balancer is deleted before its floating IP fits:\n%s", todo)
				}
				deleted = true
			case plan.CreateFloatingIP:
				if deleted {
					t.Errorf("a floating IP is created after the load balancer is deleted:\n%s", todo)
				}
			case plan.DeleteFloatingIP:
				if !deleted {
					t.Errorf("a floating IP is deleted before the load balancer:\n%s", todo)
				}
			}
			if err := c.do(step); err != nil {
				t.Fatalf("%v\n%s", err, todo)
			}
		}
		if again := plan.Diff(desired, c.observed, opts); !deleted || !again.Empty() {
			t.Errorf("after\n%sstill to do:\n%s", todo, again)
		}
	})
}

// An address that the Service requests is reserved before its load balancer is created.
func TestDiff_ReservesTheFloatingIPOfAReplacement(t *testing.T) {
	t.Parallel()
	desired := web(func(lb *model.LoadBalancer) { lb.FlavorID, lb.FloatingIP.Address = "big", "203.0.113.80" })
	c := &cloud{observed: made(t, web())}
	opts := plan.Options{Replacement: &plan.Replacement{LoadBalancer: desired}}
	todo := plan.Diff(desired, c.observed, opts)
	if s, creates := todo.Steps[0].(plan.CreateFloatingIP); len(todo.Steps) != 2 || !creates || !s.Beside {
		t.Errorf("plan:\n%s", todo)
	}
	plan.Advance(&c.observed, todo.Steps[0])
	c.identify()
	if again := plan.Diff(desired, c.observed, opts); len(again.Steps) != 1 {
		t.Errorf("with the floating IP:\n%s", again)
	}
}

// The old load balancer gets no floating IP where that cannot be, or brings nothing: it goes first then, as
// the Service would wait for ever otherwise.
func TestDiff_DeletesALoadBalancerForItsVIPAtOnceWhereItCannotHaveTheFloatingIP(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(observed *model.Observed, desired *model.LoadBalancer){
		"it is in ERROR": func(observed *model.Observed, _ *model.LoadBalancer) {
			observed.LoadBalancer.Status.Provisioning = "ERROR"
		},
		"the VIP moves to another subnet":  func(_ *model.Observed, desired *model.LoadBalancer) { desired.VIP.SubnetID = "another" },
		"the VIP moves to another network": func(_ *model.Observed, desired *model.LoadBalancer) { desired.VIP.NetworkID = "another" },
		"a duplicate has the floating IP on": func(observed *model.Observed, _ *model.LoadBalancer) {
			duplicate := *observed.LoadBalancer
			duplicate.ID, duplicate.FloatingIP = "duplicate", &model.FloatingIP{ID: "fip-9", Address: "203.0.113.80", PortID: "port-9", Owned: true}
			observed.Duplicates = []model.LoadBalancer{duplicate}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desired := web(func(lb *model.LoadBalancer) { lb.FlavorID, lb.FloatingIP.Address = "big", "203.0.113.80" })
			c := &cloud{observed: made(t, web())}
			desired.VIP.Address = c.observed.LoadBalancer.VIP.Address
			change(&c.observed, desired)
			todo := plan.Diff(desired, c.observed, plan.Options{Replacement: &plan.Replacement{LoadBalancer: desired}})
			if len(todo.Steps) == 0 {
				t.Fatal("no steps")
			}
			if _, deletes := todo.Steps[0].(plan.DeleteLoadBalancer); !deletes {
				t.Errorf("the first step is not the deletion:\n%s", todo)
			}
		})
	}
}
