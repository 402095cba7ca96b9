package apply_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

func TestRun_ChangesInsertedHeaders(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	for _, headers := range [][]string{nil, {"X-Forwarded-For"}, {"X-Forwarded-For", "X-Forwarded-Proto"}, {"X-Forwarded-Proto"}, nil} {
		desired := e.web(80)
		l := &desired.Listeners[0]
		l.Protocol, l.Pool.Protocol, l.InsertHeaders = model.HTTP, model.HTTP, headers
		e.reach(desired)
	}
}

func TestRun_CreatesNoListenerWithoutItsPool(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	observed := e.reach(e.web(80))
	listener := e.web(80, 443).Listeners[1]
	listener.Pool.Name = "missing"
	_, err := e.run(observed, plan.Plan{Steps: []plan.Step{plan.CreateListener{Listener: listener}}})
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v, want one that names the pool", err)
	}
}

func TestRun_SaysWhatItWaitedForWhenItsTimeIsUp(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Delays: map[string]octavia.Delays{"amphora": {Update: time.Hour}}})
	observed := e.reach(e.web(80))
	desired := e.web(80)
	desired.Listeners[0].Pool.Members = members(2, 81)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	_, err := e.applier.RunUntilItWaits(ctx, cancel, apply.Request{
		ID: us(), Observed: observed, Plan: plan.Diff(desired, observed, plan.Options{}),
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for load balancer "+us().Name()) {
		t.Errorf("error %v", err)
	}
}

// ERROR does not change: no wait is necessary.
func TestSettle_ReadsOnceWhatIsInError(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	lb := e.reach(e.web(80)).LoadBalancer
	if err := e.Cloud.Octavia.SetChildStatus(lb.Listeners[0].Pool.Members.At(0).ID, "ERROR"); err != nil {
		t.Fatal(err)
	}
	e.Cloud.RequestLog.Reset()
	var broken *apply.ChildrenError
	if _, err := e.applier.SettleParts(e.ctx, lb); !errors.As(err, &broken) {
		t.Errorf("error %v", err)
	}
	if reads := e.writes(http.MethodGet, lbaas+"loadbalancers/{id}/status"); reads != 1 {
		t.Errorf("%d requests for the status tree", reads)
	}
}

// An impossible step is an error, and so is one that the cloud refuses.
func TestRun_FailsWithItsStep(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	observed := e.reach(e.web(80))
	member := plan.AddMember{Pool: plan.PoolRef{ID: "missing", Name: "missing"}, Member: members(1, 80).At(0)}
	if _, err := e.run(observed, plan.Plan{Steps: []plan.Step{member}}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v, want one that names the pool", err)
	}
	e.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: lbaas + "loadbalancers/{id}", Status: http.StatusForbidden})
	id := observed.LoadBalancer.ID
	after, err := e.run(observed, plan.Plan{Steps: []plan.Step{plan.DeleteLoadBalancer{ID: id, Cascade: true}}})
	if !apierror.IsForbidden(err) || after.LoadBalancer == nil || after.LoadBalancer.ID != id {
		t.Errorf("error %v, and then there is %+v", err, after.LoadBalancer)
	}
}

func TestRun_DescribesTheFloatingIPThatItTakes(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	desired := e.web(80)
	desired.FloatingIP = nil
	observed := e.reach(desired)
	kept, err := e.applier.Neutron.CreateFloatingIP(e.ctx, floatingips.CreateOpts{FloatingNetworkID: e.Cloud.ExternalNetwork.ID, Description: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	observed.UnattachedFloatingIPs = []model.FloatingIP{{ID: kept.ID, Address: kept.FloatingIP, Description: "kept", NetworkID: e.Cloud.ExternalNetwork.ID, Retained: true}}
	if _, err := e.run(observed, plan.Diff(e.web(80), observed, plan.Options{})); err != nil {
		t.Fatal(err)
	}
	if all := e.Cloud.Neutron.FloatingIPs(); len(all) != 1 || all[0].Description != us().FloatingIPs().Description() || all[0].PortID != observed.LoadBalancer.VIP.PortID {
		t.Errorf("%+v", all)
	}
}

func TestRun_ChangesTheTimeoutOfSessions(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	for _, timeout := range []int{60, 600, 0, 60} {
		desired := e.web(53)
		l := &desired.Listeners[0]
		l.Protocol, l.Pool.Protocol, l.Pool.Monitor = model.UDP, model.UDP, nil
		l.Pool.Persistence = model.Persistence{Type: model.SourceIP, Timeout: timeout}
		e.reach(desired)
	}
}

// The service may still work on a creation with a lost answer, unless it has reported the failure
// itself.
func TestRun_LooksLongerForACreationThatMayBeUnderWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule  faults.Rule
		looks int
	}{
		"lost":   {faults.Rule{Drop: true}, 3},
		"failed": {faults.Rule{Status: http.StatusInternalServerError, Worded: true}, 1},
	} {
		e := newEnvironment(t, simulator.Options{})
		e.Cloud.Faults.Add(once(http.MethodPost, lbaas+"loadbalancers", test.rule))
		e.Cloud.RequestLog.Reset()
		if _, err := e.run(model.Observed{}, plan.Diff(e.web(80), model.Observed{}, plan.Options{})); err == nil {
			t.Errorf("%s: no error", name)
		}
		if looks := e.writes(http.MethodGet, lbaas+"loadbalancers"); looks != test.looks {
			t.Errorf("%s: looked %d times, want %d", name, looks, test.looks)
		}
	}
}

func TestRun_SendsNothingMoreToALoadBalancerThatFails(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Delays: map[string]octavia.Delays{"amphora": {Update: time.Hour}}})
	observed := e.reach(e.web(80))
	desired := e.web(80)
	desired.Listeners[0].Pool.Members, desired.Listeners[0].Pool.Monitor.Delay = members(2, 81), 30
	todo := plan.Diff(desired, observed, plan.Options{})
	if len(todo.Steps) < 2 {
		t.Fatalf("one step would be all:\n%s", todo)
	}
	e.Cloud.RequestLog.Reset()
	run := apply.NewRun(apply.Request{ID: us(), Observed: observed, Plan: todo})
	var slot async.Slot
	slot.Wake = func() {}
	if _, err := e.applier.Continue(async.WithSlot(e.ctx, &slot), run); !async.IsWaiting(err) {
		t.Fatalf("it does not wait: %v", err)
	}
	if err := e.Cloud.Octavia.SetProvisioningStatus(observed.LoadBalancer.ID, "ERROR"); err != nil {
		t.Error(err)
	}
	slot.Clear()
	_, err := e.applier.Continue(e.ctx, run)
	var failed *apply.LoadBalancerError
	if !errors.As(err, &failed) {
		t.Errorf("error %v", err)
	}
	if writes := e.Cloud.RequestLog.Requests(requestlog.Writes()); len(writes) != 1 {
		t.Errorf("sent %v", writes)
	}
}
