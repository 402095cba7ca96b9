package goal

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
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
	others := func(r *rig) {
		r.listeners = append(r.listeners, octavia.Listener{ID: "listener", Name: "another's", Protocol: "TCP", Port: 99, LoadBalancers: []octavia.ObjectID{{ID: "lb"}}, ProvisioningStatus: model.StatusActive})
	}
	held := func(lb *octavia.LoadBalancer) { lb.Listeners = []octavia.Listener{{ID: "listener"}} }
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
		"never served":                            {by(driver.Router), false, []func(*rig){balancer("lb")}, "", false},
		"never served, older":                     {by(driver.Router, old), false, []func(*rig){balancer("lb")}, "lb", true},
		"never served, begun":                     {by(driver.Router), false, []func(*rig){balancer("lb"), begun}, "lb", true},
		"never served, nothing there":             {by(driver.Router, old), false, nil, "", true},
		"served":                                  {by(driver.Router, at("10.77.0.5"), old), true, []func(*rig){balancer("lb")}, "", false},
		"served, begun":                           {by(driver.Router, at("10.77.0.5")), true, []func(*rig){balancer("lb"), begun}, "lb", true},
		"served elsewhere":                        {by(driver.Router, at("10.0.0.100")), false, []func(*rig){balancer("lb")}, "!has a load balancer of another provider", true},
		"served elsewhere, permitted":             {by(driver.Router, at("10.0.0.100"), replaceable), false, []func(*rig){balancer("lb")}, "lb", true},
		"served elsewhere, nothing there":         {by(driver.Router, at("10.0.0.100")), false, nil, "", true},
		"served elsewhere, without Octavia":       {by(driver.Router, at("10.0.0.100")), false, []func(*rig){failingAt("version", noOctavia)}, "", true},
		"the same, known later":                   {by(driver.Router, at("10.0.0.100")), false, []func(*rig){failingAt("load-balancers", noOctavia)}, "", true},
		"begun, and others use it":                {by(driver.Router, at("10.77.0.5")), true, []func(*rig){balancer("lb", held), others, begun}, "!that others use, or several", true},
		"several":                                 {by(driver.Router, old), false, []func(*rig){balancer("lb"), balancer("lb-2")}, "!that others use, or several", true},
		"one of its name, whose owner is unclear": {by(driver.Router, hostname, replaceable), false, []func(*rig){balancer("lb", unproven)}, "", true},
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

// The security groups of the nodes are planned for the clients of the Service; those of a refused one stay.
func TestBegin_PlansTheSecurityGroupsOfClients(t *testing.T) {
	t.Parallel()
	lists := model.Knowledge{Source: model.Lists}
	for name, test := range map[string]struct {
		svc     *v1.Service
		rig     []func(*rig)
		recall  bool
		have    model.Knowledge
		before  bool
		planned bool // a specification
	}{
		"managed":                          {by(driver.Router, routedAddresses), []func(*rig){managed}, true, model.Knowledge{}, true, true},
		"managed, never served":            {by(driver.Router), []func(*rig){managed}, false, model.Knowledge{}, false, true},
		"not managed":                      {by(driver.Router, routedAddresses), nil, false, model.Knowledge{}, true, false},
		"not managed, known":               {by(driver.Router, routedAddresses), nil, true, model.Knowledge{}, false, false},
		"not managed, known by lists":      {by(driver.Router, routedAddresses), nil, true, lists, true, false},
		"not managed, never served":        {by(driver.Router), nil, false, model.Knowledge{}, false, false},
		"not managed, never served, lists": {by(driver.Router), nil, true, lists, false, false},
	} {
		r := newRig(t, append(test.rig, withFloating)...)
		current := func() bool { return true }
		subject := r.of(test.svc).subject()
		subject.NodesCurrent = current
		for _, goalOf := range []func() (Goal, error){
			func() (Goal, error) { return r.NewRouted(t.Context(), subject, false) },
			func() (Goal, error) { return r.NewRoutedKept(t.Context(), subject, driver.Router, Limits{}) },
		} {
			g, err := goalOf()
			if err != nil {
				t.Fatal(err)
			}
			round, todo, err := planned(t, g)
			if err != nil {
				t.Fatal(err)
			}
			round.Recalled, round.Have.Knowledge = test.recall, test.have
			groups, _, err := g.Begin(t.Context(), round, todo)
			asked := r.planned[len(r.planned)-1]
			kept := g.(*Routed).unread != nil
			if err != nil || groups.Task != r.task || groups.VIPSubnet != "vips" || asked.VIPSubnet != "vips" || asked.ID != rigIdentity() || asked.NodesCurrent == nil {
				t.Errorf("%s: %+v, error %v", name, asked, err)
			}
			if asked.Before != test.before || (asked.Spec != nil) != test.planned || asked.Kept != kept || asked.Unread {
				t.Errorf("%s, kept %v: %+v", name, kept, asked)
			}
		}
	}
	r := newRig(t, withFloating, managed)
	g := r.of(by(driver.Router, routedAddresses, ranges("nonsense"))).keepRouted(driver.Router)
	round, todo, err := planned(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Begin(t.Context(), round, todo); err != nil || !r.planned[0].Unread {
		t.Errorf("invalid source ranges are taken for those of the clients: %+v, error %v", r.planned[0], err)
	}
	r.fails["groups-plan"] = errFailed
	if groups, _, err := g.Begin(t.Context(), round, todo); err != errFailed || groups.Task != nil {
		t.Errorf("%+v, error %v", groups, err)
	}
}

// With drift-policy=report, a change by another client stays while the Service asks for the same.
func TestReported_IsWhatWouldRevertAnotherClient(t *testing.T) {
	t.Parallel()
	reports := func(r *rig) { r.conf.LoadBalancer.DriftPolicy = "report" }
	repairs := func(r *rig) { r.conf.LoadBalancer.DriftPolicy = "repair" }
	step := plan.Plan{Steps: []plan.Step{plan.LeadVIP{Address: "10.77.0.5"}}}
	opens := &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "group"}}}}
	for name, test := range map[string]struct {
		policy func(*rig)
		before *state.Routed
		todo   plan.Plan
		groups *securitygroup.Task
		all    bool
	}{
		"changed by another client":         {reports, &state.Routed{Digest: "same"}, step, &securitygroup.Task{}, true},
		"security groups were changed":      {reports, &state.Routed{Digest: "same"}, plan.Plan{}, opens, true},
		"nothing is left of it":             {reports, &state.Routed{Digest: "same"}, plan.Plan{}, &securitygroup.Task{}, false},
		"changed by the Service as well":    {reports, &state.Routed{Digest: "other"}, step, opens, false},
		"nothing has changed":               {reports, nil, step, opens, false},
		"changes of others are reverted":    {repairs, &state.Routed{Digest: "same"}, step, opens, false},
		"the same, with security groups":    {repairs, &state.Routed{Digest: "same"}, plan.Plan{}, opens, false},
		"another digest, and nothing to do": {reports, &state.Routed{Digest: "other"}, plan.Plan{}, &securitygroup.Task{}, false},
	} {
		r := newRig(t, test.policy)
		g := &withoutOctavia{Engine: r.Engine, in: Inputs{Drift: state.Drift{Routed: test.before}}}
		if got := g.reported(Round{Want: &Desired{digest: "same"}}, test.todo, test.groups); got.All() != test.all {
			t.Errorf("%s: all is reported: %v", name, got.All())
		}
	}
}

// Each change is announced once: as one of the Service, as one that reverts another client's, or as one that is left.
func TestAnnounce_TellsWhoseChangesTheseAre(t *testing.T) {
	t.Parallel()
	step := plan.Plan{Steps: []plan.Step{plan.DeleteVIP{PortID: "port", Address: "10.77.0.9"}}}
	opens := &securitygroup.Task{Plan: securitygroup.Plan{Open: []securitygroup.Step{securitygroup.AddRules{Name: "group"}}}, Unfound: []string{"node-2"}}
	reported := plan.NewReport(plan.Applied{Same: true}, true)
	for name, test := range map[string]struct {
		change  string // by another client
		report  plan.Report
		want    []string
		without string
	}{
		"its own":                   {"", plan.Report{}, []string{"ChangingLoadBalancer VIP 10.77.0.9", "ChangingLoadBalancer security group"}, "another client"},
		"it reverts another client": {"the route is gone", plan.Report{}, []string{"ChangingLoadBalancer VIP 10.77.0.9", "Changed by another client: the route is gone. It is being reverted"}, "left as it is"},
		"it is left":                {"the route is gone", reported, []string{"would revert it (actual → desired): VIP 10.77.0.9", "would revert it (actual → desired): security group"}, "ChangingLoadBalancer"},
	} {
		r := newRig(t)
		g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router)).route().Inputs()}
		g.in.Drift.Reason = test.change
		r.events()
		round := Round{Want: &Desired{Followed: members.Followed{Placeless: true}}, Groups: SecurityGroups{Task: opens}, Report: test.report}
		todo, left := step, plan.Plan{}
		if test.report.All() {
			todo, left = left, todo
		}
		g.announce(round, todo, left)
		got := r.events()
		for _, words := range append(test.want, "has the address of node-2", "All nodes are members") {
			if !strings.Contains(got, words) {
				t.Errorf("%s: without %q:\n%s", name, words, got)
			}
		}
		if strings.Contains(got, test.without) {
			t.Errorf("%s: with %q:\n%s", name, test.without, got)
		}
	}
}

// A plan beyond the limits of cloud.conf, or of the provider, is refused before the first step.
func TestPrepare_RefusesAPlanBeforeItsFirstStep(t *testing.T) {
	t.Parallel()
	creates := plan.Plan{Steps: []plan.Step{plan.CreateVIP{LoadBalancer: &model.LoadBalancer{}}}}
	floating := plan.Plan{Steps: []plan.Step{plan.CreateFloatingIP{FloatingIP: model.FloatingIP{NetworkID: "vip-net", Address: "203.0.113.7"}}}}
	limited := func(r *rig) {
		r.conf.LoadBalancer.MaxServicesPerNamespace = 1
		r.store.Update("another", func(e *state.Entry) { e.Namespace = "default" })
	}
	tight := func(r *rig) { r.conf.LoadBalancer.MaxSourceRanges = 1 }
	for name, test := range map[string]struct {
		rig     []func(*rig)
		ranges  []string
		todo    plan.Plan
		check   error
		words   string
		counted bool
	}{
		"within the limits":        {nil, nil, creates, nil, "", true},
		"one Service too many":     {[]func(*rig){limited}, nil, creates, nil, "max-services-per-namespace", false},
		"the same, that has a VIP": {[]func(*rig){limited}, nil, plan.Plan{}, nil, "", true},
		"too many source ranges":   {[]func(*rig){tight, managed}, []string{"198.51.100.0/24", "192.0.2.0/24"}, creates, nil, "", true},
		"refused by the provider":  {nil, nil, creates, errFailed, "failed", false},
		"an address of no subnet":  {nil, nil, floating, nil, "none can be created with it", false},
	} {
		r := newRig(t, test.rig...)
		g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, ranges(test.ranges...))).route().Inputs()}
		round := Round{Want: &Desired{LoadBalancer: &model.LoadBalancer{}}, Have: nothing(rigIdentity())}
		err := g.prepare(t.Context(), round, test.todo, func() error { return test.check })
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) || (r.store.Get(serviceUID).Namespace != "") != test.counted {
			t.Errorf("%s: %v, counted in %q", name, err, r.store.Get(serviceUID).Namespace)
		}
	}
	r := newRig(t, tight, managed)
	g := &withoutOctavia{Engine: r.Engine, in: r.of(by(driver.Router, ranges("198.51.100.0/24", "192.0.2.0/24"))).route().Inputs()}
	opened := &model.LoadBalancer{Listeners: []model.Listener{{AllowedCIDRs: []string{"198.51.100.0/24"}}}}
	err := g.prepare(t.Context(), Round{Want: &Desired{LoadBalancer: opened}, Have: nothing(rigIdentity())}, creates, func() error { return nil })
	if err == nil || !strings.Contains(err.Error(), "max-source-ranges") {
		t.Errorf("too many source ranges: %v", err)
	}
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
