package plan_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// A duplicate with objects of another client is kept and reported; one without is deleted.
func TestDiff_RetainsDuplicatesWithForeignParts(t *testing.T) {
	t.Parallel()
	c := &cloud{}
	if err := c.run(plan.Diff(web(), c.observed, plan.Options{}).Steps); err != nil {
		t.Fatal(err)
	}
	c.observed.Duplicates = []model.LoadBalancer{
		{ID: "theirs-too", Name: "web", Foreign: []model.Foreign{{Kind: "pool", ID: "p-9", Name: "somebody's"}}},
		{ID: "ours", Name: "web"},
	}
	todo := plan.Diff(web(), c.observed, plan.Options{})
	if len(todo.Steps) != 1 || todo.Steps[0].(plan.DeleteLoadBalancer).ID != "ours" {
		t.Errorf("steps:\n%swant the deletion of the one that is ours alone", todo)
	}
	if len(todo.Retained) != 1 || !strings.Contains(todo.Retained[0], "theirs-too") || !strings.Contains(todo.Retained[0], "p-9") {
		t.Errorf("retained %v, want one of what stays, and why", todo.Retained)
	}
}

// Which duplicates and floating IPs go, and which the kept load balancer takes over.
func TestDiff_DeletesDuplicatesThatServeNothing(t *testing.T) {
	t.Parallel()
	const deleted = "load balancer web (second): delete: the Service has another one"
	const moved = "floating IP 203.0.113.9: move to the new load balancer; "
	owned, named := &model.FloatingIP{ID: "fip", Address: "203.0.113.9", Owned: true}, &model.FloatingIP{ID: "fip", Address: "203.0.113.9"}
	foreign := []model.Foreign{{Kind: "pool", ID: "p"}}
	at := func(address string) plan.Options { return plan.Options{Addresses: []string{"10.9.9.9", address}} }
	for name, test := range map[string]struct {
		duplicate model.LoadBalancer
		wanted    string // the address of the wanted floating IP, "any", or "" for none
		has       bool   // the kept one has another floating IP, which fits
		opts      plan.Options
		want      string
		retained  bool
	}{
		"nothing on it":                          {want: deleted},
		"a floating IP of the Service":           {duplicate: model.LoadBalancer{FloatingIP: owned}, want: deleted + "; floating IP 203.0.113.9: delete"},
		"the same, floating IPs stay":            {duplicate: model.LoadBalancer{FloatingIP: owned}, opts: plan.Options{KeepFloatingIP: true}, want: deleted},
		"another's floating IP":                  {duplicate: model.LoadBalancer{FloatingIP: named}, want: deleted},
		"one that the kept one lacks":            {duplicate: model.LoadBalancer{FloatingIP: owned}, wanted: "any", want: moved + deleted},
		"another's, any is wanted":               {duplicate: model.LoadBalancer{FloatingIP: named}, wanted: "any", want: "floating IP: create on network public; " + deleted},
		"another's, which is wanted":             {duplicate: model.LoadBalancer{FloatingIP: named}, wanted: "203.0.113.9", want: moved + deleted},
		"the kept one has a floating IP":         {duplicate: model.LoadBalancer{FloatingIP: owned}, wanted: "any", has: true, want: deleted + "; floating IP 203.0.113.9: delete"},
		"the published VIP":                      {duplicate: model.LoadBalancer{VIP: model.VIP{Address: "10.0.0.9"}}, opts: at("10.0.0.9"), retained: true},
		"the published floating IP":              {duplicate: model.LoadBalancer{FloatingIP: owned}, opts: at("203.0.113.9"), retained: true},
		"the published floating IP, which moves": {duplicate: model.LoadBalancer{FloatingIP: owned}, wanted: "any", opts: at("203.0.113.9"), want: moved + deleted},
		"the floating IP moves, the VIP is published": {
			duplicate: model.LoadBalancer{FloatingIP: owned, VIP: model.VIP{Address: "10.0.0.9"}}, wanted: "any", opts: at("10.0.0.9"), want: strings.TrimSuffix(moved, "; "), retained: true,
		},
		"objects of others": {duplicate: model.LoadBalancer{FloatingIP: owned, Foreign: foreign}, wanted: "any", want: "floating IP: create on network public", retained: true},
	} {
		observed := made(t, web(floatingIP(nil)))
		desired := web(floatingIP(nil))
		if test.wanted != "" {
			desired.FloatingIP = &model.FloatingIP{NetworkID: "public", Address: strings.TrimPrefix(test.wanted, "any")}
		}
		if test.has {
			observed.LoadBalancer.FloatingIP = &model.FloatingIP{ID: "first", Address: "203.0.113.1", Owned: true}
		}
		duplicate := *test.duplicate.Clone()
		duplicate.ID, duplicate.Name = "second", "web"
		observed.Duplicates = []model.LoadBalancer{duplicate}
		todo := plan.Diff(desired, observed, test.opts)
		if got := steps(todo); got != test.want || (len(todo.Retained) > 0) != test.retained {
			t.Errorf("%s: %s, want %s; retained: %v", name, got, test.want, todo.Retained)
		}
	}
}

// A deletion takes duplicates with the published address too: the Service is no longer served.
func TestDelete_DeletesDuplicatesExceptForObjectsOfOthers(t *testing.T) {
	t.Parallel()
	observed := model.Observed{Duplicates: []model.LoadBalancer{
		{ID: "a", Name: "web", VIP: model.VIP{Address: "10.0.0.9"}, FloatingIP: &model.FloatingIP{ID: "fip", Address: "203.0.113.9", Owned: true}},
		{ID: "p", Provider: driver.Router, VIP: model.VIP{PortID: "p", Address: "10.77.0.5"}},
		{ID: "b", Name: "web", Foreign: []model.Foreign{{Kind: "listener", ID: "l"}}},
	}}
	todo := plan.Delete(observed, plan.Options{Addresses: []string{"10.0.0.9"}})
	if got, want := steps(todo), "load balancer web (a): delete: the Service has another one; floating IP 203.0.113.9: delete; VIP 10.77.0.5 (port p): delete"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(todo.Retained) != 1 || !strings.Contains(todo.Retained[0], "load balancer web (b)") {
		t.Errorf("retained %v", todo.Retained)
	}
}
