package loadbalancer_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const failoverRoute = lbRoute + "/*/failover"

// failed sets the Service's load balancer to ERROR.
func (env *environment) failed() octavia.LoadBalancer {
	env.T.Helper()
	lb := env.loadBalancer()
	if err := env.Cloud.Octavia.SetProvisioningStatus(lb.ID, octavia.Error); err != nil {
		env.T.Fatal(err)
	}
	return lb
}

// failovers returns the number of requested failovers since the last reset.
func (env *environment) failovers() int {
	n := 0
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if strings.HasSuffix(r.Path, "/failover") {
			n++
		}
	}
	return n
}

// A published load balancer in ERROR is failed over if the user may do so. It keeps its ID, its
// addresses and all its parts, and follows its nodes again.
//
//proves:82
func TestFailover_LeadsPublishedLoadBalancerOutOfError(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Cloud.Octavia.OpenFailover(true)
	nodes, svc := env.nodes(3), service("web", 2)
	env.ensure(svc, nodes[:2])
	address := svc.Status.LoadBalancer.Ingress[0].IP
	before := env.failed()
	env.Cloud.RequestLog.Reset()
	env.repair(svc, nodes[:2])
	env.writes(1)
	if n := env.failovers(); n != 1 {
		t.Errorf("%d failovers, want one", n)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "fail over, as it is in ERROR") || strings.Contains(emitted, "another client") {
		t.Errorf("events:\n%s", emitted)
	}
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if lb.ID != before.ID || lb.ProvisioningStatus != octavia.Active || len(lb.Pools[0].Members) != 3 {
		t.Errorf("load balancer %s is %s with %d members, want %s with 3", lb.ID, lb.ProvisioningStatus, len(lb.Pools[0].Members), before.ID)
	}
	env.serves(svc, address)
	env.unchanged(svc, nodes)
}

// A refusal for lack of a role is remembered for all load balancers. The event on each is emitted
// once, with the time of the ERROR and the request for the cloud's operator. Other Services are
// served.
//
//proves:82
func TestFailover_IsNotAskedForAgainWithoutRole(t *testing.T) {
	t.Parallel()
	now := &shiftedClock{}
	env := newEnvironment(t, environmentOptions{clock: now})
	nodes, first := env.nodes(1), service("first", 1)
	env.ensure(first, nodes)
	before := env.failed()
	env.emitted()
	env.Cloud.RequestLog.Reset()
	env.notice(first)
	for range 3 {
		env.refused(first, nodes, "is in ERROR since 2")
	}
	if n := env.failovers(); n != 1 {
		t.Errorf("%d failovers asked for, want one", n)
	}
	env.writes(1)
	emitted := env.emitted()
	if n := strings.Count(emitted, "LoadBalancerInError"); n != 1 || !strings.Contains(emitted, "openstack loadbalancer failover "+before.ID) || !strings.Contains(emitted, "role load-balancer_admin") {
		t.Errorf("%d events of an ERROR, want one that says what to do:\n%s", n, emitted)
	}
	env.ensure(service("second", 1), nodes)
	now.step(6*time.Hour + time.Minute)
	env.Cloud.Octavia.OpenFailover(true)
	env.ensure(first, nodes)
	env.loadBalancers(2)
	if n := env.failovers(); n != 2 {
		t.Errorf("%d failovers asked for after the role was given, want another one", n)
	}
	env.unchanged(first, nodes)
}

// A load balancer that fails repeatedly is failed over three times within a day, with growing
// pauses.
//
//proves:82
func TestFailover_IsBoundedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	now := &shiftedClock{}
	env := newEnvironment(t, environmentOptions{clock: now})
	env.Cloud.Octavia.OpenFailover(true)
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	before := env.failed()
	env.Cloud.Octavia.FailNext(octavia.OperationFailover, 3)
	env.Cloud.RequestLog.Reset()
	env.notice(svc)
	for i, round := range []struct {
		after time.Duration
		asked int
		says  string
	}{
		{0, 1, "ERROR"}, {time.Minute, 1, "the next one is not before"}, {10 * time.Minute, 2, "ERROR"},
		{10 * time.Minute, 2, "the next one is not before"}, {time.Hour, 3, "ERROR"}, {2 * time.Hour, 3, "3 failovers did not help"},
	} {
		now.step(round.after)
		env.refused(svc, nodes, round.says)
		if n := env.failovers(); n != round.asked {
			t.Fatalf("round %d: %d failovers, want %d", i, n, round.asked)
		}
	}
	now.step(24 * time.Hour)
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.ID != before.ID || lb.ProvisioningStatus != octavia.Active {
		t.Errorf("load balancer %s is %s, want %s, ACTIVE", lb.ID, lb.ProvisioningStatus, before.ID)
	}
}

// A process that finds a load balancer in ERROR cannot know whether the previous process has just
// failed it over.
//
//proves:82
func TestFailover_AfterRestartWaitsForThatOfLastProcess(t *testing.T) {
	t.Parallel()
	now := &shiftedClock{}
	env := newEnvironment(t, environmentOptions{clock: now})
	env.Cloud.Octavia.OpenFailover(true)
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	env.failed()
	for range 3 {
		env.restart()
		env.Cloud.RequestLog.Reset()
		env.refused(svc, nodes, "may just have failed it over")
		env.writes(0)
	}
	now.step(11 * time.Minute)
	env.ensure(svc, nodes)
	if n := env.failovers(); n != 1 {
		t.Errorf("%d failovers, want one", n)
	}
}

// Without a possible failover, the load balancer is replaced if the Service permits it. Otherwise
// it is left unchanged, and an event reports that.
//
//proves:82
func TestFailover_GivesWayToReplacementWherePermitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		open     bool
		asked    int
		says     string
	}{
		"amphora without the role":     {"amphora", false, 1, "role load-balancer_admin"},
		"amphora whose failover fails": {"amphora", true, 1, "did not help"},
		"ovn":                          {"ovn", true, 0, "the provider ovn has no failovers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{
				simulator: simulator.Options{Providers: []string{octavia.ProviderAmphora, octavia.ProviderOVN}},
				keys:      map[string]string{"lb-provider": c.provider, "lb-method": map[string]string{"ovn": "SOURCE_IP_PORT", "amphora": "ROUND_ROBIN"}[c.provider]},
			})
			env.Cloud.Octavia.OpenFailover(c.open)
			env.Cloud.Octavia.FailNext(octavia.OperationFailover, 1)
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			before, address := env.failed(), svc.Status.LoadBalancer.Ingress[0].IP
			env.Cloud.RequestLog.Reset()
			env.notice(svc)
			env.refused(svc, nodes, "ERROR")
			env.refused(svc, nodes, c.says)
			env.writes(c.asked)
			svc.Annotations[annotation.AllowReplace] = "true"
			env.ensure(svc, nodes)
			if lb := env.loadBalancer(); lb.ID == before.ID || lb.ProvisioningStatus != octavia.Active {
				t.Errorf("it is the same, %s", lb.ProvisioningStatus)
			}
			env.serves(svc, address)
			env.unchanged(svc, nodes)
		})
	}
}

// A load balancer that another client repairs at the same moment is not failed over again: that
// would interrupt its traffic.
//
//proves:82
func TestFailover_SparesLoadBalancerThatIsBeingRecovered(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.Cloud.Octavia.OpenFailover(true)
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.failed()
	env.Cloud.RequestLog.Reset()
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: failoverRoute, Count: 1, AfterWork: true, Status: http.StatusConflict,
		Body: `{"faultcode": "Client", "faultstring": "Invalid state PENDING_UPDATE of loadbalancer resource ` + lb.ID + `", "debuginfo": null}`})
	env.repair(svc, nodes)
	if n := env.failovers(); n != 1 {
		t.Errorf("%d failovers asked for, want only the one that came too late", n)
	}
	env.unchanged(svc, nodes)
}

// A part in ERROR is repaired with one write, with any provider, by the controller that sees the
// failure and by one that finds it later.
//
//proves:82
func TestRepair_OfPartInErrorTakesOneWriteWithEveryProvider(t *testing.T) {
	t.Parallel()
	serial := map[string]string{"provider-requires-serial-api-calls": "true"}
	for provider, keys := range map[string]map[string]string{
		"amphora": {}, "serial": serial, "ovn": {"lb-provider": "ovn", "lb-method": "SOURCE_IP_PORT"},
	} {
		for kind, part := range map[string]func(octavia.LoadBalancer) string{
			"listener": func(lb octavia.LoadBalancer) string { return lb.Listeners[0].ID },
			"pool":     func(lb octavia.LoadBalancer) string { return lb.Pools[0].ID },
			"member":   func(lb octavia.LoadBalancer) string { return lb.Pools[0].Members[0].ID },
			"monitor":  func(lb octavia.LoadBalancer) string { return lb.Pools[0].Monitor.ID },
		} {
			t.Run(provider+"/"+kind, func(t *testing.T) {
				t.Parallel()
				given := map[string]string{"create-monitor": "true"}
				maps.Copy(given, keys)
				env := newEnvironment(t, environmentOptions{keys: given,
					simulator: simulator.Options{Providers: []string{octavia.ProviderAmphora, octavia.ProviderOVN}}})
				nodes, svc := env.nodes(2), service("web", 2)
				env.ensure(svc, nodes)
				for range 2 {
					if err := env.Cloud.Octavia.SetChildStatus(part(env.loadBalancer()), octavia.Error); err != nil {
						t.Fatal(err)
					}
					env.restart()
					env.Cloud.RequestLog.Reset()
					env.ensure(svc, nodes)
					env.writes(1)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

// If a part stays in ERROR after each write, one event reports the time of the ERROR and the
// request for the operator. The write is retried at growing intervals, and the other parts of the
// load balancer are served.
//
//proves:82
func TestRepair_OfPartThatStaysInErrorIsBoundedAndTold(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	const rounds, perRound = 6, 4
	if err := env.Cloud.Octavia.SetChildStatus(lb.Listeners[0].ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.Cloud.Octavia.FailNext(octavia.OperationUpdate, rounds*perRound)
	var pauses []time.Duration
	for range rounds {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		var later *api.RetryError
		if !errors.As(err, &later) {
			t.Fatalf("error %v, want one that asks for a later time", err)
		}
		pauses = append(pauses, later.RetryAfter())
	}
	if want := []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour}; !slices.Equal(pauses, want) {
		t.Errorf("tried again after %v, want %v", pauses, want)
	}
	env.writes(rounds * perRound)
	if emitted := env.emitted(); strings.Count(emitted, "LoadBalancerInError") != 1 || !strings.Contains(emitted, "is ERROR since 2") || !strings.Contains(emitted, "failover "+lb.ID) {
		t.Errorf("want one event that says since when and what to do:\n%s", emitted)
	}
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
}

// A load balancer that stays PENDING is reported once, with the time of the start and the request
// for the operator. The controller waits for it and never writes to it.
//
//proves:82
func TestEnsure_TellsSinceWhenLoadBalancerIsPending(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	hold, err := env.Cloud.Hold(lb.ID, octavia.PendingUpdate, 0)
	if err != nil {
		t.Fatal(err)
	}
	env.options.patience = 300 * time.Millisecond
	env.restart()
	env.Cloud.RequestLog.Reset()
	emitted := ""
	for range 2 {
		for said := false; !said && env.ctx.Err() == nil; { // a slow machine needs that long for the read
			_, err := env.engine.Ensure(env.ctx, svc, nodes)
			said = err != nil && strings.Contains(err.Error(), "is PENDING_UPDATE since 2")
			emitted += env.emitted()
		}
	}
	env.writes(0)
	if strings.Count(emitted, "LoadBalancerPending") != 1 || !strings.Contains(emitted, "only the cloud's operator") || !strings.Contains(emitted, lb.ID) {
		t.Errorf("want one event that says what to ask for:\n%s", emitted)
	}
	env.Cloud.Faults.Remove(hold)
	env.options.patience = 0
	env.restart()
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
}

// Two Services share a load balancer. Its owner is deleted, while the guest stays on it and will
// delete it later. If it goes into ERROR, it has no owner that could fail it over: the guest does,
// if it may. While the owner exists, only the owner fails it over.
//
//proves:58,82
func TestFailover_OfSharedLoadBalancerIsGuestsWhereOwnerIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gone, may bool
		problem   string // in the error, or "" if it is failed over
	}{
		"the owner is gone": {true, true, ""},
		"the owner is gone, and the role does not allow it": {true, false, "ask the cloud's operator to fail it over"},
		"the owner is there": {false, true, "which was made for another and is shared, is in ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			env.Cloud.Octavia.OpenFailover(c.may)
			nodes := env.nodes(3)
			owner := service("owner", 1)
			env.ensure(owner, nodes[:2])
			guest := onto("guest", env.loadBalancer(), 443)
			env.ensure(guest, nodes[:2])
			if c.gone {
				env.delete(leaving(owner))
			}
			env.ensure(guest, nodes[:2])
			env.failed()
			_, err := env.engine.Ensure(env.ctx, guest, nodes)
			lb := env.loadBalancer()
			switch {
			case c.problem == "" && (lb.ProvisioningStatus != octavia.Active || len(lb.Pools[0].Members) != 3):
				t.Errorf("it is %s with %d members: %v", lb.ProvisioningStatus, len(lb.Pools[0].Members), err)
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), annotation.AllowReplace)):
				t.Errorf("error %v, want one with %q that advises nothing that has no effect", err, c.problem)
			}
			if n := env.failovers(); (n > 0) != (c.gone && (c.may || n == 1)) {
				t.Errorf("%d failovers were asked for", n)
			}
		})
	}
}
