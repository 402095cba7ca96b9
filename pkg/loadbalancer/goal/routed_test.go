package goal

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// inLine returns the steps of a plan in one line.
func inLine(p plan.Plan) string { return strings.ReplaceAll(strings.TrimSpace(p.String()), "\n", "; ") }

// withFloating is a VIP of the Service with a floating IP of its own.
func withFloating(r *rig) {
	vipAt("10.77.0.5")(r)
	floatingAt("fip", "203.0.113.7", "port-10.77.0.5")(r)
}

var (
	routedAddresses = at("203.0.113.7", "10.77.0.5")
	replaceable     = fixture.Annotated(annotation.AllowReplace, "true")
	internalOne     = fixture.Annotated(annotation.Internal, "true")
)

func TestRouted_PlansFromWhatNeutronAndOctaviaHave(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc  *v1.Service
		rig  []func(*rig)
		want string // the steps, or words of the refusal after "!"
	}{
		"nothing there":     {by(driver.Router), nil, "VIP: create in subnet vips; VIP made last: next hops [] → [10.0.0.1]; floating IP: create on network public"},
		"as desired":        {by(driver.Router, routedAddresses), []func(*rig){withFloating}, ""},
		"a port was barred": {by(driver.Router, routedAddresses), []func(*rig){withFloating, func(r *rig) { r.barred = true }}, "VIP 10.77.0.5: next hops [10.0.0.1] → [10.0.0.1], address pairs on the ports of [10.0.0.1]"},
		"its route is gone": {by(driver.Router, routedAddresses), []func(*rig){withFloating, func(r *rig) { r.routes = nil }}, "VIP 10.77.0.5: next hops [] → [10.0.0.1]"},
		"its node has left": {by(driver.Router, routedAddresses), []func(*rig){withFloating, func(r *rig) { r.routes[0].NextHop = "10.0.0.99" }}, "VIP 10.77.0.5: next hops [10.0.0.99] → [10.0.0.1], address pairs on the ports of [10.0.0.99]"},
		"becomes internal":  {by(driver.Router, routedAddresses, internalOne), []func(*rig){withFloating}, "floating IP 203.0.113.7: delete"},
		"a deleted port":    {by(driver.Router, at("10.77.0.5"), internalOne), nil, "VIP 10.77.0.5: create in subnet vips; VIP made last: next hops [] → [10.0.0.1]"},
		"two VIPs":          {by(driver.Router, routedAddresses), []func(*rig){withFloating, vipAt("10.77.0.6")}, "VIP 10.77.0.6: next hops [10.0.0.1] → []; VIP 10.77.0.6 (port port-10.77.0.6): delete"},
		"forwardings":       {by(driver.Router, at("203.0.113.9")), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2")}, "!load balancer of provider port-forwarding"},
		"forwardings, permitted": {by(driver.Router, at("203.0.113.9"), replaceable), []func(*rig){forwardedAt("f", "203.0.113.9", "10.0.0.2")},
			"VIP: create in subnet vips; VIP made last: next hops [] → [10.0.0.1]; floating IP 203.0.113.9: forwarded ports [TCP/80 to 10.0.0.2:30080] → []; floating IP 203.0.113.9: associate"},
		"served elsewhere":            {by(driver.Router, at("10.0.0.100")), nil, "!load balancer of another provider"},
		"served elsewhere, permitted": {by(driver.Router, at("10.0.0.100"), replaceable, internalOne), []func(*rig){balancer("lb")}, "VIP: create in subnet vips; VIP made last: next hops [] → [10.0.0.1]; load balancer kube_service_rig_default_web (lb): delete: the Service has a VIP of provider router"},
		"others use it":               {by(driver.Router, at("10.0.0.100"), replaceable, internalOne), []func(*rig){balancer("lb"), listenerOn("lb", false)}, "!load balancer that others use, or several"},
		"a VIP in a network of before": {by(driver.Router, at("10.78.0.5"), internalOne), []func(*rig){vipAt("10.78.0.5", func(port *neutron.VIPPort) {
			port.FixedIPs[0].SubnetID, port.NetworkID = "old-vips", "old-net"
		})}, ""},
		"another address is requested":   {by(driver.Router, at("10.77.0.5"), internalOne, loadBalancerIP("10.77.0.9")), []func(*rig){vipAt("10.77.0.5")}, "!the VIP 10.77.0.5 cannot become 10.77.0.9"},
		"the address is requested":       {by(driver.Router, at("10.77.0.5"), internalOne, loadBalancerIP("10.77.0.5")), []func(*rig){vipAt("10.77.0.5")}, ""},
		"a new address is requested":     {by(driver.Router, internalOne, loadBalancerIP("10.77.0.9")), nil, "VIP 10.77.0.9: create in subnet vips; VIP 10.77.0.9: next hops [] → [10.0.0.1]"},
		"a floating address":             {by(driver.Router, loadBalancerIP("203.0.113.7")), []func(*rig){floatingAt("given", "203.0.113.7", "", describedAs(""))}, "VIP: create in subnet vips; VIP made last: next hops [] → [10.0.0.1]; floating IP 203.0.113.7: associate"},
		"a floating IP left over":        {by(driver.Router, routedAddresses, internalOne), []func(*rig){vipAt("10.77.0.5"), floatingAt("left", "203.0.113.7", "")}, "floating IP 203.0.113.7: delete"},
		"no node behind the router":      {by(driver.Router, fixture.Annotated(annotation.NodeSelector, "kubernetes.io/hostname=node-unfit")), nil, "!no next hop: the router of the VIPs, r1"},
		"a setting that it cannot serve": {by(driver.Router, fixture.Local), nil, "!externalTrafficPolicy Local needs health monitors"},
	} {
		r := newRig(t, test.rig...)
		subject := r.of(test.svc).subject()
		subject.Nodes = append(subject.Nodes, fixture.Node("node-unfit", "10.9.0.5"))
		g, err := r.NewRouted(t.Context(), subject, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		round, todo, err := planned(t, g)
		words, refused := strings.CutPrefix(test.want, "!")
		switch {
		case err == nil && round.Want.LoadBalancer.FloatingIP != nil && round.Want.LoadBalancer.FloatingIP.Description != rigIdentity().FloatingIPs().Description():
			t.Errorf("%s: nothing would prove the floating IP: %+v", name, round.Want.LoadBalancer.FloatingIP)
		case refused && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%s: error %v, want %q; plan %s", name, err, words, inLine(todo))
		case !refused && (err != nil || inLine(todo) != test.want):
			t.Errorf("%s:\n%s\nwant\n%s\nerror %v", name, inLine(todo), test.want, err)
		}
		if lb := round.Have.LoadBalancer; err == nil && lb != nil && (round.Want.LoadBalancer.VIP.Address != lb.VIP.Address || r.has("next-hops") != (len(lb.NextHops) > 0)) {
			t.Errorf("%s: wants %+v of %+v, sent %q", name, round.Want.LoadBalancer, lb, r.sent)
		}
	}
}

// A refused Service keeps VIP and floating IP. Its next hops follow the nodes.
func TestRouted_KeepsTheVIPOfARefusedService(t *testing.T) {
	t.Parallel()
	refused := by(driver.Router, routedAddresses, internalOne, fixture.Annotated(annotation.NodeSelector, "!!"))
	for name, test := range map[string]struct {
		rig  []func(*rig)
		want string
	}{
		"as it is":          {[]func(*rig){withFloating}, ""},
		"its node has left": {[]func(*rig){withFloating, func(r *rig) { r.routes[0].NextHop = "10.0.0.99" }}, "VIP 10.77.0.5: next hops [10.0.0.99] → [10.0.0.1], address pairs on the ports of [10.0.0.99]"},
		"beside Octavia":    {[]func(*rig){withFloating, balancer("lb"), forwardedAt("f", "203.0.113.9", "10.0.0.2")}, ""},
	} {
		r := newRig(t, test.rig...)
		g := r.of(refused).keepRouted(driver.Router)
		round, todo, err := planned(t, g)
		if err != nil || inLine(todo) != test.want || round.Want.LoadBalancer.FloatingIP == nil {
			t.Errorf("%s: %s, error %v; wants %+v", name, inLine(todo), err, round.Want)
		}
		if r.has("load-balancers") || r.has("forwarded-ips") || g.Prepare(t.Context(), round, todo) != nil {
			t.Errorf("%s: sent %q", name, r.sent)
		}
	}
	if _, err := newRig(t).of(refused).keepRouted(driver.Router).Observe(t.Context(), new(async.Guard)); !errors.Is(err, refusal.ErrNothingKept) {
		t.Errorf("without a VIP: %v", err)
	}
}

func TestRouted_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	round := func(svc *v1.Service) func(*rig) error {
		return func(r *rig) error {
			g, err := r.NewRouted(t.Context(), r.of(svc).subject(), false)
			if err != nil {
				return err
			}
			_, _, err = planned(t, g)
			return err
		}
	}
	assertErrors(t, "a new Service", round(by(driver.Router)), balancer("lb"), knowing(state.Entry{Made: state.Made{LoadBalancerID: "lb", Touched: true}}))
	assertErrors(t, "a served one", round(by(driver.Router, routedAddresses)), withFloating)
	assertErrors(t, "from Octavia", round(by(driver.Router, at("10.0.0.100"), replaceable)), balancer("lb"))
	assertErrors(t, "from forwardings", round(by(driver.Router, at("203.0.113.9"), replaceable)), forwardedAt("f", "203.0.113.9", "10.0.0.2"))
	assertErrors(t, "a refused one", func(r *rig) error {
		g, err := r.NewRoutedKept(t.Context(), r.of(by(driver.Router, routedAddresses)).subject(), driver.Router, Limits{})
		if err != nil {
			return err
		}
		_, _, err = planned(t, g)
		return err
	}, withFloating)
	assertErrors(t, "the first lists", func(r *rig) error {
		var g Goal
		r.prepare(func() { g = r.of(by(driver.Router, routedAddresses)).route() })
		known, err := g.Recall(t.Context(), nil)
		if err != nil && known.Have.Observed != nil {
			t.Errorf("an observation beside the error: %+v", known)
		}
		return err
	}, withFloating)
}

// The first lists of the process show a served VIP as it is, so that a start costs a few requests for all Services.
func TestRouted_RecallsTheFirstListsOfAServedVIP(t *testing.T) {
	t.Parallel()
	served := by(driver.Router, routedAddresses)
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		known string // the VIP and its floating IP, "" for none
	}{
		"a VIP with a floating IP":  {served, []func(*rig){withFloating}, "port-10.77.0.5 fip"},
		"a VIP alone":               {by(driver.Router, at("10.77.0.5")), []func(*rig){vipAt("10.77.0.5")}, "port-10.77.0.5"},
		"a floating IP of a user":   {by(driver.Router, at("10.77.0.5")), []func(*rig){vipAt("10.77.0.5"), floatingAt("users", "203.0.113.7", "port-10.77.0.5", describedAs("(uid service-uid)"))}, "port-10.77.0.5"},
		"one left over":             {by(driver.Router, at("10.77.0.5")), []func(*rig){vipAt("10.77.0.5"), floatingAt("left", "203.0.113.7", "")}, ""},
		"one of two, one left over": {served, []func(*rig){withFloating, floatingAt("left", "203.0.113.8", "")}, ""},
		"two VIPs":                  {served, []func(*rig){withFloating, vipAt("10.77.0.6")}, ""},
		"no VIP":                    {served, nil, ""},
		"another is published":      {by(driver.Router, at("10.77.0.6")), []func(*rig){vipAt("10.77.0.5")}, ""},
		"never served":              {by(driver.Router), []func(*rig){vipAt("10.77.0.5")}, ""},
		"one is requested":          {by(driver.Router, routedAddresses, loadBalancerIP("203.0.113.7")), []func(*rig){withFloating}, ""},
		"changed by this process":   {served, []func(*rig){withFloating, knowing(touched())}, ""},
		"begun in Octavia":          {served, []func(*rig){withFloating, knowing(state.Entry{Made: state.Made{LoadBalancerID: "lb"}})}, ""},
	} {
		r := newRig(t, test.rig...)
		known, err := r.of(test.svc).route().Recall(t.Context(), nil)
		got := ""
		if known.Have.Observed != nil {
			lb := known.Have.LoadBalancer
			if got = lb.ID; lb.FloatingIP != nil {
				got += " " + lb.FloatingIP.ID
				if !lb.FloatingIP.Owned || lb.FloatingIP.Address != "203.0.113.7" || lb.FloatingIP.PortID != lb.VIP.PortID {
					t.Errorf("%s: %+v", name, lb.FloatingIP)
				}
			}
			if known.Have.Source != model.Lists || known.Have.Confirmed || known.Have.As != rigIdentity() {
				t.Errorf("%s: %+v", name, known.Have)
			}
		}
		if got != test.known || err != nil {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, test.known)
		}
	}
}

// Routes are limited: a plan that adds one is refused before its first step.
func TestRouted_RefusesAPlanThatTheRouterHasNoRoomFor(t *testing.T) {
	t.Parallel()
	routesOf := func(n int) func(*rig) {
		return func(r *rig) {
			for range n {
				r.routes = append(r.routes, neutron.ExtraRoute{Destination: "10.99.0.0/24", NextHop: "10.0.0.99"})
			}
		}
	}
	unlimited := func(r *rig) { r.conf.LoadBalancer.RouterMaxRoutes = 0 }
	one := func(r *rig) { r.conf.LoadBalancer.RouterMaxRoutes = 1 }
	for name, test := range map[string]struct {
		svc   *v1.Service
		rig   []func(*rig)
		words string
	}{
		"the last one":             {by(driver.Router), []func(*rig){routesOf(4)}, ""},
		"one too many":             {by(driver.Router), []func(*rig){routesOf(5)}, "router r1 has 5 routes, and router-max-routes of cloud.conf allows 5"},
		"a limit of one, none yet": {by(driver.Router), []func(*rig){one}, ""},
		"a limit of one, one":      {by(driver.Router), []func(*rig){one, routesOf(1)}, "router r1 has 1 routes"},
		"no limit":                 {by(driver.Router), []func(*rig){routesOf(9), unlimited}, ""},
		"a VIP that exists":        {by(driver.Router, routedAddresses), []func(*rig){withFloating, routesOf(9)}, ""},
	} {
		g := newRig(t, test.rig...).of(test.svc).route()
		round, todo, err := planned(t, g)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := g.Prepare(t.Context(), round, todo); (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	assertErrors(t, "prepare", func(r *rig) error {
		var g Goal
		var round Round
		var todo plan.Plan
		r.prepare(func() {
			g = r.of(by(driver.Router)).route()
			round, todo, _ = planned(t, g)
		})
		return g.Prepare(t.Context(), round, todo)
	})
}

// While no endpoint is ready, no next hop is added.
func TestNextHops_AreNotAddedWithoutEndpoints(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.conf.LoadBalancer.RouterNextHops = 2 })
	g := r.of(by(driver.Router)).route().(*Routed)
	want, err := g.desired(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		held    bool
		present []string
		hops    string
	}{
		"ready, none present":     {false, nil, "10.0.0.1 10.0.0.2"},
		"ready, one present":      {false, []string{"10.0.0.2"}, "10.0.0.1 10.0.0.2"},
		"not ready, none present": {true, nil, "10.0.0.1 10.0.0.2"},
		"not ready, one present":  {true, []string{"10.0.0.2"}, "10.0.0.2"},
		"not ready, both present": {true, []string{"10.0.0.1", "10.0.0.2"}, "10.0.0.1 10.0.0.2"},
		"not ready, many present": {true, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, "10.0.0.1 10.0.0.2"},
	} {
		for i := range want.Followed.Ports {
			want.Followed.Ports[i].Held = test.held
		}
		hops, err := g.nextHops(want, &model.LoadBalancer{NextHops: test.present})
		if strings.Join(hops, " ") != test.hops || err != nil {
			t.Errorf("%s: %q, error %v", name, hops, err)
		}
	}
	if hops, err := g.nextHops(&Desired{}, nil); len(hops) > 0 || err != nil {
		t.Errorf("without nodes: %q, error %v", hops, err)
	}
}

// Users learn which nodes can be no next hop, and why there is no floating IP.
func TestRouted_AnnouncesUnfitNodesAndSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	timeout := fixture.Annotated(annotation.ClientData, "1000")
	for _, quiet := range []bool{false, true} {
		r := newRig(t)
		subject := r.of(by(driver.Router, timeout)).subject()
		subject.Nodes = append(subject.Nodes, fixture.Node("node-unfit", "10.9.0.5"))
		g, err := r.NewRouted(t.Context(), subject, quiet)
		if err != nil {
			t.Fatal(err)
		}
		round, todo, err := planned(t, g)
		if err != nil {
			t.Fatal(err)
		}
		round.Groups.Task = r.task
		r.events()
		g.Announce(round, todo, plan.Plan{})
		got := r.events()
		if strings.Contains(got, "timeout-client-data") == quiet || !strings.Contains(got, "no next hop: the router of the VIPs, r1") || !strings.Contains(got, ": node-unfit") || strings.Contains(got, "node-1") || !strings.Contains(got, "VIP: create in subnet vips") {
			t.Errorf("quiet %v: %s", quiet, got)
		}
	}
}
