package apply_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// unlucky are the ways in which a write can fail.
func unlucky() map[string]faults.Rule {
	return map[string]faults.Rule{
		"connection lost before the work": {Drop: true},
		"connection lost after the work":  {Drop: true, AfterWork: true},
		"503 before the work":             {Status: http.StatusServiceUnavailable},
		"504 after the work":              {Status: http.StatusGatewayTimeout, AfterWork: true},
	}
}

// TestRun_LeavesNothingBehindWhenOneWriteFails makes each write of a life cycle fail in every way,
// one at a time. The controller repeats its attempts until all is well; no object may exist twice,
// and none may be left at the end.
//
//proves:116
func TestRun_LeavesNothingBehindWhenOneWriteFails(t *testing.T) {
	t.Parallel()
	for what, rule := range unlucky() {
		methods := []string{http.MethodPost, http.MethodPut, http.MethodDelete}
		if rule.AfterWork != (rule.Status > 0) {
			methods = methods[:1] // only creations are tested in all four ways
		}
		for _, method := range methods {
			t.Run(what+" of a "+method, func(t *testing.T) {
				t.Parallel()
				fault := rule
				for n := 1; ; n++ {
					fault.Method, fault.From, fault.Count = method, n, 1
					if !liveWith(t, fault) {
						if n == 1 {
							t.Error("no write went wrong")
						}
						return
					}
				}
			})
		}
	}
}

// liveWith runs a life cycle with a fault. It reports whether the fault happened.
func liveWith(t *testing.T, rule faults.Rule) bool {
	t.Helper()
	e := newEnvironment(t, simulator.Options{})
	for _, service := range []string{"/load-balancer/**", "/network/**"} {
		rule.Route = service
		e.Cloud.Faults.Add(rule)
	}
	changed := e.web(443, 8443)
	changed.Listeners[0].Pool.Members = members(5, 444)
	changed.Listeners[0].Pool.Monitor.Delay = 7
	changed.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8"}
	changed.FloatingIP = nil
	for _, desired := range []*model.LoadBalancer{e.web(80, 443), changed, nil} {
		e.eventually(desired, rule)
		if n := len(e.Cloud.Octavia.Snapshot()); desired != nil && n != 1 {
			t.Errorf("write %d: %d load balancers", rule.From, n)
		}
		if n := len(e.Cloud.Neutron.FloatingIPs()); n > 1 {
			t.Errorf("write %d: %d floating IPs", rule.From, n)
		}
	}
	if left := len(e.Cloud.Octavia.Snapshot()) + len(e.Cloud.Neutron.FloatingIPs()); left > 0 {
		t.Errorf("write %d: %d objects are left", rule.From, left)
	}
	return e.Cloud.Faults.Hits() > 0
}

// eventually tries until there is nothing to do, as the queue of Services does.
func (e *environment) eventually(desired *model.LoadBalancer, rule faults.Rule) {
	e.T.Helper()
	var last error
	for range 4 {
		todo, _, err := e.attempt(desired)
		if err == nil && todo.Empty() {
			return
		}
		last = err
	}
	e.T.Errorf("write %d: after four tries still not there; the last error: %v", rule.From, last)
}

// once is a fault that happens once.
func once(method, route string, rule faults.Rule) faults.Rule {
	rule.Method, rule.Route, rule.Count = method, route, 1
	return rule
}

func TestRun_FindsCreationWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for what, rule := range unlucky() {
		if !rule.AfterWork {
			continue
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			e.Cloud.Faults.Add(once(http.MethodPost, lbaas+"loadbalancers", rule))
			e.reach(e.web(80)) // in one pass
			if n := e.writes(http.MethodPost, lbaas+"loadbalancers"); n != 1 {
				t.Errorf("%d creations", n)
			}
		})
	}
}

func TestRun_RepeatsNoCreationThatIsNotFound(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.Cloud.Faults.Add(once(http.MethodPost, lbaas+"loadbalancers", faults.Rule{Drop: true}))
	_, _, err := e.attempt(e.web(80))
	if err == nil || !apierror.IsUnsure(err) {
		t.Errorf("error %v, want the lost answer", err)
	}
	if n := e.writes(http.MethodPost, lbaas+"loadbalancers"); n != 1 {
		t.Errorf("%d creations, want the next one only after another look", n)
	}
	e.reach(e.web(80))
}

func TestRun_ReturnsBothErrorsWhenACreationCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	desired := e.web(80)
	e.Cloud.Faults.Add(once(http.MethodPost, lbaas+"loadbalancers", faults.Rule{Drop: true, AfterWork: true}))
	e.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "loadbalancers", Status: http.StatusForbidden})
	observed := model.Observed{}
	_, err := e.run(observed, plan.Diff(desired, observed, plan.Options{}))
	if !apierror.IsUnsure(err) || !strings.Contains(fmt.Sprint(err), "cannot look for what became of it") {
		t.Errorf("error %v", err)
	}
}

func TestRun_FindsFloatingIPWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for what, rule := range unlucky() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{})
			e.Cloud.Faults.Add(once(http.MethodPost, floatingIPs, rule))
			if rule.AfterWork {
				e.reach(e.web(80)) // in one pass
			} else if _, _, err := e.attempt(e.web(80)); !apierror.IsUnsure(err) {
				t.Errorf("error %v, want the lost answer", err)
			}
			e.reach(e.web(80))
			if n := len(e.Cloud.Neutron.FloatingIPs()); n != 1 {
				t.Errorf("%d floating IPs", n)
			}
		})
	}
}

// Another client attaches a floating IP before the plan is applied.
func TestRun_TakesFloatingIPThatAnotherClientPutOnTheVIP(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	internal := e.web(80)
	internal.FloatingIP = nil
	observed := e.reach(internal)
	todo := plan.Diff(e.web(80), observed, plan.Options{})
	theirs, err := e.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
		ProjectID: e.Cloud.Account.ProjectID, NetworkID: e.Cloud.ExternalNetwork.ID, PortID: observed.LoadBalancer.VIP.PortID,
	})
	if err != nil {
		t.Fatal(err)
	}
	observed, err = e.run(observed, todo)
	if err != nil {
		t.Fatal(err)
	}
	if fip := observed.LoadBalancer.FloatingIP; fip == nil || fip.ID != theirs.ID || fip.Owned {
		t.Errorf("floating IP %+v, want theirs", fip)
	}
}
