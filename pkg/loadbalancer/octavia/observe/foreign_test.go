package observe_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// foreign makes a load balancer with the identity of our Service in another project.
func (env *environment) foreign() *octavia.LoadBalancer {
	env.T.Helper()
	other := env.Cloud.AddAccount("other", "other")
	conf := *env.Conf
	conf.Global.Username, conf.Global.Password, conf.Global.TenantName = other.UserName, other.Password, other.ProjectName
	session := simulated.SignIn(env.T, &conf, openstack.SessionOptions{})
	made, err := session.Octavia().CreateLoadBalancer(env.T.Context(), octavia.LoadBalancer{
		Name: us().Name(), Description: us().Description(), Tags: us().Tags(), VIPNetworkID: env.Cloud.ExternalNetwork.ID,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	env.Settle()
	return made
}

// Octavia answers 403 for a load balancer of another project. If the Service names it, it is
// refused. If the controller has recorded or remembers it, it is gone: the cluster has moved. The
// Service's load balancers here are found.
func TestFind_KnowsLoadBalancerOfAnotherProject(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hints   func(id string) observe.Hints
		refused bool
	}{
		"named by the Service":       {func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id} }, true},
		"recorded":                   {func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id, Recorded: id} }, false},
		"named, another is recorded": {func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id, Recorded: "another"} }, true},
		"remembered":                 {func(id string) observe.Hints { return observe.Hints{Remembered: id} }, false},
		"where it was before":        {func(id string) observe.Hints { return observe.Hints{Before: []string{id}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "")
			hints := test.hints(env.foreign().ID)
			if found, err := env.observer.Elsewhere(t.Context(), us(), hints, ""); err != nil || len(found) > 0 {
				t.Errorf("elsewhere: %v, %v", found, err)
			}
			own := env.ours(us()).ID
			found, err := env.find(us(), hints)
			switch {
			case test.refused && (!observe.IsNotOurs(err) || !strings.Contains(err.Error(), hints.LoadBalancerID+" is not this Service's: it is in another project")):
				t.Errorf("got %v", err)
			case !test.refused && (err != nil || !slices.Equal(found, []string{own})):
				t.Errorf("found %v: %v", found, err)
			}
		})
	}
}

// Without a role Octavia answers 403 for each load balancer, also for the Service's own: this does
// not prove that it is another project's.
func TestFind_KeepsLoadBalancerThatItMayNotRead(t *testing.T) {
	t.Parallel()
	const one = lbaas + "loadbalancers/{id}"
	for name, spoil := range map[string]func(*environment){
		"a role is missing": func(env *environment) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "**", Status: http.StatusForbidden})
		},
		"one load balancer cannot be read, and lists can": func(env *environment) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: one, Status: http.StatusForbidden})
		},
		"and the list fails": func(env *environment) {
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: one, Status: http.StatusForbidden})
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: lbaas + "loadbalancers", From: 2, Status: http.StatusServiceUnavailable})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, as := range []func(id string) observe.Hints{
				func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id} },
				func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id, Recorded: id} },
				func(id string) observe.Hints { return observe.Hints{Remembered: id} },
			} {
				env := newEnvironment(t, "")
				hints := as(env.legacy(us()).ID) // no list of our tags has it
				spoil(env)
				if found, err := env.find(us(), hints); !apierror.IsForbidden(err) || observe.IsNotOurs(err) {
					t.Errorf("%+v: found %v, %v", hints, found, err)
				}
			}
		})
	}
}

// The proof costs one request, and only after a 403.
func TestFind_ListsOnlyAfterAForbiddenRead(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, "")
	foreign, own := env.foreign().ID, env.legacy(us()).ID
	for id, want := range map[string]int{foreign: 3, own: 2} {
		env.Cloud.RequestLog.Reset()
		if _, err := env.find(us(), observe.Hints{LoadBalancerID: id}); err != nil && id == own {
			t.Fatal(err)
		}
		if got := env.Cloud.RequestLog.Requests(requestlog.Under(lbaas)); len(got) != want {
			t.Errorf("%d requests for %s, want %d: %v", len(got), id, want, got)
		}
	}
}

// Credentials of another project look like a cluster that has moved. Where the cluster's project is not
// recorded, nothing distinguishes the two: a new load balancer would be a duplicate, and a deletion a leak.
func TestFind_TakesNoLoadBalancerForGoneWhereTheProjectIsNotRecorded(t *testing.T) {
	t.Parallel()
	for name, hints := range map[string]func(id string) observe.Hints{
		"recorded":   func(id string) observe.Hints { return observe.Hints{LoadBalancerID: id, Recorded: id} },
		"remembered": func(id string) observe.Hints { return observe.Hints{Remembered: id} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, "")
			env.observer.ScopeRecorded = func() bool { return false }
			if found, err := env.find(us(), hints(env.foreign().ID)); !apierror.IsForbidden(err) || observe.IsNotOurs(err) {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
}
