package apply_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// A load balancer accepts one change at a time. Steps that do not change it do not wait for it, unless they depend on
// the result of the change.
func TestRun_WaitsForAChangeOnlyBeforeStepsThatNeedItsEnd(t *testing.T) {
	t.Parallel()
	const accepted, sound = "LoadBalancerState", "LoadBalancerState StatusTree"
	udp := func(o *model.Observed) {
		l := &o.LoadBalancer.Listeners[1]
		l.Protocol, l.Pool.Protocol = model.UDP, model.UDP
	}
	forwarded := func(o *model.Observed) {
		o.Duplicates = []model.LoadBalancer{{ID: "moving", Provider: driver.PortForwarding, FloatingIP: &model.FloatingIP{ID: "moving"}}}
	}
	setting := plan.UpdateLoadBalancer{ID: "lb", To: model.VIPSettings{QoSPolicyID: "q"}}
	algorithm, removePool, members := stepsInPools()["algorithm"].step, plan.DeletePool{ID: "spare", Name: "spare"}, stepsInPools()["members"].step
	fips := stepsOfFloatingIPs()
	for name, test := range map[string]struct {
		provider    string
		change      func(*model.Observed)
		first, then plan.Step
		request     string // of the second step
		waits       string
	}{
		"setting":                            {"amphora", nil, setting, algorithm, "UpdatePool", accepted},
		"setting after members":              {"amphora", nil, members, setting, "UpdateLoadBalancer", accepted},
		"setting after members on ovn":       {"ovn", nil, members, setting, "UpdateLoadBalancer", sound},
		"setting after a setting on ovn":     {"ovn", nil, setting, algorithm, "UpdatePool", accepted},
		"failover":                           {"amphora", nil, setting, plan.FailOver{ID: "lb"}, "FailOver", accepted},
		"floating IP":                        {"amphora", nil, setting, fips["create"].step, "CreateFloatingIP", ""},
		"floating IP on ovn":                 {"ovn", nil, setting, fips["create"].step, "CreateFloatingIP", ""},
		"floating IP of two transports":      {"amphora", udp, setting, fips["create"].step, "CreateFloatingIP", ""},
		"the same on ovn":                    {"ovn", udp, setting, fips["create"].step, "CreateFloatingIP", sound},
		"a free one on ovn":                  {"ovn", udp, setting, fips["associate"].step, "UpdateFloatingIP", sound},
		"one beside on ovn":                  {"ovn", udp, setting, fips["create beside"].step, "CreateFloatingIP", ""},
		"one that moves":                     {"amphora", nil, setting, fips["move"].step, "UpdateFloatingIP", sound},
		"one that is claimed":                {"ovn", udp, setting, fips["claim"].step, "UpdateFloatingIP", ""},
		"one that is taken off":              {"ovn", udp, setting, fips["take off"].step, "UpdateFloatingIP", ""},
		"one that is deleted":                {"ovn", udp, setting, fips["delete"].step, "DeleteFloatingIP", ""},
		"port forwardings of a replaced one": {"amphora", forwarded, setting, plan.SetForwardings{FloatingIP: model.FloatingIP{ID: "moving"}, From: []model.Forwarding{{ID: "f"}}}, "DeleteForwarding", sound},
		"deletion with all parts":            {"amphora", nil, setting, plan.DeleteLoadBalancer{ID: "lb", Cascade: true}, "DeleteLoadBalancer", ""},
		"deletion of a replaced one":         {"amphora", nil, setting, plan.DeleteLoadBalancer{ID: "old", Replaced: true}, "DeleteLoadBalancer", sound},
		"deletion without parts":             {"amphora", nil, setting, plan.DeleteLoadBalancer{ID: "lb"}, "DeleteLoadBalancer", accepted},
		"deletion after that of a pool":      {"amphora", nil, removePool, plan.DeleteLoadBalancer{ID: "lb"}, "DeleteLoadBalancer", accepted},
		"the same on ovn, with the pool":     {"ovn", nil, removePool, plan.DeleteLoadBalancer{ID: "lb"}, "DeleteLoadBalancer", accepted + " Pool"},
	} {
		l, applier := newLedger(t)
		observed := serving(test.provider)
		if test.change != nil {
			test.change(&observed)
		}
		l.lb = after(observed, test.first).LoadBalancer
		if deletes, is := test.then.(plan.DeleteLoadBalancer); is {
			l.goneAfter(deletes.ID, test.request)
		}
		_, err := l.apply(t, applier, observed, test.first, test.then)
		if err != nil && test.request != "UpdateLoadBalancer" && test.request != "FailOver" { // the tree lacks the second change
			var changed *apply.ChangedError
			if !errors.As(err, &changed) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		sent := words(l.sent)
		at := slices.Index(sent[1:], test.request)
		if at < 0 || strings.Join(sent[1:1+at], " ") != test.waits {
			t.Errorf("%s: sent %q, want %q before %s", name, sent, test.waits, test.request)
		}
	}
}

// A driver that reports a new load balancer ACTIVE before its parts gets the next change when these are.
func TestRun_WaitsForThePartsOfACreationOnlyWhereTheDriverIsEarly(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][]string{
		"amphora": {"CreateLoadBalancer", "LoadBalancerState", "UpdateLoadBalancer", "LoadBalancerState", "FailOver"},
		"ovn":     {"CreateLoadBalancer", "LoadBalancerState", "StatusTree", "UpdateLoadBalancer", "LoadBalancerState", "FailOver"},
	} {
		l, applier := newLedger(t)
		l.lb = &model.LoadBalancer{ID: "made", Status: model.Status{Provisioning: model.StatusActive}}
		l.answer("FailOver", refusal(http.StatusBadRequest, "")) // the end
		create := plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Name: "web", Provider: provider}}
		observed, err := l.apply(t, applier, model.Observed{}, create, plan.UpdateLoadBalancer{ID: "made"}, plan.FailOver{ID: "made"})
		if sent := words(l.sent); !slices.Equal(sent, want) || apierror.StatusCode(err) != http.StatusBadRequest || observed.LoadBalancer.ID != "made" {
			t.Errorf("%s: sent %q, error %v", provider, sent, err)
		}
	}
	l, applier := newLedger(t)
	l.answer("StatusTree", refusal(http.StatusForbidden, ""))
	_, err := l.apply(t, applier, model.Observed{}, plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Name: "web", Provider: "ovn"}}, plan.UpdateLoadBalancer{ID: "made"})
	if sent := words(l.sent); !slices.Equal(sent, []string{"CreateLoadBalancer", "LoadBalancerState", "StatusTree"}) || !apierror.IsForbidden(err) {
		t.Errorf("parts cannot be read: sent %q, error %v", sent, err)
	}
}

// A pool with members leaves later than its load balancer is ACTIVE, as long as members go.
func TestRun_WaitsUntilADeletedPoolIsGone(t *testing.T) {
	t.Parallel()
	gone := refusal(http.StatusNotFound, "")
	pool := func(members int) *octavia.Pool { return &octavia.Pool{Members: make([]octavia.ObjectID, members)} }
	remove := plan.DeletePool{ID: "spare", Name: "spare"}
	for name, test := range map[string]struct {
		provider string
		pools    []any
		reads    int
		status   int
	}{
		"amphora":       {"amphora", nil, 0, 0},
		"gone at once":  {"ovn", []any{gone}, 1, 0},
		"gone later":    {"ovn", []any{pool(2), pool(1), pool(0), gone}, 4, 0},
		"read is wrong": {"ovn", []any{pool(2), refusal(http.StatusBadRequest, "")}, 2, http.StatusBadRequest},
	} {
		l, applier := newLedger(t)
		l.lb = after(serving(test.provider), remove).LoadBalancer
		l.answer("Pool", test.pools...)
		_, err := l.apply(t, applier, serving(test.provider), remove)
		reads := 0
		for _, word := range words(l.sent) {
			if word == "Pool" {
				reads++
			}
		}
		if reads != test.reads || apierror.StatusCode(err) != test.status || err != nil && test.status == 0 {
			t.Errorf("%s: sent %q, error %v", name, words(l.sent), err)
		}
	}

	l, applier := newImpatient(t)
	for range 1000 { // as long as the test lasts
		l.answer("Pool", pool(2))
	}
	start := time.Now()
	_, err := l.apply(t, applier, serving("ovn"), remove)
	var changed *apply.ChangedError
	if !errors.As(err, &changed) || !changed.ByDriver || !strings.Contains(err.Error(), "pool spare still exists after its deletion") || time.Since(start) < childTimeout {
		t.Errorf("a pool that stays: after %s %v", time.Since(start), err)
	}
}

// A change that a busy load balancer refuses is sent again when that is ACTIVE and, with a driver that has a queue, the
// pool is.
func TestRun_SendsARefusedChangeAgainOnceTheLoadBalancerIsFree(t *testing.T) {
	t.Parallel()
	const free = "LoadBalancerState"
	locked := refusal(http.StatusConflict, `{"faultstring": "Load Balancer lb is immutable and cannot be updated."}`)
	pending, ready := &octavia.Pool{ProvisioningStatus: "PENDING_UPDATE"}, &octavia.Pool{ProvisioningStatus: "ACTIVE"}
	for name, test := range map[string]struct {
		provider string
		step     string
		pools    []any
		want     []string
	}{
		"amphora":           {"amphora", "member", nil, []string{"AddMember", free, "AddMember", free, "StatusTree"}},
		"pool is ready":     {"ovn", "member", []any{ready}, []string{"AddMember", free, "Pool", "AddMember", free, "StatusTree"}},
		"pool is busy":      {"ovn", "member", []any{pending, pending, ready}, []string{"AddMember", free, "Pool", "Pool", "Pool", "AddMember", free, "StatusTree"}},
		"pool is gone":      {"ovn", "member", []any{refusal(http.StatusNotFound, "")}, []string{"AddMember", free, "Pool", "AddMember", free, "StatusTree"}},
		"pool is forbidden": {"ovn", "member", []any{refusal(http.StatusForbidden, "")}, []string{"AddMember", free, "Pool"}},
	} {
		l, applier := newLedger(t)
		step := stepsInPools()[test.step].step
		l.lb = after(serving(test.provider), step).LoadBalancer
		l.answer("AddMember", locked)
		l.answer("Pool", test.pools...)
		observed, err := l.apply(t, applier, serving(test.provider), step)
		if sent := words(l.sent); !slices.Equal(sent, test.want) || !observed.Contended || (err != nil) != (name == "pool is forbidden") {
			t.Errorf("%s: sent %q, contended %t, error %v", name, sent, observed.Contended, err)
		}
	}

	l, applier := newLedger(t) // it is being brought out of ERROR
	l.answer("FailOver", locked)
	_, err := l.apply(t, applier, serving("amphora"), plan.FailOver{ID: "lb"})
	var changed *apply.ChangedError
	if !errors.As(err, &changed) || changed.ByDriver || changed.ID != "lb" {
		t.Errorf("failover: %v", err)
	}
	l.assertSent(t, "failover", "FailOver lb")

	l, applier = newLedger(t) // another client holds the load balancer to be deleted
	l.answer("DeleteLoadBalancer", locked)
	l.goneAfter("old", "DeleteLoadBalancer", "DeleteLoadBalancer")
	if _, err := l.apply(t, applier, serving("amphora"), plan.DeleteLoadBalancer{ID: "old"}); err != nil {
		t.Errorf("deletion: %v", err)
	}
	l.assertSent(t, "deletion", "DeleteLoadBalancer old false", "LoadBalancerState old", "DeleteLoadBalancer old false", "LoadBalancerState old")

	l, applier = newLedger(t) // there is none that another client could hold
	l.answer("CreateLoadBalancer", locked)
	if _, err := l.apply(t, applier, model.Observed{}, plan.CreateLoadBalancer{LoadBalancer: &model.LoadBalancer{Name: "web"}}); !apierror.IsLocked(err) {
		t.Errorf("creation: %v", err)
	}
	l.assertSent(t, "creation", "CreateLoadBalancer web")
}

// A driver with a queue reports a load balancer ACTIVE again before it deletes it.
func TestRun_WaitsUntilADeletedLoadBalancerIsGone(t *testing.T) {
	t.Parallel()
	deleting := plan.DeleteLoadBalancer{ID: "old", Cascade: true}
	for name, test := range map[string]struct {
		states []any
		want   string
	}{
		"gone":             {[]any{refusal(http.StatusNotFound, "")}, ""},
		"ACTIVE, then":     {[]any{"ACTIVE", "PENDING_DELETE", "ACTIVE", refusal(http.StatusNotFound, "")}, ""},
		"ERROR":            {[]any{"ERROR"}, "is ERROR after its deletion"},
		"ACTIVE for good":  {nil, "is ACTIVE after its deletion"},
		"cannot be read":   {[]any{refusal(http.StatusForbidden, "")}, "wait for the end of load balancer old"},
		"deleted, as such": {[]any{"DELETED"}, ""},
	} {
		l, applier := newLedger(t)
		if test.states == nil {
			l, applier = newImpatient(t)
		}
		for _, status := range test.states {
			if text, is := status.(string); is {
				status = octavia.LoadBalancerState{ProvisioningStatus: text}
			}
			l.answer("LoadBalancerState", status)
		}
		observed, err := l.apply(t, applier, serving("amphora"), deleting)
		if (err == nil) != (test.want == "") || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if len(observed.Duplicates) > 0 {
			t.Errorf("%s: the state still has what is being deleted", name)
		}
	}
}
