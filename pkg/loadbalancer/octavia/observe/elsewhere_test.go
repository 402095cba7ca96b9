package observe_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// A deleted or already read load balancer hides none after it.
func TestElsewhere_FindsAllButTheOne(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	here, second, legacy := env.ours(us()), env.ours(us()), env.legacy(us())
	found, err := env.observer.Elsewhere(t.Context(), us(), observe.Hints{
		Before: []string{"5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77", here.ID, legacy.ID}, Remembered: legacy.ID,
	}, here.ID)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, f := range found {
		ids[f.LoadBalancers[0].ID] = true
	}
	if diff := cmp.Diff(map[string]bool{second.ID: true, legacy.ID: true}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestFind_ReturnsTheNamedOneWithWhatReplacesIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	old := env.legacy(us())
	next := env.balancer(us().Name(), "", append(us().Tags(), ownership.ReplacesTag(old.ID, "x")))
	found, err := env.find(us(), observe.Hints{LoadBalancerID: old.ID})
	if diff := cmp.Diff([]string{next.ID, old.ID}, found); err != nil || diff != "" {
		t.Errorf("error %v: %s", err, diff)
	}
}

func TestFind_FailsWhereNobodyCanTellWhichOfTwoServes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	env.ours(us())
	env.ours(us())
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/floatingips", Status: http.StatusForbidden})
	if found, err := env.find(us(), observe.Hints{}); !apierror.IsForbidden(err) {
		t.Errorf("found %v, error %v", found, err)
	}
}

func TestFind_DoubtsNothingWhereAHostNameLeadsToNoLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	if found, err := env.find(us(), observe.Hints{NamedAddresses: []string{"192.0.2.1"}}); err != nil || len(found) > 0 {
		t.Errorf("found %v, error %v", found, err)
	}
}

func TestModel_IsAdoptedWhereAnyOwnListenerIs(t *testing.T) {
	t.Parallel()
	id := us()
	id.Sharing = ownership.Sharing{Is: true, Served: true}
	ours := octavia.Listener{ID: "a", Name: id.ListenerName(0), Tags: id.Tags()}
	foreign := octavia.Listener{ID: "b", Name: "somebody's", Tags: []string{"blue"}}
	legacy := octavia.Listener{ID: "c", Name: id.ListenerName(1), Tags: []string{id.Name()}}
	for name, test := range map[string]struct {
		listeners []octavia.Listener
		adopted   bool
	}{
		"none":                {nil, false},
		"ours":                {[]octavia.Listener{ours}, false},
		"ours, and another's": {[]octavia.Listener{ours, foreign}, false},
		"ours, and one that cloud-provider-openstack has made": {[]octavia.Listener{ours, legacy}, true},
	} {
		if lb := (observe.Parts{Listeners: test.listeners}).Model(id); lb.Adopted != test.adopted {
			t.Errorf("%s: it is adopted: %v", name, lb.Adopted)
		}
	}
}

func TestFloatingIPs_TakesOneThatAnotherServiceKeepsOnlyIfItMay(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	other := us()
	other.Namespace, other.ServiceUID = "theirs", "another-service"
	fip := env.floatingIP(other.FloatingIPs().Description(), "")
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		may     bool
		err     error
		refused bool
	}{
		"it may": {true, nil, false}, "it may not": {false, nil, true}, "nobody knows": {false, failed, false},
	} {
		var observed model.Observed
		err := env.observer.FloatingIPs(t.Context(), us(), &observed, observe.FloatingIPHints{
			Asked: model.FloatingIP{Address: fip.FloatingIP}, MayTake: func(context.Context, ownership.Owner) (bool, error) { return test.may, test.err },
		})
		var refused *observe.FloatingIPError
		if !errors.Is(err, test.err) && test.err != nil || errors.As(err, &refused) != test.refused || (len(observed.UnattachedFloatingIPs) == 1) != test.may {
			t.Errorf("%s: error %v, unattached %+v", name, err, observed.UnattachedFloatingIPs)
		}
	}
}

func TestOutline_ReadsMoreOnlyForPartsThatNoListenerUses(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	made := env.ours(us(), full, func(opts *octavia.LoadBalancer) { opts.Listeners = opts.Listeners[:1] })
	outline := func() (*model.LoadBalancer, error) {
		t.Helper()
		lb, err := env.session.Octavia().LoadBalancer(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		env.Cloud.RequestLog.Reset()
		return env.observer.Outline(t.Context(), us(), *lb, nil)
	}
	lb, err := outline()
	if reads := env.reads(); err != nil || len(lb.Listeners) != 1 || len(lb.Foreign) > 0 || len(reads) != 1 || reads[lbaas+"listeners"] != 1 {
		t.Errorf("requests %v, error %v: %+v", reads, err, lb)
	}
	if _, err := env.session.Octavia().CreatePool(t.Context(), octavia.Pool{
		LoadBalancerID: made.ID, Name: "somebody's", Protocol: "TCP", Algorithm: "ROUND_ROBIN",
	}); err != nil {
		t.Fatal(err)
	}
	env.Settle()
	if lb, err := outline(); err != nil || len(lb.Foreign) != 1 {
		t.Errorf("beside a pool of somebody's: error %v: %+v", err, lb)
	}
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "listeners", Status: http.StatusForbidden})
	if _, err := outline(); !apierror.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
}
