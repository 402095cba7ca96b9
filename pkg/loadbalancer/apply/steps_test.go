package apply_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
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
	_, err := e.applier.Run(ctx, apply.Request{
		ID: us(), Observed: observed, Plan: plan.Diff(desired, observed, plan.Options{}),
		Progress: func(time.Duration) { cancel() },
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "wait for load balancer "+us().Name()) {
		t.Errorf("error %v", err)
	}
}

// What is in ERROR stays so: it is not waited for.
func TestSettle_ReadsOnceWhatIsInError(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	lb := e.reach(e.web(80)).LoadBalancer
	if err := e.Cloud.Octavia.SetChildStatus(lb.Listeners[0].Pool.Members[0].ID, "ERROR"); err != nil {
		t.Fatal(err)
	}
	e.Cloud.RequestLog.Reset()
	var broken *apply.ChildrenError
	if _, err := e.applier.Settle(e.ctx, lb); !errors.As(err, &broken) {
		t.Errorf("error %v", err)
	}
	if reads := e.writes(http.MethodGet, lbaas+"loadbalancers/{id}/status"); reads != 1 {
		t.Errorf("%d requests for the status tree", reads)
	}
}
