package goal

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Refusals that have another plan, at the first and at the second time in a round, and the knowledge of the provider
// in all rounds after them.
func TestDowngrade_AvoidsTheFeatureThatWasRefused(t *testing.T) {
	t.Parallel()
	full := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Listeners: make([]model.Listener, 1)}}
	unsupported, policy := byOctavia(http.StatusNotImplemented, "Provider 'x' does not support it"), byOctavia(http.StatusForbidden, "Policy does not allow this request to be performed.")
	quota, noRoute := byOctavia(http.StatusForbidden, "Quota has been met for resources: Member"), byOctavia(http.StatusMethodNotAllowed, "Method Not Allowed")
	for name, test := range map[string]struct {
		step     plan.Step
		err      error
		provider string // of the existing load balancer
		again    []bool // at the first and the second refusal
		lacks    string // the provider that has no such feature from now on
		serial   bool   // single steps for the rest of the round
	}{
		"a batch is unsupported":              {plan.SetMembers{}, unsupported, "acme", []bool{true, true}, "acme", false},
		"a batch of amphora is unsupported":   {plan.SetMembers{}, unsupported, "amphora", []bool{false, false}, "", false},
		"a creation is unsupported":           {full, unsupported, "acme", []bool{true, true}, "wanted", false},
		"a batch is refused":                  {plan.SetMembers{}, policy, "acme", []bool{true, false}, "", true},
		"a batch does not get there":          {plan.SetMembers{}, noRoute, "amphora", []bool{true, false}, "amphora", true},
		"members exceed a quota":              {plan.AddMember{}, quota, "acme", []bool{true, false}, "", false},
		"a member is refused":                 {plan.AddMember{}, policy, "acme", []bool{false, false}, "", false},
		"a failover lacks a role":             {plan.FailOver{ID: "lb"}, policy, "amphora", []bool{true, true}, "", false},
		"a failover is unsupported":           {plan.FailOver{ID: "lb"}, unsupported, "acme", []bool{true, true}, "acme", false},
		"a step without alternative":          {plan.DeletePool{}, unsupported, "acme", []bool{false, false}, "", false},
		"no step is refused: another failure": {nil, unsupported, "acme", []bool{false, false}, "", false},
	} {
		c, in := newChanges(), inputsOf(webService())
		in.Version, in.Settings.LoadBalancer.Provider = model.Version{Major: 2, Minor: 30}, "wanted"
		round, err := Round{}, test.err
		if test.step != nil {
			err = &apply.RefusedError{Step: test.step, Err: test.err}
		}
		var again []bool
		for range 2 {
			again = append(again, c.Downgrade(t.Context(), in, &round, model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", Provider: test.provider}}, err))
		}
		if !slices.Equal(again, test.again) {
			t.Errorf("%s: another plan: %v, want %v", name, again, test.again)
		}
		feature, _ := plan.Needs(test.step)
		for _, provider := range []string{"acme", "amphora", "wanted"} {
			drv := c.drivers.For(provider, in.Version)
			if test.step != nil && drv.Supports(feature) != (provider != test.lacks) {
				t.Errorf("%s: afterwards %s lacks it: %q", name, provider, drv.Lacks(feature))
			}
			if serial := round.Serial.without(drv); test.serial && serial.Supports(feature) || !test.serial && serial.Supports(feature) != drv.Supports(feature) {
				t.Errorf("%s: in this round %s lacks it: %q", name, provider, serial.Lacks(feature))
			}
		}
		if batched := name == "members exceed a quota"; round.Batched != batched {
			t.Errorf("%s: members change in batches: %v", name, round.Batched)
		}
		if forbidden := !c.failovers.Of(&model.LoadBalancer{ID: "other"}, true).Now; forbidden != (name == "a failover lacks a role") {
			t.Errorf("%s: failovers are forbidden: %v", name, forbidden)
		}
	}
}

// A creation with everything in it may be refused because of its parts: then the load balancer is created empty from now
// on. At once that helps only where Octavia itself has failed.
func TestDowngrade_CreatesEmptyAfterAFullCreationIsRefused(t *testing.T) {
	t.Parallel()
	const ranges = "None does not appear to be an IPv4 or IPv6 address"
	for name, test := range map[string]struct {
		err           error
		again, breaks bool
	}{
		"Octavia crashed":                  {byOctavia(http.StatusInternalServerError, "KeyError"), true, false},
		"Octavia crashed on source ranges": {byOctavia(http.StatusInternalServerError, ranges), true, true},
		"a part is refused":                {byOctavia(http.StatusBadRequest, ranges), false, false},
		"a quota":                          {byOctavia(http.StatusForbidden, "Quota has been met for resources: Pool"), false, false},
	} {
		c, svc := newChanges(), webService()
		if again := c.Downgrade(t.Context(), inputsOf(svc), new(Round), model.Observed{}, &apply.FullCreateError{Err: test.err}); again != test.again {
			t.Errorf("%s: another plan: %v", name, again)
		}
		if !c.store.Get(svc.UID).Made.CreateEmpty || c.drivers.For("any", model.OldestVersion).Quirks.RangesBreakFullCreate != test.breaks {
			t.Errorf("%s: created empty from now on: %v, ranges break creations: %v", name, c.store.Get(svc.UID).Made.CreateEmpty, !test.breaks)
		}
	}
}

func newChanges() *Changes {
	clk := testingclock.NewFakePassiveClock(noon)
	return &Changes{store: state.New(clk, nil), drivers: driver.NewRegistry(driver.Settings{}), failovers: NewFailovers(clk)}
}

// From the beginning of a change on, the last applied state is a hint only, and what may be left in the cloud is known.
func TestBegin_RecordsWhatAPlanMayLeave(t *testing.T) {
	t.Parallel()
	on := func(provider string) *Desired { return &Desired{LoadBalancer: &model.LoadBalancer{Provider: provider}} }
	for name, test := range map[string]struct {
		round Round
		steps []plan.Step
		want  state.Made
		drift bool // it is still known
	}{
		"a deletion":          {Round{Want: &Desired{}}, []plan.Step{plan.DeleteLoadBalancer{}}, state.Made{}, true},
		"a new load balancer": {Round{Want: on("amphora")}, []plan.Step{plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}}, state.Made{Touched: true}, false},
		"a change":            {Round{Want: on("amphora"), Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb"}}}}, nil, state.Made{Touched: true}, false},
		"a later change":      {Round{Wrote: true, Want: on("amphora")}, nil, state.Made{Touched: true}, true},
		"on another's":        {Round{Want: on("amphora"), Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}}}}, nil, state.Made{Touched: true, Entered: []string{"lb"}}, false},
		"a VIP":               {Round{Want: on(driver.Router)}, nil, state.Made{Touched: true, VIP: true}, false},
		"port forwardings":    {Round{Want: on(driver.PortForwarding)}, nil, state.Made{Touched: true, Forwards: true}, false},
	} {
		c, svc := newChanges(), webService()
		c.store.Update(svc.UID, func(e *state.Entry) { e.Drift.Reason = state.ReasonChanged })
		if test.round.Have.Observed == nil {
			test.round.Have.Observed = &model.Observed{}
		}
		c.Begin(inputsOf(svc), &test.round, plan.Plan{Steps: test.steps})
		entry := c.store.Get(svc.UID)
		if diff := cmp.Diff(test.want, entry.Made); diff != "" || !test.round.Wrote || (entry.Drift.Reason != "") != test.drift {
			t.Errorf("%s: %s, drift %q, wrote: %v", name, diff, entry.Drift.Reason, test.round.Wrote)
		}
	}
	c, failed := newChanges(), &model.LoadBalancer{ID: "lb"}
	round := Round{Want: on("amphora"), Have: Observation{Observed: &model.Observed{LoadBalancer: failed}}}
	if c.Begin(inputsOf(webService()), &round, plan.Plan{Steps: []plan.Step{plan.FailOver{ID: "lb"}}}); c.failovers.Of(failed, true).Now {
		t.Error("a failover is not counted")
	}
}

// A creation without an answer may still succeed, until its load balancer is found, unless another one was sent since.
func TestBegin_RecordsCreationsAndTheirDiscovery(t *testing.T) {
	t.Parallel()
	deletion, creation := plan.DeleteLoadBalancer{}, plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{}}
	for name, test := range map[string]struct {
		steps   []plan.Step // each of a plan of its own
		pending bool
	}{
		"nothing since":                   {nil, true},
		"a load balancer is deleted":      {[]plan.Step{deletion}, false},
		"a floating IP is deleted":        {[]plan.Step{plan.DeleteFloatingIP{}}, true},
		"one more creation, one deletion": {[]plan.Step{creation, deletion}, true},
		"a change, and a deletion":        {[]plan.Step{plan.UpdateListener{}, deletion}, false},
	} {
		c, svc := newChanges(), webService()
		in := inputsOf(svc)
		c.End(in, model.Observed{}, &apply.UnsureCreationError{Err: errors.New("no answer")})
		for _, step := range test.steps {
			round := Round{Want: &Desired{LoadBalancer: &model.LoadBalancer{}}, Have: Observation{Observed: &model.Observed{}}}
			switch step.(type) {
			case plan.DeleteLoadBalancer, plan.DeleteFloatingIP:
				round.Want.LoadBalancer = nil
			}
			c.Begin(in, &round, plan.Plan{Steps: []plan.Step{step}})
		}
		if pending := !c.store.Creations.Until(svc.UID, in.Published.Unserved()).IsZero(); pending != test.pending {
			t.Errorf("%s: the creation may succeed: %v", name, pending)
		}
	}
}

func TestEnd_RecordsWhatAFailedPlanLeaves(t *testing.T) {
	t.Parallel()
	failure := errors.New("failed")
	own, others := []model.FloatingIP{{ID: "fip", Owned: true}}, []model.FloatingIP{{ID: "fip"}}
	for name, test := range map[string]struct {
		err        error
		keep       bool
		unattached []model.FloatingIP
		lb         *model.LoadBalancer
		want       state.Made
	}{
		"success":                      {nil, false, own, nil, state.Made{}},
		"a failure":                    {failure, false, own, nil, state.Made{UnattachedFloatingIP: true}},
		"a failure, floating IPs stay": {failure, true, own, nil, state.Made{}},
		"another's floating IP":        {failure, false, others, nil, state.Made{}},
		"a new load balancer":          {nil, false, nil, &model.LoadBalancer{ID: "lb"}, state.Made{LoadBalancerID: "lb"}},
		"a VIP":                        {nil, false, nil, &model.LoadBalancer{ID: "port", Provider: driver.Router}, state.Made{}},
		"on another's":                 {nil, false, nil, &model.LoadBalancer{ID: "lb", Shared: &model.Shared{}}, state.Made{}},
	} {
		c, svc := newChanges(), webService()
		in := inputsOf(svc)
		in.Settings.Floating.Keep = test.keep
		c.End(in, model.Observed{LoadBalancer: test.lb, UnattachedFloatingIPs: test.unattached}, test.err)
		if diff := cmp.Diff(test.want, c.store.Get(svc.UID).Made); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c, in := newChanges(), inputsOf(webService())
	in.Previous = []string{"old"}
	if c.End(in, model.Observed{LoadBalancer: &model.LoadBalancer{ID: "lb"}}, nil); !slices.Equal(c.store.Get(in.Owner.UID).Made.Entered, []string{"lb"}) {
		t.Errorf("a Service that moves has entered %v", c.store.Get(in.Owner.UID).Made.Entered)
	}
}

// If single requests are refused too, their kind was not the cause: the error names both answers, and the next round
// tries the first step again.
func TestWithFirstRefusal_RetractsWhatWasNotTheCause(t *testing.T) {
	t.Parallel()
	first := &apply.RefusedError{Err: errors.New("batches are refused")}
	for name, test := range map[string]struct {
		serial *Serial
		err    error
		added  bool
	}{
		"no refusal before":   {nil, byOctavia(http.StatusBadRequest, "invalid"), false},
		"refused again":       {&Serial{driver.MemberBatches, "acme", first}, byOctavia(http.StatusBadRequest, "invalid"), true},
		"no route for either": {&Serial{driver.MemberBatches, "acme", first}, byOctavia(http.StatusMethodNotAllowed, "no"), true},
		"a quota":             {&Serial{driver.MemberBatches, "acme", first}, byOctavia(http.StatusForbidden, "Quota has been met for resources: Member"), false},
		"a failure":           {&Serial{driver.MemberBatches, "acme", first}, byOctavia(http.StatusInternalServerError, "crashed"), false},
	} {
		c := &Changes{drivers: driver.NewRegistry(driver.Settings{})}
		c.drivers.Refuse("acme", driver.MemberBatches, true)
		got := c.WithFirstRefusal(&Round{Serial: test.serial}, test.err)
		if errors.Is(got, first.Err) != test.added || !strings.HasPrefix(got.Error(), test.err.Error()) || strings.Contains(got.Error(), "all members of a pool at once") != test.added {
			t.Errorf("%s: %v", name, got)
		}
		if supports := c.drivers.For("acme", model.Version{Major: 2, Minor: 30}).Supports(driver.MemberBatches); supports != test.added {
			t.Errorf("%s: batches are tried again: %v", name, supports)
		}
	}
}
