package loadbalancer_test

import (
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// The driver of ovn handles a batch of members as one request for each of them. The first one sets
// the load balancer to ACTIVE, so that Octavia accepts another batch while the rest of this one
// waits. Members that the rest removes would be removed again.

const membersRoute = "/load-balancer/v2.0/lbaas/pools/{id}/members"

// ovnOneByOne returns a cloud with a provider ovn that handles members one by one.
func ovnOneByOne(t *testing.T) *environment {
	t.Helper()
	one := simoctavia.Delays{
		Create: time.Millisecond, Update: time.Millisecond, Delete: time.Millisecond, Members: 3 * time.Millisecond,
	}
	return newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Release: "zed", Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: one}},
		keys:      map[string]string{"lb-provider": "ovn"},
	})
}

// inBatches fails unless there were so many batches of members, and no member was removed
// twice.
func (env *environment) inBatches(want int) {
	env.T.Helper()
	if have := env.asked()["PUT pools/{id}/members"]; have != want {
		env.T.Errorf("%d batches of members, want %d", have, want)
	}
	if twice := env.Cloud.Octavia.RemovedTwice(); len(twice) > 0 {
		env.T.Errorf("%d members are removed twice", len(twice))
	}
}

// notAnswered is an Ensure with a batch that is carried out, but not answered.
func (env *environment) notAnswered(svc *v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	defer env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: membersRoute, Count: 1, AfterWork: true, Drop: true})()
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		env.T.Fatal("success without an answer")
	}
}

func TestOVN_RemovesNoMemberTwiceWhenBatchHasNoAnswer(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*environment){
		"the same process": func(*environment) {},
		"the next one":     (*environment).restart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ovnOneByOne(t)
			nodes, svc := env.nodes(103), service("web", 1)
			env.ensure(svc, nodes[:3])

			env.notAnswered(svc, nodes)
			next(env)
			env.ensure(svc, nodes)
			env.inBatches(1)

			env.notAnswered(svc, nodes[:3])
			next(env)
			env.ensure(svc, nodes[:3])
			env.inBatches(2)
			env.sound(0)
			env.unchanged(svc, nodes[:3])
		})
	}
}

func TestOVN_RemovesNoMemberTwiceWhenBatchesFollowOneAnother(t *testing.T) {
	t.Parallel()
	env := ovnOneByOne(t)
	nodes, svc := env.nodes(30), service("web", 1)
	env.ensure(svc, nodes[:20])
	env.ensure(svc, nodes[:5])
	env.ensure(svc, nodes[:25])
	env.ensure(svc, nodes[20:])
	env.inBatches(3)
	env.sound(0)
	env.unchanged(svc, nodes[20:])
}

// A member that stays in its removal is removed again: the driver may have ended during it.
func TestOVN_RemovesMemberAgainThatStaysOnItsWayOut(t *testing.T) {
	t.Parallel()
	env := ovnOneByOne(t)
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	gone := env.loadBalancer().Pools[0].Members[2]
	if err := env.Cloud.Octavia.SetChildStatus(gone.ID, simoctavia.PendingDelete); err != nil {
		t.Fatal(err)
	}
	env.stuckSoon()
	env.ensure(svc, nodes[:2])
	if have := len(env.loadBalancer().Pools[0].Members); have != 2 {
		t.Errorf("%d members, want 2", have)
	}
	env.sound(0)
}
