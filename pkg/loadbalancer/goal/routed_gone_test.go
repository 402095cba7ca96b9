package goal

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

var keepsFloatingIP = fixture.Annotated(annotation.KeepFloatingIP, "true")

// untagged is the port of a creation that was interrupted.
func untagged(port *neutron.VIPPort) { port.Tags = nil }

const withoutVIP = "VIP 10.77.0.5: next hops [10.0.0.1] → []; VIP 10.77.0.5 (port port-10.77.0.5): delete"

func TestRoutedGone_DeletesAllThatTheServiceHasAndLeavesTheUsersFloatingIP(t *testing.T) {
	t.Parallel()
	vip, forwarded := vipAt("10.77.0.5"), forwardedAt("f", "203.0.113.9", "10.0.0.2")
	byUser := floatingAt("fip", "203.0.113.7", "port-10.77.0.5", describedAs("the user's"))
	legacy := floatingAt("legacy", "203.0.113.7", "", describedAs(rigIdentity().FloatingIPs().LegacyDescription()))
	const unforwarded = "floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.2:30080] → []; floating IP 203.0.113.9: delete"
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		want  string
		found bool
	}{
		"nothing":                  {by(driver.Router), nil, "", false},
		"a VIP":                    {by(driver.Router, routedAddresses), []func(*rig){withFloating}, "floating IP 203.0.113.7: delete; " + withoutVIP, true},
		"its floating IP stays":    {by(driver.Router, routedAddresses, keepsFloatingIP), []func(*rig){withFloating}, "floating IP 203.0.113.7: disassociate; " + withoutVIP, true},
		"a user's floating IP":     {by(driver.Router, routedAddresses), []func(*rig){vip, byUser}, "floating IP 203.0.113.7: disassociate; " + withoutVIP, true},
		"an interrupted creation":  {by(driver.Router), []func(*rig){vipAt("10.77.0.5", untagged), func(r *rig) { r.routes = nil }}, "VIP 10.77.0.5 (port port-10.77.0.5): delete", true},
		"two of these":             {by(driver.Router), []func(*rig){vipAt("10.77.0.5", untagged), vipAt("10.77.0.6", untagged), func(r *rig) { r.routes = nil }}, "VIP 10.77.0.5 (port port-10.77.0.5): delete; VIP 10.77.0.6 (port port-10.77.0.6): delete", true},
		"one beside a VIP":         {by(driver.Router), []func(*rig){vip, vipAt("10.77.0.6", untagged)}, withoutVIP, true},
		"one without an address":   {by(driver.Router), []func(*rig){vipAt("10.77.0.5", func(p *neutron.VIPPort) { p.FixedIPs = nil }), vipAt("10.77.0.6", untagged)}, "VIP  (port port-10.77.0.5): delete", true},
		"a floating IP left over":  {by(driver.Router), []func(*rig){floatingAt("left", "203.0.113.7", "")}, "floating IP 203.0.113.7: delete", false},
		"forwardings":              {by(driver.PortForwarding, at("203.0.113.9")), []func(*rig){forwarded}, unforwarded, true},
		"both":                     {by(driver.Router, at("10.77.0.5", "203.0.113.9")), []func(*rig){vip, forwarded}, withoutVIP + "; " + unforwarded, true},
		"two floating IPs":         {by(driver.PortForwarding, at("203.0.113.9")), []func(*rig){forwarded, forwardedAt("g", "203.0.113.10", "10.0.0.2")}, unforwarded + "; floating IP 203.0.113.10: forwarded ports [TCP/80 to 10.0.0.2:30080] → []; floating IP 203.0.113.10: delete", true},
		"one that was published":   {by(driver.Router, at("203.0.113.7")), []func(*rig){legacy}, "floating IP 203.0.113.7: delete", false},
		"the same, and it asks it": {by(driver.Router, at("203.0.113.7"), loadBalancerIP("203.0.113.7")), []func(*rig){legacy}, "", false},
	} {
		r := newRig(t, test.rig...)
		g := r.NewRoutedGone(Subject{Service: test.svc})
		_, todo, err := planned(t, g)
		if err != nil || inLine(todo) != test.want || g.Found() != test.found {
			t.Errorf("%s:\n%s\nwant\n%s\nfound %v, error %v", name, inLine(todo), test.want, g.Found(), err)
		}
		known, err := g.Recall(t.Context(), nil)
		if known.Have.Observed != nil || known.Status != nil || err != nil {
			t.Errorf("%s: a deletion recalls %+v", name, known)
		}
	}
}

// A VIP that was found before its deletion is one that the Service had.
func TestRoutedGone_HasFoundWhatItHasDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, withFloating)
	g := r.NewRoutedGone(Subject{Service: by(driver.Router)})
	for range 2 {
		if _, err := g.Observe(t.Context(), new(async.Guard)); err != nil || !g.Found() {
			t.Errorf("found: %v, error %v", g.Found(), err)
		}
		r.vips, r.floatingIPs = nil, nil
	}
}

// A kept floating IP is known to the next Service of the name: a list may lack it.
func TestRoutedGone_RecordsTheFloatingIPThatStays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		stays bool
		emits bool
	}{
		"kept":        {by(driver.Router, keepsFloatingIP), []func(*rig){withFloating}, true, true},
		"not kept":    {by(driver.Router), []func(*rig){withFloating}, false, true},
		"a user's":    {by(driver.Router, keepsFloatingIP), []func(*rig){vipAt("10.77.0.5"), floatingAt("fip", "203.0.113.7", "port-10.77.0.5", describedAs("the user's"))}, false, true},
		"none":        {by(driver.Router, keepsFloatingIP), []func(*rig){vipAt("10.77.0.5")}, false, true},
		"nothing":     {by(driver.Router, keepsFloatingIP), nil, false, false},
		"forwardings": {by(driver.PortForwarding, keepsFloatingIP), []func(*rig){forwardedAt("fip", "203.0.113.9", "10.0.0.2")}, true, true},
	} {
		r := newRig(t, test.rig...)
		g := r.NewRoutedGone(Subject{Service: test.svc})
		round, todo, err := planned(t, g)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g.Announce(round, todo, plan.Plan{})
		if err := g.Prepare(t.Context(), round, todo); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ids := r.store.Retained.IDs(g.Inputs().Owner.Key()); (len(ids) == 1 && ids[0] == "fip") != test.stays || len(ids) > 1 {
			t.Errorf("%s: retained %q", name, ids)
		}
		if got := r.events(); (got != "") != test.emits {
			t.Errorf("%s: events %s", name, got)
		}
	}
}

// Security groups of another provider stay for its deletion, which needs to know of its load balancer.
func TestRoutedGone_RemovesSecurityGroupsThatAreItsOwn(t *testing.T) {
	t.Parallel()
	made := state.Made{VIP: true, Touched: true}
	entered := state.Made{VIP: true, Touched: true, LoadBalancerID: "lb"}
	for name, test := range map[string]struct {
		svc             *v1.Service
		made            state.Made
		wrote           bool
		removes, forget bool
	}{
		"it asks for the provider":    {by(driver.Router), made, false, true, true},
		"another, and it had a VIP":   {by("amphora"), made, true, true, true},
		"another, and it had none":    {by("amphora"), made, false, false, false},
		"the provider, with Octavia":  {by(driver.Router), entered, false, true, false},
		"another, with VIP and those": {by("amphora"), entered, true, true, false},
	} {
		r := newRig(t, knowing(state.Entry{Made: test.made}))
		status, err := r.NewRoutedGone(Subject{Service: test.svc}).Commit(t.Context(), Round{Wrote: test.wrote}, plan.Plan{}, nil)
		if status != nil || err != nil || r.has("groups-remove") != test.removes || r.store.Get(serviceUID).Made.VIP == test.forget {
			t.Errorf("%s: status %v, error %v, sent %q, known %+v", name, status, err, r.sent, r.store.Get(serviceUID).Made)
		}
	}
	r := newRig(t, knowing(state.Entry{Made: made}), failingAt("groups-remove", errFailed))
	if _, err := r.NewRoutedGone(Subject{Service: by(driver.Router)}).Commit(t.Context(), Round{}, plan.Plan{}, nil); err != errFailed || !r.store.Get(serviceUID).Made.VIP {
		t.Errorf("the groups stay: error %v, known %+v", err, r.store.Get(serviceUID).Made)
	}
	r = newRig(t, knowing(state.Entry{Made: made}))
	if _, err := r.NewRoutedGone(Subject{Service: by(driver.Router, keepsFloatingIP)}).Commit(t.Context(), Round{}, plan.Plan{}, nil); err != nil || !r.store.Get(serviceUID).Made.Touched {
		t.Errorf("a floating IP stays: error %v, known %+v", err, r.store.Get(serviceUID).Made)
	}
	groups, report, err := r.NewRoutedGone(Subject{Service: by(driver.Router)}).Begin(t.Context(), Round{}, plan.Plan{})
	if groups.Task == nil || !groups.Empty() || report.Enabled() || err != nil {
		t.Errorf("a deletion plans security groups: %+v, %+v, error %v", groups, report, err)
	}
}

// The service controller asks whether anything of a Service is left.
func TestRoutedGone_ExistsWhileAnythingIsLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc                    *v1.Service
		rig                    []func(*rig)
		wanted, exists, status bool
	}{
		"wanted":                  {by(driver.Router, routedAddresses), nil, true, true, true},
		"a VIP":                   {by(driver.Router, routedAddresses), []func(*rig){withFloating}, false, true, true},
		"nothing":                 {by(driver.Router, routedAddresses), nil, false, false, false},
		"security groups":         {by(driver.Router, routedAddresses), []func(*rig){func(r *rig) { r.groupsLeft = true }}, false, true, false},
		"a kept floating IP":      {by(driver.Router, keepsFloatingIP), []func(*rig){floatingAt("fip", "203.0.113.7", "")}, false, false, false},
		"a floating IP left over": {by(driver.Router, routedAddresses), []func(*rig){floatingAt("fip", "203.0.113.7", "")}, false, true, true},
	} {
		status, exists, err := newRig(t, test.rig...).NewRoutedGone(Subject{Service: test.svc}).Exists(t.Context(), test.wanted)
		if exists != test.exists || err != nil || len(status.Ingress) > 0 != test.status {
			t.Errorf("%s: exists: %v with %+v, error %v", name, exists, status, err)
		}
	}
}

// After a creation without an answer, the port may appear, or the floating IP.
func TestRoutedGone_SeesACreationThatHasAppeared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc      *v1.Service
		rig      []func(*rig)
		appeared bool
	}{
		"nothing":                         {by(driver.Router), nil, false},
		"a port":                          {by(driver.Router), []func(*rig){vipAt("10.77.0.5")}, true},
		"a port without tags":             {by(driver.Router), []func(*rig){vipAt("10.77.0.5", untagged)}, true},
		"a floating IP alone":             {by(driver.Router), []func(*rig){floatingAt("fip", "203.0.113.7", "")}, false},
		"a floating IP, of forwardings":   {by(driver.PortForwarding), []func(*rig){floatingAt("fip", "203.0.113.7", "")}, true},
		"nothing, of forwardings":         {by(driver.PortForwarding), nil, false},
		"a kept one, of forwardings":      {by(driver.PortForwarding, keepsFloatingIP), []func(*rig){floatingAt("fip", "203.0.113.7", "")}, false},
		"a forwarded port":                {by(driver.PortForwarding), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2")}, true},
		"the port of a VIP, with neither": {by(driver.PortForwarding), []func(*rig){vipAt("10.77.0.5")}, true},
	} {
		appeared, err := newRig(t, test.rig...).NewRoutedGone(Subject{Service: test.svc}).RoutedAppeared(t.Context())
		if appeared != test.appeared || err != nil {
			t.Errorf("%s: appeared: %v, error %v", name, appeared, err)
		}
	}
}

func TestRoutedGone_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc *v1.Service
		rig []func(*rig)
	}{
		"router":          {by(driver.Router, routedAddresses), []func(*rig){withFloating}},
		"nothing":         {by(driver.Router), nil},
		"port-forwarding": {by(driver.PortForwarding, at("203.0.113.9")), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2")}},
	} {
		gone := func(r *rig) *RoutedGone { return r.NewRoutedGone(Subject{Service: test.svc}) }
		assertErrors(t, name+", observe", func(r *rig) error {
			_, _, err := planned(t, gone(r))
			return err
		}, test.rig...)
		assertErrors(t, name+", exists", func(r *rig) error {
			status, exists, err := gone(r).Exists(t.Context(), false)
			if err != nil && (exists || status != nil && len(status.Ingress) > 0) {
				t.Errorf("%s: after an error it exists with %+v", name, status)
			}
			return err
		}, test.rig...)
		assertErrors(t, name+", appeared", func(r *rig) error {
			appeared, err := gone(r).RoutedAppeared(t.Context())
			if err != nil && appeared {
				t.Errorf("%s: after an error it has appeared", name)
			}
			return err
		}, test.rig...)
	}
}
