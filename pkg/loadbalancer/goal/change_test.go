package goal

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Which refusals have another plan, at the first and at the second time in a round, and what is known of the provider
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
		clk := testingclock.NewFakePassiveClock(noon)
		c := &Changes{store: state.New(clk, nil), drivers: driver.NewRegistry(driver.Settings{}), failovers: NewFailovers(clk)}
		in := inputsOf(webService())
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
