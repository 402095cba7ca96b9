package apply_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// copied returns a value that shares nothing with the original.
func copied[T any](t *testing.T, original T) (clone T) {
	t.Helper()
	text, err := json.Marshal(original)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &clone); err != nil {
		t.Fatal(err)
	}
	return clone
}

// takeMembers shares the members of the original, which never change, with its copy.
func takeMembers(clone, original *model.LoadBalancer) {
	if original == nil {
		return
	}
	for i := range original.Listeners {
		clone.Listeners[i].Pool.Members = original.Listeners[i].Pool.Members
	}
}

func TestRun_ChangesNothingOfItsRequest(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	first, other := e.web(80, 443), e.web(443, 8443)
	other.FloatingIP = nil
	other.Listeners[0].AllowedCIDRs = []string{"10.0.0.0/8"}
	other.Listeners[0].Pool.Members = members(9, 444)
	other.Listeners[0].Pool.Monitor.Delay = 30
	other.Listeners[1].Pool.Members = members(1, 8443)
	for i, desired := range []*model.LoadBalancer{first, other} {
		observed := e.observe()
		before, asked := copied(t, observed), copied(t, desired)
		takeMembers(before.LoadBalancer, observed.LoadBalancer)
		takeMembers(asked, desired)
		todo := plan.Diff(desired, observed, plan.Options{})
		after, err := e.run(observed, todo)
		if err != nil {
			t.Fatal(err)
		}
		e.nothingToDo(desired, after)
		if diff := cmp.Diff(before, observed, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("plan %d: what was observed has changed: %s", i, diff)
		}
		if diff := cmp.Diff(plan.Diff(asked, before, plan.Options{}), todo, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("plan %d: its steps have changed: %s", i, diff)
		}
	}
}

func TestRun_ReturnsWhatTheCloudHasBesideAnErrorOfChildren(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{Quirks: octavia.Quirks{ChildrenStayPending: true}})
	desired := e.web(80)
	after, err := e.run(model.Observed{}, plan.Diff(desired, model.Observed{}, plan.Options{}))
	var broken *apply.ChildrenError
	if !errors.As(err, &broken) {
		t.Fatalf("error %v, want the parts that are not well", err)
	}
	made := e.Cloud.Octavia.Snapshot()[0]
	if lb := after.LoadBalancer; lb == nil || lb.ID != made.ID || lb.Status.Provisioning != made.ProvisioningStatus || lb.FloatingIP == nil {
		t.Fatalf("the state has %+v", lb)
	}
	if diff := cmp.Diff(broken.Children, after.LoadBalancer.Unsound()); diff != "" {
		t.Errorf("the children of the error are not those of the state: %s", diff)
	}
}

func TestRun_ReturnsWhatWasMadeBesideAnyError(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: floatingIPs, Status: http.StatusForbidden})
	after, err := e.run(model.Observed{}, plan.Diff(e.web(80), model.Observed{}, plan.Options{}))
	if err == nil {
		t.Fatal("no error, want that of the floating IP")
	}
	if made := e.Cloud.Octavia.Snapshot(); len(made) != 1 || after.LoadBalancer == nil || after.LoadBalancer.ID != made[0].ID {
		t.Errorf("the state has %+v, the cloud %d load balancers", after.LoadBalancer, len(made))
	}
}

// Each change of members is a cycle of the load balancer: the remaining steps wait, and are applied
// as planned.
func TestRun_CarriesOutBatchesThatHaveWaited(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, simulator.Options{})
	e.reach(e.web(80, 443, 8443))
	desired := e.web(80, 443, 8443)
	for i := range desired.Listeners {
		desired.Listeners[i].Pool.Members = members(30, desired.Listeners[i].Port).Slice(2, 30)
	}
	e.reach(desired)
}
