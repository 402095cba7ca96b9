package apply_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// noted is what a rehearsal reports.
type noted struct {
	steps  []plan.Step
	writes []int
	before model.Observed
}

// rehearse rehearses a plan, and returns the predicted state and the reports.
func rehearse(t *testing.T, r *apply.Rehearsal, observed model.Observed, todo plan.Plan) (model.Observed, []noted, error) {
	t.Helper()
	var all []noted
	r.Note = func(steps []plan.Step, writes []int, before model.Observed) {
		all = append(all, noted{steps, writes, before})
	}
	predicted, err := r.Continue(t.Context(), apply.NewRun(apply.Request{ID: us(), Observed: observed, Plan: todo}))
	return predicted, all, err
}

// idsOf returns all IDs in a state, those of new objects with a prefix.
func idsOf(observed model.Observed) (all []string) {
	for _, fip := range observed.UnattachedFloatingIPs {
		all = append(all, fip.ID)
	}
	lb := observed.LoadBalancer
	if lb == nil {
		return all
	}
	all = append(all, lb.ID, lb.VIP.PortID)
	if lb.FloatingIP != nil {
		all = append(all, lb.FloatingIP.ID)
	}
	pool := func(p model.Pool) {
		all = append(all, p.ID)
		if p.Monitor != nil {
			all = append(all, p.Monitor.ID)
		}
		for _, m := range p.Members.All() {
			all = append(all, m.ID)
		}
	}
	for _, l := range lb.Listeners {
		all = append(all, l.ID)
		if l.Protocol.HasPool() {
			pool(l.Pool)
		}
	}
	for _, p := range lb.Orphans {
		pool(p)
	}
	return all
}

// A prediction has an ID for each object, and each only once, so that the next plan can name it.
func TestRehearsal_PredictsEachStepWithoutAWrite(t *testing.T) {
	t.Parallel()
	for _, steps := range []map[string]sentStep{stepsOfListeners(), stepsInPools(), stepsOfFloatingIPs()} {
		for name, test := range steps {
			l, applier := newLedger(t)
			before := serving("amphora")
			predicted, all, err := rehearse(t, &apply.Rehearsal{Applier: applier}, before, plan.Plan{Steps: []plan.Step{test.step}})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			l.assertSent(t, name)
			ids := slices.Sorted(slices.Values(idsOf(predicted)))
			if slices.Contains(ids, "") || len(slices.Compact(slices.Clone(ids))) != len(ids) {
				t.Errorf("%s: IDs %q", name, ids)
			}
			noIDs := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "ID") }, cmp.Ignore())
			members := cmp.Transformer("members", func(m model.Members) (keys []model.MemberKey) {
				for i := range m.Len() {
					keys = append(keys, m.Key(i))
				}
				return keys
			})
			if diff := cmp.Diff(after(before, test.step), predicted, ofCloud(), noIDs, members); diff != "" {
				t.Errorf("%s: predicted %s", name, diff)
			}
			if len(all) != 1 || len(all[0].steps) != 1 || !slices.Equal(all[0].writes, []int{1}) || cmp.Diff(before, all[0].before, cmpopts.EquateEmpty()) != "" {
				t.Errorf("%s: reported %+v", name, all)
			}
		}
	}
}

// After the rehearsal of a deletion the cloud still has the load balancer: it is not deleted again in the same round.
func TestRehearsal_DoesNothingForALoadBalancerThatItHasDeleted(t *testing.T) {
	t.Parallel()
	_, applier := newLedger(t)
	r := &apply.Rehearsal{Applier: applier}
	deletion := plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: "lb", Cascade: true}}}
	for i, want := range []int{1, 0, 0} {
		predicted, all, err := rehearse(t, r, serving("amphora"), deletion)
		if err != nil || len(all) != want || (predicted.LoadBalancer == nil) != (i == 0) {
			t.Errorf("call %d: reported %+v, predicted %+v, error %v", i, all, predicted.LoadBalancer, err)
		}
	}
	other := serving("amphora")
	other.LoadBalancer.ID = "another"
	if _, all, err := rehearse(t, r, other, plan.Plan{Steps: []plan.Step{plan.FailOver{ID: "another"}}}); err != nil || len(all) != 1 {
		t.Errorf("another load balancer: reported %+v, error %v", all, err)
	}
	if _, all, err := rehearse(t, r, other, plan.Plan{}); err != nil || len(all) > 0 {
		t.Errorf("nothing to do: reported %+v, error %v", all, err)
	}
}

// A full creation without room for all members leaves the others to batches, as the applier does.
func TestRehearsal_LeavesMembersBeyondTheLimitToBatches(t *testing.T) {
	t.Parallel()
	_, applier := newLedger(t)
	lb := serving("amphora").LoadBalancer
	lb.ID, lb.VIP.PortID, lb.Orphans = "", "", nil
	for i := range lb.Listeners {
		lb.Listeners[i].ID, lb.Listeners[i].Pool.ID, lb.Listeners[i].Pool.Monitor.ID = "", "", ""
		lb.Listeners[i].Pool.Members = members(2000, lb.Listeners[i].Port)
	}
	predicted, _, err := rehearse(t, &apply.Rehearsal{Applier: applier}, model.Observed{}, plan.Plan{Steps: []plan.Step{plan.CreateLoadBalancer{LoadBalancer: lb}}})
	if err != nil {
		t.Fatal(err)
	}
	if first, second := predicted.LoadBalancer.Listeners[0].Pool.Members.Len(), predicted.LoadBalancer.Listeners[1].Pool.Members.Len(); first != 2000 || second != 0 {
		t.Errorf("%d and %d members", first, second)
	}
	if slices.Contains(idsOf(predicted), "") {
		t.Error("an object of the creation has no ID")
	}
}

// Only the ports of next hops show how many address pairs are missing.
func TestRehearsal_CountsAddressPairsOfNextHops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step   plan.LeadVIP
		writes int
		reads  int
	}{
		"a port with a pair":    {plan.LeadVIP{To: []string{"10.0.0.11"}}, 1, 1},
		"a port without one":    {plan.LeadVIP{To: []string{"10.0.0.12"}}, 2, 1},
		"both, instead of one":  {plan.LeadVIP{From: []string{"10.0.0.13"}, To: []string{"10.0.0.11", "10.0.0.12"}}, 3, 1},
		"none of another's VIP": {plan.LeadVIP{Address: "10.9.0.8", From: []string{"10.0.0.11"}}, 1, 0},
	} {
		l, applier := newLedger(t)
		applier.VIPs = portsOf(l)
		_, all, err := rehearse(t, &apply.Rehearsal{Applier: applier}, routedVIP(), plan.Plan{Steps: []plan.Step{test.step}})
		if err != nil || len(all) != 1 || !slices.Equal(all[0].writes, []int{test.writes}) || len(l.sent) != test.reads {
			t.Errorf("%s: reported %+v, sent %q, error %v", name, all, l.sent, err)
		}
	}
	l, applier := newLedger(t)
	applier.VIPs = portsOf(l)
	l.answer("PortsWithAddresses", refusal(http.StatusForbidden, ""))
	_, all, err := rehearse(t, &apply.Rehearsal{Applier: applier}, routedVIP(), plan.Plan{Steps: []plan.Step{plan.LeadVIP{To: []string{"10.0.0.11"}}}})
	if !apierror.IsForbidden(err) || len(all) > 0 {
		t.Errorf("ports cannot be read: reported %+v, error %v", all, err)
	}
	_, all, err = rehearse(t, &apply.Rehearsal{Applier: applier}, routedVIP(), plan.Plan{Steps: []plan.Step{plan.LeadVIP{Address: "10.9.0.1", To: []string{"10.0.0.11"}}}})
	if err == nil || len(all) > 0 {
		t.Errorf("a VIP that is gone: reported %+v, error %v", all, err)
	}
}
