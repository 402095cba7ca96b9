package goal

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// kindsOf returns the kinds of the steps of a plan.
func kindsOf(p plan.Plan) string {
	var kinds []string
	for _, step := range p.Steps {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", step), "plan."))
	}
	return strings.Join(kinds, " ")
}

// unproven has nothing but the name of the Service, and is in no subnet of the cluster.
func unproven(lb *octavia.LoadBalancer) {
	lb.Tags, lb.Description, lb.VIPSubnetID = nil, "", "elsewhere"
}

var policyForbids = byOctavia(http.StatusForbidden, "Policy does not allow this request to be performed.")

func TestGone_DeletesWhatIsTheServicesAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	names := func(id string) func(*v1.Service) { return fixture.Annotated(annotation.LoadBalancerID, id) }
	left := floatingAt("left", "203.0.113.8", "")
	replaces := func(lb *octavia.LoadBalancer) { lb.Tags = append(lb.Tags, ownership.ReplacesTag("lb", "hash")) }
	legacy := floatingAt("legacy", "203.0.113.7", "", describedAs(rigIdentity().FloatingIPs().LegacyDescription()))
	for name, test := range map[string]struct {
		svc       *v1.Service
		previous  []string
		rig       []func(*rig)
		steps     string
		elsewhere string // further load balancers that the Service leaves
		event     string
	}{
		"nothing":                         {by(""), nil, nil, "", "", ""},
		"a load balancer":                 {by("", servedInOctavia), nil, []func(*rig){balancer("lb"), ofBalancer}, "DeleteLoadBalancer DeleteFloatingIP", "", ""},
		"a floating IP left over":         {by("", servedInOctavia), nil, []func(*rig){left}, "DeleteFloatingIP", "", ""},
		"and it shall be kept":            {by("", servedInOctavia, keepsFloatingIP), nil, []func(*rig){left}, "", "", ""},
		"one that it has published":       {by("", servedInOctavia), nil, []func(*rig){legacy}, "DeleteFloatingIP", "", ""},
		"one that it has requested":       {by("", servedInOctavia, loadBalancerIP("203.0.113.7")), nil, []func(*rig){legacy}, "", "", ""},
		"it names one of another project": {by("", names("theirs")), nil, []func(*rig){balancer("lb"), failingAt("load-balancer theirs", policyForbids)}, "DeleteLoadBalancer", "", ""},
		"one that may be another's":       {by("", internalAt), nil, []func(*rig){balancer("lb", unproven), left}, "DeleteFloatingIP", "", "Not deleted"},
		"two load balancers":              {by(""), nil, []func(*rig){balancer("lb"), balancer("lb-2")}, "DeleteLoadBalancer DeleteLoadBalancer", "", ""},
		"remains on a shared one":         {by("", internalAt), []string{"lb", "shared"}, []func(*rig){balancer("lb"), balancer("shared", ofAnother), listenerOn("shared", true)}, "DeleteLoadBalancer", "shared", ""},
		"the one that it has replaced":    {by(""), nil, []func(*rig){balancer("lb"), balancer("lb-2", replaces)}, "DeleteLoadBalancer DeleteLoadBalancer", "", ""},
		"the same, with parts of others":  {by(""), nil, []func(*rig){balancer("lb"), listenerOn("lb", false), balancer("lb-2", replaces)}, "DeleteLoadBalancer", "lb", ""},
	} {
		r := newRig(t, test.rig...)
		g := r.of(test.svc).leave(test.previous...)
		round, todo, err := planned(t, g)
		var elsewhere []string
		for _, found := range round.Have.Elsewhere {
			elsewhere = append(elsewhere, found.LoadBalancers[0].ID)
		}
		if err != nil || kindsOf(todo) != test.steps || strings.Join(elsewhere, " ") != test.elsewhere {
			t.Errorf("%s: %s and %q, error %v", name, kindsOf(todo), elsewhere, err)
		}
		if got := r.events(); (got != "") != (test.event != "") || !strings.Contains(got, test.event) {
			t.Errorf("%s: events %s", name, got)
		}
		if known, err := g.Recall(t.Context(), nil); known.Have.Observed != nil || known.Status != nil || err != nil {
			t.Errorf("%s: a deletion recalls %+v", name, known)
		}
	}
}

// A deletion asks for a load balancer of another owner only once.
func TestGone_LooksForItsOwnOnceTheNamedOneIsNotItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, balancer("lb"), failingAt("load-balancer theirs", policyForbids))
	g := r.of(by("", fixture.Annotated(annotation.LoadBalancerID, "theirs"))).leave()
	lock := new(async.Guard)
	for range 2 {
		have, err := g.Observe(t.Context(), lock)
		if err != nil || have.LoadBalancer == nil || have.LoadBalancer.ID != "lb" || g.Owner(Round{Have: have}) != have.As {
			t.Errorf("%+v, error %v", have, err)
		}
	}
	if n := len(slices.DeleteFunc(r.sent, func(text string) bool { return !strings.HasPrefix(text, "load-balancer theirs") })); n != 1 {
		t.Errorf("the named one was read %d times", n)
	}
}

func TestGone_ReturnsTheErrorOfEachRead(t *testing.T) {
	t.Parallel()
	replaces := func(lb *octavia.LoadBalancer) { lb.Tags = append(lb.Tags, ownership.ReplacesTag("lb", "hash")) }
	for name, test := range map[string]struct {
		svc      *v1.Service
		previous []string
		rig      []func(*rig)
	}{
		"nothing":                 {by("", internalAt), []string{"lb"}, nil},
		"a load balancer":         {by("", servedInOctavia), []string{"lb", "shared"}, []func(*rig){balancer("lb"), ofBalancer, balancer("shared", ofAnother), listenerOn("shared", true)}},
		"replaced, partly others": {by(""), nil, []func(*rig){balancer("lb"), listenerOn("lb", false), balancer("lb-2", replaces)}},
		"never served":            {by(""), nil, []func(*rig){balancer("lb"), ofBalancer}},
	} {
		assertErrors(t, name+", observe", func(r *rig) error {
			g, err := r.NewGone(t.Context(), Subject{Service: test.svc}, nil, test.previous)
			if err != nil {
				return err
			}
			_, _, err = planned(t, g)
			return err
		}, test.rig...)
		assertErrors(t, name+", exists", func(r *rig) error {
			g, err := r.NewGone(t.Context(), Subject{Service: test.svc}, nil, test.previous)
			if err != nil {
				return err
			}
			status, exists, err := g.Exists(t.Context(), false)
			if err != nil && (exists || status != nil && len(status.Ingress) > 0) {
				t.Errorf("%s: after an error it exists with %+v", name, status)
			}
			return err
		}, test.rig...)
	}
}

func TestNewGone_KnowsWhatTheServiceLeaves(t *testing.T) {
	t.Parallel()
	contents := &model.LoadBalancer{ID: "lb"}
	for name, test := range map[string]struct {
		applied *state.Applied
		known   bool
	}{
		"nothing": {nil, false}, "its contents": {&state.Applied{Knowledge: model.Knowledge{Depth: model.Full}, Contents: contents}, true},
		"a record": {&state.Applied{Knowledge: model.Knowledge{Depth: model.Listed}, Contents: contents}, false},
	} {
		g, err := newRig(t).NewGone(t.Context(), Subject{Service: by("")}, test.applied, []string{"before"})
		if err != nil || (g.known == contents) != test.known || !slices.Equal(g.Inputs().Previous, []string{"before"}) {
			t.Errorf("%s: %+v, error %v", name, g, err)
		}
	}
	shares := by("", fixture.Annotated(annotation.Share, "front"))
	if g, err := newRig(t).NewGone(t.Context(), Subject{Service: shares}, nil, []string{"shared"}); err != nil || g.Inputs().Settings.LoadBalancer.ID != "shared" || g.Inputs().Settings.LoadBalancer.Share != "front" {
		t.Errorf("one of a share: %+v, error %v", g, err)
	}
	unread := newRig(t, failingAt("services", errFailed))
	if g, err := unread.NewGone(t.Context(), Subject{Service: shares}, nil, nil); g != nil || !errors.Is(err, errFailed) {
		t.Errorf("the Services of the share are unknown: %+v, error %v", g, err)
	}
	g := newRig(t).of(by("", loadBalancerIP("203.0.113.7"), fixture.Annotated(annotation.KeepFloatingIP, "false"))).leave()
	if !g.Inputs().ID.Releases || !g.asksFloatingIP || g.Inputs().Settings.Floating.Keep {
		t.Errorf("it releases the floating IP that it requested: %+v", g.Inputs().ID)
	}
	groups, report, err := g.Begin(t.Context(), Round{}, plan.Plan{})
	if groups.Task == nil || !groups.Empty() || report.Enabled() || err != nil {
		t.Errorf("a deletion plans security groups: %+v, %+v, error %v", groups, report, err)
	}
	have := nothing(rigIdentity())
	have.LoadBalancer = &model.LoadBalancer{Provider: "ovn"}
	if want, err := g.Desire(t.Context(), Round{Have: have}); err != nil || want.Facts.Driver.Name != "ovn" || !want.Basis.Exists || want.LoadBalancer != nil {
		t.Errorf("the driver of the load balancer deletes it: %+v, error %v", want, err)
	}
}

// After its last listener has left, only the memory of a deletion shows that the Service was a guest.
func TestRememberGuest_KnowsTheSharedLoadBalancerThatItHasLeft(t *testing.T) {
	t.Parallel()
	held := []model.Listener{{ID: "listener"}}
	for name, test := range map[string]struct {
		first, then *model.LoadBalancer
		left        bool
	}{
		"nothing":            {nil, nil, false},
		"its own":            {&model.LoadBalancer{ID: "lb", Listeners: held}, &model.LoadBalancer{ID: "lb"}, false},
		"it is still there":  {&model.LoadBalancer{ID: "lb", Listeners: held, Shared: &model.Shared{}}, &model.LoadBalancer{ID: "lb", Listeners: held, Shared: &model.Shared{}}, false},
		"it has left":        {&model.LoadBalancer{ID: "lb", Listeners: held, Shared: &model.Shared{}}, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{Owner: "another"}}, true},
		"it was on another":  {&model.LoadBalancer{ID: "lb", Listeners: held, Shared: &model.Shared{}}, &model.LoadBalancer{ID: "lb-2", Shared: &model.Shared{}}, false},
		"it was on none":     {&model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}, false},
		"another is its own": {&model.LoadBalancer{ID: "lb", Listeners: held, Shared: &model.Shared{}}, &model.LoadBalancer{ID: "lb"}, false},
	} {
		g := new(Gone)
		g.rememberGuest(test.first)
		var before *model.Shared
		if test.then != nil {
			before = test.then.Shared
		}
		g.rememberGuest(test.then)
		if left := test.then != nil && test.then.Shared != nil && test.then.Shared.Left; left != test.left || before != nil && before.Left || left && test.then.Shared.Owner != "another" {
			t.Errorf("%s: left: %v", name, left)
		}
	}
}

// A deletion that has removed the last listener of a guest may still delete the load balancer.
func TestGone_RemembersThatItWasAGuest(t *testing.T) {
	t.Parallel()
	r, lock := newRig(t, balancer("shared", ofAnother), listenerOn("shared", true)), new(async.Guard)
	g := r.of(by("", fixture.Annotated(annotation.LoadBalancerID, "shared"))).leave()
	for _, left := range []bool{false, true} {
		have, err := g.Observe(t.Context(), lock)
		if err != nil || have.LoadBalancer == nil || have.LoadBalancer.Shared == nil || have.LoadBalancer.Shared.Left != left {
			t.Fatalf("left: %v: %+v, error %v", left, have.LoadBalancer, err)
		}
		r.listeners, r.pools = nil, nil
		r.balancers[0].Listeners, r.balancers[0].Pools = nil, nil
	}
}

// The observation of a deletion, and of a provider without Octavia, is complete.
func TestVerify_NeedsNoReadBeforeADeletionOrAChangeOfRoutes(t *testing.T) {
	t.Parallel()
	r, have := newRig(t), nothing(rigIdentity())
	for name, g := range map[string]Goal{
		"deletion": r.of(by("")).leave(), "deletion of routes": r.NewRoutedGone(Subject{Service: by(driver.Router)}),
		"router": r.of(by(driver.Router)).route(), "port-forwarding": r.of(by(driver.PortForwarding)).route(),
	} {
		if got, another, err := g.Verify(t.Context(), Round{Have: have}); got.Observed != have.Observed || another || err != nil {
			t.Errorf("%s: %+v, another: %v, error %v", name, got, another, err)
		}
	}
}

// Floating IPs that stay are known to the next Service of the name, wherever they are.
func TestGone_RecordsTheFloatingIPsThatStay(t *testing.T) {
	t.Parallel()
	with := func(id string, owned bool) *model.LoadBalancer {
		return &model.LoadBalancer{FloatingIP: &model.FloatingIP{ID: id, Owned: owned}}
	}
	observed := &model.Observed{
		LoadBalancer: with("on", true), Outgoing: with("outgoing", true), Duplicates: []model.LoadBalancer{*with("duplicate", true), {}, *with("users", false)},
		UnattachedFloatingIPs: []model.FloatingIP{{ID: "unattached", Owned: true}, {ID: "asked"}},
	}
	for name, test := range map[string]struct {
		svc      *v1.Service
		observed *model.Observed
		want     string
	}{
		"kept": {by("", keepsFloatingIP), observed, "duplicate on outgoing unattached"}, "not kept": {by(""), observed, ""}, "nothing": {by("", keepsFloatingIP), &model.Observed{}, ""},
	} {
		r := newRig(t)
		g := r.of(test.svc).leave()
		if err := g.Prepare(t.Context(), Round{Have: Observation{Observed: test.observed}}, plan.Plan{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ids := r.store.Retained.IDs(g.Inputs().Owner.Key())
		if slices.Sort(ids); strings.Join(ids, " ") != test.want {
			t.Errorf("%s: %q, want %q", name, ids, test.want)
		}
	}
}

// A deletion ends with the remains elsewhere, and then the security groups. Failed steps are repeated.
func TestGone_LeavesAllOthersBeforeItsSecurityGroups(t *testing.T) {
	t.Parallel()
	made := state.Made{Touched: true, LoadBalancerID: "lb"}
	r := newRig(t, balancer("shared", ofAnother), listenerOn("shared", true), knowing(state.Entry{Made: made}))
	g := r.of(by("", internalAt)).leave("shared")
	round, _, err := planned(t, g)
	if err != nil || len(round.Have.Elsewhere) != 1 {
		t.Fatalf("%+v, error %v", round.Have, err)
	}
	lock := new(async.Guard)
	for _, fails := range []string{"apply", "groups-remove", ""} {
		r.sent, r.fails = nil, map[string]error{}
		if fails != "" {
			r.fails[fails] = errFailed
		}
		status, err := g.Commit(t.Context(), round, plan.Plan{}, lock)
		if status != nil || (err == errFailed) != (fails != "") || (r.store.Get(serviceUID).Made.LoadBalancerID != "") != (fails != "") || !r.has("apply") || r.has("groups-remove") == (fails == "apply") {
			t.Errorf("%s fails: status %+v, error %v, sent %q, known %+v", fails, status, err, r.sent, r.store.Get(serviceUID).Made)
		}
	}
	if r.store.Get(serviceUID).Made.Touched {
		t.Errorf("known %+v", r.store.Get(serviceUID).Made)
	}
	kept := newRig(t, knowing(state.Entry{Made: made}))
	if _, err := kept.of(by("", keepsFloatingIP)).leave().Commit(t.Context(), Round{Have: nothing(rigIdentity())}, plan.Plan{}, new(async.Guard)); err != nil || !kept.store.Get(serviceUID).Made.Touched {
		t.Errorf("a floating IP stays: error %v, known %+v", err, kept.store.Get(serviceUID).Made)
	}
	kept.of(by("")).leave().Announce(Round{}, plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: "lb", Name: "name"}}}, plan.Plan{})
	if got := kept.events(); !strings.Contains(got, "load balancer name (lb): delete") {
		t.Errorf("events %s", got)
	}
}

// A Service exists for the service controller while it has a load balancer, or remains of one.
func TestGone_ExistsWhileAnythingIsLeft(t *testing.T) {
	t.Parallel()
	left := floatingAt("left", "203.0.113.8", "")
	names := fixture.Annotated(annotation.LoadBalancerID, "theirs")
	shared := []func(*rig){balancer("shared", ofAnother), listenerOn("shared", true)}
	for name, test := range map[string]struct {
		svc      *v1.Service
		previous []string
		rig      []func(*rig)
		wanted   bool
		exists   bool
		status   string
	}{
		"served":                             {by("", at("203.0.113.99")), nil, []func(*rig){balancer("lb")}, false, true, "203.0.113.99"},
		"not published yet":                  {by(""), nil, []func(*rig){balancer("lb"), ofBalancer}, true, true, "203.0.113.7"},
		"not published, without floating IP": {by(""), nil, []func(*rig){balancer("lb")}, true, true, "10.0.0.100"},
		"it names one of another project":    {by("", names), nil, []func(*rig){balancer("lb"), failingAt("load-balancer theirs", policyForbids)}, false, true, "10.0.0.100"},
		"wanted, and there is none":          {by("", servedInOctavia), nil, nil, true, true, ""},
		"nothing":                            {by("", servedInOctavia), nil, nil, false, false, ""},
		"security groups":                    {by("", servedInOctavia), nil, []func(*rig){func(r *rig) { r.groupsLeft = true }}, false, true, ""},
		"a floating IP":                      {by("", servedInOctavia), nil, []func(*rig){left}, false, true, ""},
		"a kept floating IP":                 {by("", servedInOctavia, keepsFloatingIP), nil, []func(*rig){left}, false, false, ""},
		"remains on a shared one":            {by("", internalAt), []string{"shared"}, shared, false, true, ""},
		"one that may be another's":          {by("", internalAt), nil, []func(*rig){balancer("lb", unproven)}, false, false, ""},
	} {
		status, exists, err := newRig(t, test.rig...).of(test.svc).leave(test.previous...).Exists(t.Context(), test.wanted)
		if err != nil || status == nil {
			t.Errorf("%s: %+v, error %v", name, status, err)
			continue
		}
		got := ""
		if len(status.Ingress) > 0 {
			got = status.Ingress[0].IP
		}
		if exists != test.exists || got != test.status {
			t.Errorf("%s: exists: %v at %q, want %v at %q", name, exists, got, test.exists, test.status)
		}
	}
}
