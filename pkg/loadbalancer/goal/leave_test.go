package goal

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// A search for remains on other load balancers is left out only if there are certainly none.
func TestSettledOn_NeedsProofThatNothingIsLeftElsewhere(t *testing.T) {
	t.Parallel()
	own := &model.LoadBalancer{ID: "lb", VIP: model.VIP{Address: "10.0.0.5"}, FloatingIP: &model.FloatingIP{Address: "203.0.113.7"}}
	shared := own.Clone()
	shared.Shared = &model.Shared{}
	for name, test := range map[string]struct {
		lb                *model.LoadBalancer
		previous, entered []string
		published         []string
		settled           bool
	}{
		"none, and nothing known":             {settled: true},
		"none, and one before":                {previous: []string{"lb"}},
		"none, and a published address":       {published: []string{"203.0.113.7"}},
		"none, and one entered":               {entered: []string{"lb"}},
		"its own, and nothing known":          {lb: own, settled: true},
		"another's, and nothing known":        {lb: shared},
		"the previous one":                    {lb: own, previous: []string{"lb", "lb"}, settled: true},
		"another's, the previous one":         {lb: shared, previous: []string{"lb"}, settled: true},
		"one of two":                          {lb: own, previous: []string{"lb", "old"}},
		"another one":                         {lb: own, previous: []string{"old"}, published: []string{"203.0.113.7"}},
		"with the published floating IP":      {lb: own, published: []string{"198.51.100.1", "203.0.113.7"}, settled: true},
		"another's, with the published VIP":   {lb: shared, published: []string{"10.0.0.5"}, settled: true},
		"with another address than published": {lb: own, published: []string{"198.51.100.1"}},
		"entered":                             {lb: own, entered: []string{"lb"}, settled: true},
		"entered after another":               {lb: own, previous: []string{"lb"}, entered: []string{"lb", "old"}},
		"entered while being created":         {lb: own, entered: []string{""}},
	} {
		in := Inputs{Previous: test.previous, Entered: test.entered, Published: published(test.published...)}
		if got := settledOn(test.lb, in); got != test.settled {
			t.Errorf("%s: settled: %v", name, got)
		}
	}
}

// After its load balancer is gone, a floating IP of a Service that needs none is not found again.
func TestFloatingIPsFirst_MovesOnlyTheirDeletions(t *testing.T) {
	t.Parallel()
	steps := []plan.Step{
		plan.DeleteListener{ID: "l"}, plan.DeleteFloatingIP{ID: "a"}, plan.DeleteLoadBalancer{ID: "lb"}, plan.DisassociateFloatingIP{ID: "c"}, plan.DeleteFloatingIP{ID: "b"},
	}
	todo := plan.Plan{Steps: slices.Clone(steps), Retained: []string{"other"}}
	got := floatingIPsFirst(todo)
	want := []plan.Step{steps[1], steps[4], steps[0], steps[2], steps[3]}
	if diff := cmp.Diff(want, got.Steps) + cmp.Diff(steps, todo.Steps); diff != "" || len(got.Retained) != 1 {
		t.Errorf("%s, retained %v", diff, got.Retained)
	}
}

// A Service leaves the load balancers that have served it, and those of moves that were taken back. Only the former must
// succeed: the Service is served elsewhere.
func TestLeaveOthers_RemovesWhatAServiceHasLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		previous, entered []string
		keep              bool
		change            func(*rig)
		steps             []string
		left              []string // still entered
		fails             bool
	}{
		"nothing":                     {previous: []string{"now"}},
		"its previous one":            {previous: []string{"now", "old"}, steps: []string{"load balancer kube_service_rig_default_web (old): delete", "floating IP 203.0.113.7: delete"}},
		"its previous one, kept":      {previous: []string{"now", "old"}, keep: true, steps: []string{"load balancer kube_service_rig_default_web (old): delete"}},
		"one that it had entered":     {previous: []string{"now"}, entered: []string{"old", "now"}, steps: []string{"(old): delete", "floating IP 203.0.113.7: delete"}},
		"one that is gone":            {previous: []string{"now", "older"}, change: func(r *rig) { r.balancers = r.balancers[:1] }},
		"its previous one stays":      {previous: []string{"now", "old"}, change: func(r *rig) { r.fails["apply"] = errFailed }, fails: true},
		"one that it had, is entered": {previous: []string{"now"}, entered: []string{"old"}, change: func(r *rig) { r.fails["apply"] = errFailed }, left: []string{"old"}},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) { c.CascadeDelete = true }), balancer("now"), balancer("old"))
		r.add(floatingAt("fip", "203.0.113.7", "vip-of-old"))
		if test.change != nil {
			test.change(r)
		}
		in := r.ask().in
		in.Previous, in.Entered, in.Settings.Floating.Keep = test.previous, test.entered, test.keep
		r.store.Update(r.svc.UID, func(e *state.Entry) { e.Made.Entered = test.entered })
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "now"}}}}
		left := new(departures)
		err := r.leaver.leaveOthers(r.ctx, in, round, left, &r.lock)
		if errors.Is(err, errFailed) != test.fails || (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		if lines := strings.Split(r.steps(), "\n"); len(test.steps) == 0 && r.steps() != "" || len(test.steps) > 0 && len(lines) != len(test.steps) {
			t.Errorf("%s: steps %q", name, lines)
		}
		for _, step := range test.steps {
			if !strings.Contains(r.steps(), step) {
				t.Errorf("%s: %q is not among the steps:\n%s", name, step, r.steps())
			}
		}
		if got := r.store.Get(r.svc.UID).Made.Entered; !slices.Equal(got, test.left) && !test.fails {
			t.Errorf("%s: entered: %v, want %v", name, got, test.left)
		}
		if changing := r.events(); strings.Contains(changing, "(old): delete") != (len(test.steps) > 0 || test.fails || len(test.left) > 0) {
			t.Errorf("%s: events %q", name, changing)
		}
	}
}

// A load balancer in the plan of the present one, such as its predecessor, is not left.
func TestFindOthers_LeavesOutWhatIsPartOfThePlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{"now", "replaced", "duplicate", "served", "entered", "both"} {
		r.add(balancer(id))
	}
	in, left := r.ask().in, new(departures)
	in.Previous, in.Entered = []string{"served", "both"}, []string{"entered", "both"}
	have := &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "now"}, Outgoing: &model.LoadBalancer{ID: "replaced"}, Duplicates: []model.LoadBalancer{{ID: "duplicate"}}}
	if err := r.leaver.findOthers(r.ctx, in, Round{Have: Observation{Observed: have}}, left); err != nil || !left.found {
		t.Fatalf("found: %v, error %v", left.found, err)
	}
	ids := func(d departure) (all []string) {
		for _, found := range d.all {
			all = append(all, found.LoadBalancers[0].ID)
		}
		return all
	}
	if served, entered := ids(left.served), ids(left.entered); !slices.Equal(served, []string{"served", "both"}) || !slices.Equal(entered, []string{"entered"}) {
		t.Errorf("served by %v, entered %v", served, entered)
	}
	r.fails["load-balancers"] = errFailed
	if err := r.leaver.findOthers(r.ctx, in, Round{Have: Observation{Observed: have}}, new(departures)); !errors.Is(err, errFailed) {
		t.Errorf("the search fails: %v", err)
	}
}

// Nothing is removed from a load balancer before all reads of it have succeeded.
func TestStartLeaving_NeedsTheContents(t *testing.T) {
	t.Parallel()
	gone := byOctavia(http.StatusNotFound, "not found")
	for name, test := range map[string]struct {
		change func(*rig)
		words  string
	}{
		"it is there":                    {func(*rig) {}, ""},
		"its listeners cannot be read":   {func(r *rig) { r.fails["listeners"] = errFailed }, "failed"},
		"its floating IP cannot be read": {func(r *rig) { r.fails["floating-ips"] = errFailed }, "failed"},
		"it has disappeared while locked": {func(r *rig) {
			r.balancers[0].ProvisioningStatus = "PENDING_UPDATE"
			r.add(failingAt("load-balancer", gone), failingAt("load-balancer-state", gone))
		}, "previous load balancer old disappeared"},
	} {
		r := newRig(t, balancer("old"), listenerOn("old", true))
		r.add(floatingAt("of another", "", ""))
		test.change(r)
		d := departure{all: []observe.Found{{LoadBalancers: slices.Clone(r.balancers), As: rigIdentity()}}}
		err := r.leaver.startLeaving(r.ctx, r.ask().in, &d, plan.Options{}, &r.lock)
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		if (d.run != nil) != (test.words == "") || !r.Cloud.Locks.Held("old") {
			t.Errorf("%s: it is removed: %v, locked: %v", name, d.run != nil, r.Cloud.Locks.Held("old"))
		}
		if strings.Contains(r.events(), "floating IP") {
			t.Errorf("%s: a floating IP of the present load balancer is removed", name)
		}
	}
}

// A floating IP that another client has detached goes with the Service's own load balancer, but only where that is proven.
func TestDeleteUnattached_EndsTheFloatingIPOfAnOwnLoadBalancer(t *testing.T) {
	t.Parallel()
	shared := &model.LoadBalancer{ID: "shared", VIP: model.VIP{Address: "10.0.0.5"}, Shared: &model.Shared{}}
	for name, test := range map[string]struct {
		lb        *model.LoadBalancer
		previous  []string
		published string
		asks      bool
		legacy    bool
		keep      bool
		deleted   bool
	}{
		"after its own":                           {lb: shared, previous: []string{"own"}, published: "203.0.113.7", deleted: true},
		"after its own, on its own":               {lb: &model.LoadBalancer{ID: "new"}, previous: []string{"own"}, published: "203.0.113.7"},
		"on the same one":                         {lb: shared, previous: []string{"shared"}, published: "203.0.113.7"},
		"never served":                            {lb: shared},
		"after its own, floating IPs stay":        {lb: shared, previous: []string{"own"}, published: "203.0.113.7", keep: true},
		"of cloud-provider-openstack, published":  {lb: shared, previous: []string{"own"}, published: "203.0.113.7", legacy: true, deleted: true},
		"of cloud-provider-openstack, unproven":   {lb: shared, published: "203.0.113.7", legacy: true},
		"of cloud-provider-openstack, a request":  {lb: shared, previous: []string{"own"}, published: "203.0.113.7", asks: true, legacy: true},
		"of cloud-provider-openstack, of another": {lb: shared, previous: []string{"own"}, published: "203.0.113.8", legacy: true},
	} {
		r := newRig(t)
		description := rigIdentity().FloatingIPs().Description()
		if test.legacy {
			description = rigIdentity().FloatingIPs().LegacyDescription()
		}
		r.add(floatingAt("fip", "203.0.113.7", "", describedAs(description)))
		in := r.ask().in
		if in.Previous, in.Settings.Floating.Keep = test.previous, test.keep; test.asks {
			in.Settings.LoadBalancerIP = "203.0.113.7"
		}
		if test.published != "" {
			in.Published = published(test.published)
		}
		err := r.leaver.deleteUnattached(r.ctx, in, test.lb)
		if deleted := strings.Contains(r.steps(), "floating IP 203.0.113.7: delete"); deleted != test.deleted || err != nil {
			t.Errorf("%s: deleted: %v, error %v, requests %v", name, deleted, err, r.sent)
		}
	}
}
