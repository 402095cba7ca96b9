package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// Advance changes floating IPs as Neutron does. Revisions are unknown afterwards, and the observation before stays as it is.
func TestAdvance_ChangesFloatingIPsAsNeutronDoes(t *testing.T) {
	t.Parallel()
	revision := 7
	fip := func(changes ...func(*model.FloatingIP)) model.FloatingIP {
		made := model.FloatingIP{ID: "fip", Address: "203.0.113.1", Description: "theirs"}
		for _, change := range changes {
			change(&made)
		}
		return made
	}
	read, owned, onPort := func(f *model.FloatingIP) { f.Revision = &revision }, func(f *model.FloatingIP) { f.Owned = true }, func(f *model.FloatingIP) { f.PortID = "port" }
	retained := func(f *model.FloatingIP) { f.Retained = true }
	ours := func(f *model.FloatingIP) { f.Description, f.Owned = "ours", true }
	on := func(f model.FloatingIP) *model.LoadBalancer { return &model.LoadBalancer{ID: "lb", FloatingIP: &f} }
	bare, other := &model.LoadBalancer{ID: "lb"}, model.FloatingIP{ID: "other", Owned: true}
	type seen = model.Observed
	for name, test := range map[string]struct {
		before seen
		step   plan.Step
		after  seen
	}{
		"created":                   {seen{LoadBalancer: bare}, plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "n", SubnetIDs: []string{"s"}}}, seen{LoadBalancer: on(model.FloatingIP{NetworkID: "n", Owned: true})}},
		"created beside":            {seen{}, plan.CreateFloatingIP{FloatingIP: model.FloatingIP{Address: "a"}, Beside: true}, seen{UnattachedFloatingIPs: []model.FloatingIP{{Address: "a", Owned: true}}}},
		"associated":                {seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other, fip(read, retained)}}, plan.AssociateFloatingIP{ID: "fip"}, seen{LoadBalancer: on(fip(retained)), UnattachedFloatingIPs: []model.FloatingIP{other}}},
		"associated, and described": {seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{fip(read, retained)}}, plan.AssociateFloatingIP{ID: "fip", Describe: "ours"}, seen{LoadBalancer: on(fip(ours)), UnattachedFloatingIPs: []model.FloatingIP{}}},
		"the last one, associated":  {seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{fip(), other}}, plan.AssociateFloatingIP{}, seen{LoadBalancer: on(other), UnattachedFloatingIPs: []model.FloatingIP{fip()}}},
		"one that is gone":          {seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other}}, plan.AssociateFloatingIP{ID: "fip"}, seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other}}},
		"moved":                     {seen{LoadBalancer: bare, Outgoing: on(fip(read, retained))}, plan.MoveFloatingIP{ID: "fip", Describe: "ours"}, seen{LoadBalancer: on(fip(ours)), Outgoing: bare}},
		"disassociated, another's":  {seen{LoadBalancer: on(fip(onPort))}, plan.DisassociateFloatingIP{ID: "fip"}, seen{LoadBalancer: bare}},
		"disassociated":             {seen{LoadBalancer: on(fip(onPort, owned, read)), UnattachedFloatingIPs: []model.FloatingIP{other}}, plan.DisassociateFloatingIP{ID: "fip"}, seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{fip(owned), other}}},
		"disassociated from a port": {seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other, fip(onPort, read)}}, plan.DisassociateFloatingIP{ID: "fip"}, seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other, fip()}}},
		"deleted":                   {seen{LoadBalancer: on(fip()), UnattachedFloatingIPs: []model.FloatingIP{other}}, plan.DeleteFloatingIP{ID: "fip"}, seen{LoadBalancer: bare, UnattachedFloatingIPs: []model.FloatingIP{other}}},
		"deleted, unattached":       {seen{LoadBalancer: on(fip()), UnattachedFloatingIPs: []model.FloatingIP{other}}, plan.DeleteFloatingIP{ID: "other"}, seen{LoadBalancer: on(fip()), UnattachedFloatingIPs: []model.FloatingIP{}}},
		"its load balancer deleted": {seen{LoadBalancer: on(fip(onPort, read))}, plan.DeleteLoadBalancer{ID: "lb"}, seen{UnattachedFloatingIPs: []model.FloatingIP{fip()}}},
	} {
		observed := test.before.Clone()
		unattached := observed.UnattachedFloatingIPs
		plan.Advance(&observed, test.step)
		if diff := cmp.Diff(test.after, observed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.before.UnattachedFloatingIPs, unattached); diff != "" {
			t.Errorf("%s: the list before has changed:\n%s", name, diff)
		}
	}
}

// A floating IP is a load balancer of provider port-forwarding from its first forwarding on.
func TestAdvance_ForwardsPortsOfTheFloatingIPOfTheStep(t *testing.T) {
	t.Parallel()
	to := []model.Forwarding{{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "a", NodePort: 30080}}
	first, last := model.FloatingIP{ID: "first", Owned: true}, model.FloatingIP{ID: "last", Owned: true, Description: "ours"}
	forwards := func(fip model.FloatingIP) model.FloatingIP {
		fip.Forwards = true
		return fip
	}
	retained := model.FloatingIP{ID: "first", Retained: true}
	emptied := plan.Forwarded(forwards(first), nil)
	for name, test := range map[string]struct {
		before model.Observed
		step   plan.SetForwardings
		lb     *model.LoadBalancer
		rest   []string
	}{
		"the only one, created last": {model.Observed{UnattachedFloatingIPs: []model.FloatingIP{last}}, plan.SetForwardings{Creates: true, To: to}, plan.Forwarded(forwards(last), to), nil},
		"the one created last":       {model.Observed{UnattachedFloatingIPs: []model.FloatingIP{first, last}}, plan.SetForwardings{Creates: true, To: to}, plan.Forwarded(forwards(last), to), []string{"first"}},
		"an unattached one":          {model.Observed{UnattachedFloatingIPs: []model.FloatingIP{first, last}}, plan.SetForwardings{FloatingIP: first, To: to}, plan.Forwarded(forwards(first), to), []string{"last"}},
		"one that was kept":          {model.Observed{UnattachedFloatingIPs: []model.FloatingIP{retained}}, plan.SetForwardings{FloatingIP: retained, To: to, Describe: "ours"}, plan.Forwarded(model.FloatingIP{ID: "first", Owned: true, Description: "ours", Forwards: true}, to), nil},
		"no ports any more":          {model.Observed{LoadBalancer: plan.Forwarded(forwards(first), to)}, plan.SetForwardings{FloatingIP: forwards(first), From: to}, emptied, nil},
		"no ports, and none before":  {model.Observed{UnattachedFloatingIPs: []model.FloatingIP{first}}, plan.SetForwardings{FloatingIP: first}, plan.Forwarded(first, nil), nil},
		"of a load balancer that is left": {
			model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb"}, Duplicates: []model.LoadBalancer{{ID: "port", Provider: driver.Router}, *plan.Forwarded(forwards(first), to)}},
			plan.SetForwardings{FloatingIP: forwards(first), From: to}, &model.LoadBalancer{ID: "lb"}, []string{"first"},
		},
	} {
		observed := test.before.Clone()
		plan.Advance(&observed, test.step)
		var rest []string
		for _, fip := range observed.UnattachedFloatingIPs {
			if rest = append(rest, fip.ID); fip.Forwards {
				t.Errorf("%s: %s has forwardings", name, fip.ID)
			}
		}
		if diff := cmp.Diff(test.lb, observed.LoadBalancer) + cmp.Diff(test.rest, rest); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
