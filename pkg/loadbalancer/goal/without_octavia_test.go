package goal

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestNewRouted_RefusesWhatTheClusterCannotServe(t *testing.T) {
	t.Parallel()
	unreadable := func(r *rig) { r.watch = settings.Unreadable }
	unidentified := func(r *rig) { r.Cluster.ID = "" }
	onlyIPv4 := func(r *rig) {
		for _, node := range r.nodes {
			node.Status.Addresses = node.Status.Addresses[:1]
		}
	}
	local := func(svc *v1.Service) { fixture.Local(svc); svc.Annotations[annotation.Monitor] = "false" }
	for name, test := range map[string]struct {
		svc    *v1.Service
		rig    []func(*rig)
		engine func(*rig)
		words  string // of the error
		kept   string // of that of a refused one
	}{
		"served":                             {by(driver.Router), nil, nil, "", ""},
		"no network of VIPs":                 {by(driver.Router), []func(*rig){noPool}, nil, annotation.Provider + "]: the provider router needs router-vip-network-id", ""},
		"no network, forwarded":              {by(driver.PortForwarding), []func(*rig){noPool}, nil, "", ""},
		"an unusable network":                {by(driver.Router), []func(*rig){noSubnets}, nil, "has 0 subnets", ""},
		"a cluster without an identity":      {by(driver.Router), nil, unidentified, "the provider router needs the right to read the namespace kube-system", "the provider router needs the right"},
		"the same, forwarded":                {by(driver.PortForwarding), nil, unidentified, "the provider port-forwarding needs the right", "the provider port-forwarding needs the right"},
		"an invalid setting":                 {by(driver.Router, fixture.Annotated(annotation.MaxMembers, "x")), nil, nil, annotation.MaxMembers, ""},
		"endpoints that cannot be read":      {by(driver.Router, local), []func(*rig){unreadable}, nil, errUnread.Error(), errUnread.Error()},
		"no nodes of its IP family":          {by(driver.Router, fixture.Families(v1.IPv6Protocol)), []func(*rig){onlyIPv4}, nil, "IPv6", "IPv6"},
		"the load balancer of before":        {by(driver.Router, fixture.Annotated(annotation.LoadBalancerID, "lb"), fixture.Annotated(annotation.WrittenFor, annotation.WrittenForText("lb", serviceUID, ""))), nil, nil, "", ""},
		"one of two IP families is selected": {by(driver.Router, fixture.Families(v1.IPv4Protocol, v1.IPv6Protocol)), nil, nil, "", ""},
	} {
		r := newRig(t, test.rig...)
		if test.engine != nil {
			test.engine(r)
		}
		g, err := r.NewRouted(t.Context(), r.of(test.svc).subject(), false)
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		provider := test.svc.Annotations[annotation.Provider]
		if _, forwards := g.(*Forwarded); err == nil && (forwards != (provider == driver.PortForwarding) || g.Inputs().Settings.LoadBalancer.ID != "" || g.Inputs().Settings.Second != "" || len(g.Inputs().Members.Backends) != 2) {
			t.Errorf("%s: %T with %+v", name, g, g.Inputs().Settings.LoadBalancer)
		}
		g, err = r.NewRoutedKept(t.Context(), r.of(test.svc).subject(), provider, Limits{})
		if (err == nil) != (test.kept == "") || err != nil && !strings.Contains(err.Error(), test.kept) {
			t.Errorf("%s, refused: %v", name, err)
		}
		if err == nil && (g.Inputs().Settings.LoadBalancer.Provider != provider || g.Owner(Round{}) != rigIdentity()) {
			t.Errorf("%s, refused: %+v", name, g.Inputs())
		}
	}
}

// Users learn of misspelled settings, unless the settings are those of before.
func TestNewRouted_WarnsOfSettingsThatAreIgnored(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		r := newRig(t)
		subject := r.of(by(driver.Router, fixture.Annotated(annotation.Prefix+"nonsense", "1"))).subject()
		subject.Nodes = append(subject.Nodes, fixture.Node("node-6", "fd00::1"))
		if _, err := r.NewRouted(t.Context(), subject, quiet); err != nil {
			t.Fatal(err)
		}
		if got := r.events(); strings.Contains(got, "nonsense") == quiet || !strings.Contains(got, "no IPv4 address: node-6") {
			t.Errorf("quiet %v: %s", quiet, got)
		}
	}
}

// committed is the result of a round without steps to apply.
func committed(t *testing.T, r *rig, svc *v1.Service) *v1.LoadBalancerStatus {
	t.Helper()
	g := r.of(svc).route()
	round, todo, err := planned(t, g)
	if err != nil || !todo.Empty() {
		t.Fatalf("%s, error %v", inLine(todo), err)
	}
	round.Groups.Task = r.task
	status, err := g.Commit(t.Context(), round, plan.Plan{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// While nothing has changed, a round sends no request for the state of the Service.
func TestRecall_ReturnsWhatWasAppliedUnlessItMustBeRead(t *testing.T) {
	t.Parallel()
	forwarded := at("203.0.113.9")
	moved := func(nodes []*v1.Node) { nodes[0].Spec.ProviderID = "openstack:///" + serverAt("10.0.0.99") }
	left := func(nodes []*v1.Node) { nodes[0].Status.Addresses[0].Address = "10.0.0.3" }
	for name, test := range map[string]struct {
		before, now *v1.Service
		nodes       func([]*v1.Node)
		entry       func(*state.Entry)
		want        string // status, change, or nothing
	}{
		"unchanged":                      {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses), nil, nil, "status"},
		"unchanged, forwarded":           {by(driver.PortForwarding, forwarded), by(driver.PortForwarding, forwarded), nil, nil, "status"},
		"its node has left":              {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses), left, nil, "change"},
		"its node was rebuilt":           {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses), moved, nil, "status"},
		"its node was rebuilt, forwards": {by(driver.PortForwarding, forwarded), by(driver.PortForwarding, forwarded), moved, nil, ""},
		"another provider":               {by(driver.Router, routedAddresses), by(driver.PortForwarding, forwarded), nil, nil, ""},
		"it becomes internal":            {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses, internalOne), nil, nil, ""},
		"it wants another floating IP":   {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses, loadBalancerIP("203.0.113.8")), nil, nil, ""},
		"begun in Octavia":               {by(driver.Router, routedAddresses), by(driver.Router, routedAddresses), nil, func(e *state.Entry) { e.Made.LoadBalancerID = "lb" }, ""},
	} {
		r := newRig(t, withFloating, forwardedAt("f", "203.0.113.9", "10.0.0.1"))
		for _, svc := range []*v1.Service{test.before, test.now} {
			svc.Annotations[annotation.ClientData] = "1000" // has no effect, which the round reports
		}
		if test.before.Annotations[annotation.Provider] == driver.Router {
			r.forwarded, r.floatingIPs = nil, r.floatingIPs[:1]
		} else {
			r.vips = nil
		}
		committed(t, r, test.before)
		if test.entry != nil {
			r.store.Update(serviceUID, test.entry)
		}
		subject := r.of(test.now).subject()
		subject.Nodes = subject.Nodes[:1]
		if test.nodes != nil {
			test.nodes(subject.Nodes)
		}
		g, err := r.NewRouted(t.Context(), subject, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.prepare(func() { r.events() })
		known, err := g.Recall(t.Context(), nil)
		got := ""
		switch {
		case known.Status != nil:
			got = "status"
		case known.Have.Observed != nil && known.Want != nil && known.Have.Confirmed:
			got = "change"
		}
		if got != test.want || err != nil || strings.Contains(strings.Join(r.sent, " "), "vips") || strings.Contains(r.events(), "timeout-client-data") != (got == "status") {
			t.Errorf("%s: %q, error %v, sent %q, want %q", name, got, err, r.sent, test.want)
		}
	}
}

// A setting is refused also where the last state is known.
func TestRecall_ReturnsTheRefusal(t *testing.T) {
	t.Parallel()
	r := newRig(t, withFloating)
	committed(t, r, by(driver.Router, routedAddresses))
	var invalid *message.InvalidError
	if known, err := r.of(by(driver.Router, routedAddresses, fixture.Local)).route().Recall(t.Context(), nil); !errors.As(err, &invalid) || known.Status != nil || known.Have.Observed != nil {
		t.Errorf("%+v, error %v", known, err)
	}
}

// A load balancer in Octavia is left only if the Service certainly has it, and may leave it.
func TestOutgoing_IsTheLoadBalancerThatTheServiceLeaves(t *testing.T) {
	t.Parallel()
	begun := knowing(state.Entry{Made: state.Made{LoadBalancerID: "lb", Touched: true}})
	noOctavia := auth.ErrNoEndpoint{Service: "load-balancer"}
	hostname := func(svc *v1.Service) {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "10.0.0.100.nip.io"}}
	}
	unproven := func(lb *octavia.LoadBalancer) { lb.Tags = nil }
	for name, test := range map[string]struct {
		svc    *v1.Service
		served bool
		rig    []func(*rig)
		want   string // the load balancer, or words of the refusal after "!"
		reads  bool
	}{
		"never served":                         {by(driver.Router), false, []func(*rig){balancer("lb")}, "", false},
		"never served, older":                  {by(driver.Router, old), false, []func(*rig){balancer("lb")}, "lb", true},
		"never served, begun":                  {by(driver.Router), false, []func(*rig){balancer("lb"), begun}, "lb", true},
		"never served, nothing there":          {by(driver.Router, old), false, nil, "", true},
		"served":                               {by(driver.Router, at("10.77.0.5"), old), true, []func(*rig){balancer("lb")}, "", false},
		"served, begun":                        {by(driver.Router, at("10.77.0.5")), true, []func(*rig){balancer("lb"), begun}, "lb", true},
		"served elsewhere":                     {by(driver.Router, at("10.0.0.100")), false, []func(*rig){balancer("lb")}, "!has a load balancer of another provider", true},
		"served elsewhere, permitted":          {by(driver.Router, at("10.0.0.100"), replaceable), false, []func(*rig){balancer("lb")}, "lb", true},
		"served elsewhere, nothing there":      {by(driver.Router, at("10.0.0.100")), false, nil, "", true},
		"served elsewhere, without Octavia":    {by(driver.Router, at("10.0.0.100")), false, []func(*rig){failingAt("version", noOctavia)}, "", true},
		"the same, known later":                {by(driver.Router, at("10.0.0.100")), false, []func(*rig){failingAt("load-balancers", noOctavia)}, "", true},
		"begun, and others use it":             {by(driver.Router, at("10.77.0.5")), true, []func(*rig){balancer("lb"), listenerOn("lb", false), begun}, "!that others use, or several", true},
		"several":                              {by(driver.Router, old), false, []func(*rig){balancer("lb"), balancer("lb-2")}, "!that others use, or several", true},
		"one of its name, of an unclear owner": {by(driver.Router, hostname, replaceable), false, []func(*rig){balancer("lb", unproven)}, "", true},
	} {
		r := newRig(t, test.rig...)
		g := &withoutOctavia{Engine: r.Engine, in: r.of(test.svc).route().Inputs()}
		r.sent = nil
		lb, err := g.outgoing(t.Context(), test.served, new(async.Guard))
		words, refused := strings.CutPrefix(test.want, "!")
		got := ""
		if lb != nil {
			got = lb.ID
		}
		var refusal *lookup.Error
		if errors.As(err, &refusal) != refused || refused && (!strings.Contains(err.Error(), words) || lb != nil) || !refused && (got != test.want || err != nil) || len(r.sent) > 0 != test.reads {
			t.Errorf("%s: %q, error %v, sent %q, want %q", name, got, err, r.sent, test.want)
		}
	}
	assertErrors(t, "outgoing", func(r *rig) error {
		var g *withoutOctavia
		r.prepare(func() { g = &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, old)).route().Inputs()} })
		lb, err := g.outgoing(t.Context(), false, new(async.Guard))
		if err != nil && lb != nil {
			t.Errorf("%+v beside the error", lb)
		}
		return err
	}, balancer("lb"))
}

// A refused Service gets no packets at nodes where its source ranges would not be enforced.
func TestNewRoutedKept_LeavesOutNodesThatEarlierAttemptsHaveFound(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{driver.Router, driver.PortForwarding} { // which serves a Service that requests another one
		r := newRig(t).of(by("amphora"))
		g, err := r.NewRoutedKept(t.Context(), r.subject(), provider, Limits{Without: []string{"node-1"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, forwards := g.(*Forwarded); forwards != (provider == driver.PortForwarding) || g.Inputs().Settings.LoadBalancer.Provider != provider {
			t.Errorf("%s: served by %T", provider, g)
		}
		if all := g.Inputs().Members.Backends; len(all) != 1 || all[0].Node.Name != "node-2" || len(g.Inputs().Nodes) != 2 {
			t.Errorf("%s: %+v", provider, all)
		}
	}
}
