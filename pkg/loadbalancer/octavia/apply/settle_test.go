package apply_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// shows returns serving with changes, as a status tree shows it.
func shows(provider string, changes ...func(*model.LoadBalancer)) *model.LoadBalancer {
	lb := serving(provider).LoadBalancer
	for _, change := range changes {
		change(lb)
	}
	return lb
}

// statusOf sets the status of a member of port 80, of its pool and of its listener.
func statusOf(member, pool, listener string) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		l := lb.Listener(of80().Key)
		l.Status.Provisioning, l.Pool.Status.Provisioning = listener, pool
		l.Pool.Members = l.Pool.Members.Map(func(i int, m model.Member) model.Member {
			if i == 0 {
				m.Status.Provisioning = member
			}
			return m
		})
	}
}

// An ACTIVE load balancer is read until its parts have a final status.
func TestSettle_ReadsUntilAllPartsAreFinal(t *testing.T) {
	t.Parallel()
	const active, pending, failed = "ACTIVE", "PENDING_UPDATE", "ERROR"
	whole := func(status string) func(*model.LoadBalancer) {
		return func(lb *model.LoadBalancer) { lb.Status.Provisioning = status }
	}
	less := func(lb *model.LoadBalancer) { lb.Listeners = lb.Listeners[:1] }
	more := func(lb *model.LoadBalancer) {
		lb.Listeners = append(lb.Listeners, model.Listener{ID: "x", Name: "theirs", Protocol: model.Prometheus, Port: 9, Status: model.Status{Provisioning: active}})
	}
	for name, test := range map[string]struct {
		trees    []any
		children int    // of a *ChildrenError
		changed  string // of a *ChangedError
		status   int    // of another error
	}{
		"sound":                  {[]any{shows("amphora")}, 0, "", 0},
		"sound later":            {[]any{shows("amphora", statusOf(pending, pending, pending)), shows("amphora", statusOf(pending, active, active)), shows("amphora")}, 0, "", 0},
		"as a whole pending":     {[]any{shows("amphora", whole(pending)), shows("amphora")}, 0, "", 0},
		"failed":                 {[]any{shows("amphora", statusOf(failed, active, active))}, 1, "", 0},
		"failed, others pending": {[]any{shows("amphora", statusOf(failed, pending, active)), shows("amphora", statusOf(failed, active, active))}, 1, "", 0},
		"failed, all pending":    {[]any{shows("amphora", statusOf(failed, active, active), whole(pending)), shows("amphora", statusOf(failed, failed, active))}, 2, "", 0},
		"a part is gone":         {[]any{shows("amphora", less)}, 0, "is gone", 0},
		"a part is new":          {[]any{shows("amphora", more)}, 0, "listener theirs is new", 0},
		"cannot be read":         {[]any{refusal(http.StatusForbidden, "")}, 0, "", http.StatusForbidden},
		"cannot be read later":   {[]any{shows("amphora", statusOf(pending, active, active)), refusal(http.StatusForbidden, "")}, 0, "", http.StatusForbidden},
	} {
		l, applier := newLedger(t)
		l.answer("StatusTree", test.trees...)
		lb := shows("amphora")
		got, err := applier.SettleParts(t.Context(), lb)
		var broken *apply.ChildrenError
		var changed *apply.ChangedError
		switch {
		case test.children > 0:
			if !errors.As(err, &broken) || len(broken.Children) != test.children || broken.Pending() {
				t.Errorf("%s: error %v", name, err)
			}
		case test.changed != "":
			if !errors.As(err, &changed) || !strings.Contains(changed.How, test.changed) || changed.ByDriver {
				t.Errorf("%s: error %v", name, err)
			}
		case apierror.StatusCode(err) != test.status || err != nil && test.status == 0:
			t.Errorf("%s: error %v", name, err)
		}
		if last, is := test.trees[len(test.trees)-1].(*model.LoadBalancer); is && test.changed == "" {
			if diff := cmp.Diff(last, got); diff != "" {
				t.Errorf("%s: the result lacks the last statuses: %s", name, diff)
			}
		} else if !is && got != lb {
			t.Errorf("%s: the result is another one beside the error of a read", name)
		}
		if diff := cmp.Diff(shows("amphora"), lb); diff != "" {
			t.Errorf("%s: its argument is changed: %s", name, diff)
		}
		if len(l.sent) != len(test.trees) {
			t.Errorf("%s: %d reads, want %d", name, len(l.sent), len(test.trees))
		}
	}
}

// Parts that stay PENDING are waited for as long as there is progress: fewer of them or, with a driver that changes
// members one by one, any report.
func TestSettle_GivesUpWithoutProgress(t *testing.T) {
	t.Parallel()
	stuck := statusOf("PENDING_UPDATE", "PENDING_UPDATE", "ACTIVE")
	for name, test := range map[string]struct {
		provider string
		reports  int // of the driver, each a ChildTimeout after the last
		least    time.Duration
	}{
		"amphora":            {"amphora", 5, childTimeout},
		"ovn":                {"ovn", 0, childTimeout},
		"ovn, still at work": {"ovn", 2, 3 * childTimeout},
	} {
		l, applier := newImpatient(t)
		l.lb = shows(test.provider, stuck)
		for i := range test.reports {
			l.answer("LoadBalancerState", octavia.LoadBalancerState{ProvisioningStatus: "ACTIVE", UpdatedAt: time.Unix(int64(i+1), 0)})
		}
		if test.reports > 0 { // and then always the last one
			for range 1000 {
				l.answer("LoadBalancerState", octavia.LoadBalancerState{ProvisioningStatus: "ACTIVE", UpdatedAt: time.Unix(int64(test.reports), 0)})
			}
		}
		start := time.Now()
		_, err := applier.SettleParts(t.Context(), shows(test.provider))
		var broken *apply.ChildrenError
		if !errors.As(err, &broken) || !broken.Pending() || len(broken.Children) != 2 || time.Since(start) < test.least {
			t.Errorf("%s: after %s %v", name, time.Since(start), err)
		}
	}
	l, applier := newImpatient(t)
	l.lb = shows("ovn", stuck)
	l.answer("LoadBalancerState", refusal(http.StatusForbidden, ""))
	if _, err := applier.SettleParts(t.Context(), shows("ovn")); !apierror.IsForbidden(err) {
		t.Errorf("no answer whether the driver is at work: %v", err)
	}
}

// The end of a removal shows that a driver that changes members one by one has done a batch. What it loses meanwhile is
// its own change.
func TestRun_WaitsForTheEndOfRemovalsBeforeItComparesMembers(t *testing.T) {
	t.Parallel()
	pool := shows("ovn").Listener(of80().Key).Pool
	a, b := pool.Members.Slice(0, 1), pool.Members.Slice(1, 2)
	batch := plan.SetMembers{Pool: of80(), Members: b, Removed: a, Changed: b}
	with := func(members model.Members) *model.LoadBalancer {
		return shows("ovn", func(lb *model.LoadBalancer) {
			lb.Listener(of80().Key).Pool.Members = members
		})
	}
	failed := a.Map(func(_ int, m model.Member) model.Member { m.Status.Provisioning = "ERROR"; return m })
	single := plan.RemoveMember{Pool: of80(), Member: a.At(0)}
	for name, test := range map[string]struct {
		provider string
		step     plan.Step
		trees    []any
		want     string // of the error
		byDriver bool
	}{
		"removed at once":      {"ovn", batch, []any{with(b)}, "", false},
		"removed later":        {"ovn", batch, []any{with(pool.Members), with(a), with(b)}, "", false},
		"one by one":           {"ovn", single, []any{with(pool.Members), with(b)}, "", false},
		"lost another":         {"ovn", batch, []any{with(a), with(model.Members{})}, "is not as the last change has left it", true},
		"lost one, one by one": {"ovn", single, []any{with(model.Members{})}, "was changed by another client", false},
		"lost one on amphora":  {"amphora", batch, []any{with(model.Members{})}, "was changed by another client", false},
		"not removed":          {"ovn", batch, []any{with(pool.Members.With(failed))}, "1 members of listener TCP/80 are new", true},
		"never removed":        {"ovn", batch, nil, "member node-a still exists after its removal", true},
	} {
		l, applier := newLedger(t)
		if test.trees == nil {
			l, applier = newImpatient(t)
		}
		l.lb = with(pool.Members)
		l.answer("StatusTree", test.trees...)
		got, err := l.apply(t, applier, serving(test.provider), test.step)
		if test.want == "" {
			if err != nil || got.LoadBalancer.Listener(of80().Key).Pool.Members.Len() != 1 {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		var changed *apply.ChangedError
		if !errors.As(err, &changed) || changed.ByDriver != test.byDriver || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

// A member that is removed and added again must exist at the end, so that no end of it is waited for.
func TestRun_WaitsForNoMemberThatComesBack(t *testing.T) {
	t.Parallel()
	pool := shows("ovn").Listener(of80().Key).Pool
	all, a := pool.Members, pool.Members.Slice(0, 1)
	without := a.Map(func(_ int, m model.Member) model.Member { m.ID = ""; return m })
	again := without.At(0)
	for name, back := range map[string]plan.Step{
		"added":      plan.AddMember{Pool: of80(), Member: again},
		"changed":    plan.UpdateMember{Pool: of80(), From: again, To: again},
		"in a batch": plan.SetMembers{Pool: of80(), Members: all, Added: without},
	} {
		l, applier := newLedger(t)
		l.lb = shows("amphora")
		for range 3 { // the one that came back has another ID
			l.answer("StatusTree", shows("amphora"))
		}
		removed := plan.SetMembers{Pool: of80(), Members: all.Slice(1, 2), Removed: without}
		if _, err := l.apply(t, applier, serving("amphora"), removed, back); err != nil && strings.Contains(err.Error(), "still exists") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRun_FailsWhereTheLoadBalancerFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state any
		want  string
	}{
		"in ERROR":       {octavia.LoadBalancerState{ProvisioningStatus: "ERROR"}, "load balancer web (lb) is ERROR"},
		"gone":           {refusal(http.StatusNotFound, ""), "load balancer web (lb) is gone"},
		"cannot be read": {refusal(http.StatusForbidden, ""), "wait for load balancer web (lb)"},
	} {
		for _, next := range []plan.Step{plan.UpdateLoadBalancer{ID: "lb"}, plan.DeleteLoadBalancer{ID: "lb"}} {
			l, applier := newLedger(t)
			l.answer("LoadBalancerState", test.state)
			observed, err := l.apply(t, applier, serving("amphora"), plan.UpdateLoadBalancer{ID: "lb", SwitchOn: true}, next)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v", name, err)
			}
			if name == "in ERROR" && !observed.LoadBalancer.Status.Failed() {
				t.Errorf("%s: status %+v", name, observed.LoadBalancer.Status)
			}
			l.assertSent(t, name, `UpdateLoadBalancer lb {"admin_state_up":true}`, "LoadBalancerState lb")
		}
	}
}

// The driver's work on the members of a pool is what later waits expect.
func TestRun_MeasuresChangesOfMembersPerPool(t *testing.T) {
	t.Parallel()
	l, applier := newLedger(t)
	steps := []plan.Step{stepsInPools()["member"].step, stepsInPools()["member removed"].step}
	l.lb = after(serving("amphora"), steps...).LoadBalancer
	run := apply.NewRun(apply.Request{ID: us(), Observed: serving("amphora"), Plan: plan.Plan{Steps: steps}})
	if _, err := applier.Continue(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	took, known := applier.Watcher.Took(watcher.Kind{Provider: "amphora", Operation: watcher.ChangingMembers})
	if run.MembersTook() <= 0 || !known || took != run.MembersTook() {
		t.Errorf("members took %s, recorded %s, %t", run.MembersTook(), took, known)
	}
	l, applier = newLedger(t)
	l.lb = shows("amphora")
	run = apply.NewRun(apply.Request{ID: us(), Observed: serving("amphora"), Plan: plan.Plan{Steps: []plan.Step{plan.UpdateLoadBalancer{ID: "lb"}}}})
	if _, err := applier.Continue(t.Context(), run); err != nil || run.MembersTook() != 0 {
		t.Errorf("a change of a setting: error %v, members took %s", err, run.MembersTook())
	}
}

// Before the next step, only members must be final; the rest of the plan may mend failed parts.
func TestRun_WaitsForNothingButMembersBetweenSteps(t *testing.T) {
	t.Parallel()
	const active, pending, failed = "ACTIVE", "PENDING_UPDATE", "ERROR"
	batch := plan.SetMembers{Pool: of80(), Members: shows("ovn").Listener(of80().Key).Pool.Members}
	for name, test := range map[string]struct {
		trees []any
		reads int
	}{
		"members are final":   {[]any{shows("ovn")}, 1},
		"a member is pending": {[]any{shows("ovn", statusOf(pending, active, active)), shows("ovn", statusOf(failed, active, active))}, 2},
		"a member has failed": {[]any{shows("ovn", statusOf(failed, active, active))}, 1},
		"a pool is pending":   {[]any{shows("ovn", statusOf(active, pending, pending))}, 1},
	} {
		l, applier := newLedger(t)
		l.answer("StatusTree", test.trees...)
		l.answer("UpdateLoadBalancer", refusal(http.StatusBadRequest, "")) // the end
		_, err := l.apply(t, applier, serving("ovn"), batch, plan.UpdateLoadBalancer{ID: "lb"})
		reads := slices.DeleteFunc(words(l.sent), func(word string) bool { return word != "StatusTree" })
		if len(reads) != test.reads || apierror.StatusCode(err) != http.StatusBadRequest {
			t.Errorf("%s: sent %q, error %v", name, words(l.sent), err)
		}
	}
	l, applier := newImpatient(t)
	l.lb = shows("ovn", statusOf(pending, active, active))
	l.answer("UpdateLoadBalancer", refusal(http.StatusBadRequest, ""))
	if _, err := l.apply(t, applier, serving("ovn"), batch, plan.UpdateLoadBalancer{ID: "lb"}); apierror.StatusCode(err) != http.StatusBadRequest {
		t.Errorf("a member that stays pending: %v", err)
	}
}
