package loadbalancer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// The ovn of 2025.1 sets all members of a batch to ACTIVE with the first of them, including those
// that are still to remove. A second batch that adds these again meanwhile is lost.

// ovnQueue returns a cloud with the provider ovn. Each of the processes of Octavia's API has a queue.
func ovnQueue(t *testing.T, processes int) *environment {
	t.Helper()
	return ovnQueueOn(t, processes, nil)
}

// ovnQueueOn is ovnQueue for a bubble of testing/synctest, with a network inside the process.
func ovnQueueOn(t *testing.T, processes int, network *memorynet.Network) *environment {
	t.Helper()
	return ovnQueueOf(t, processes, 5*time.Millisecond, network)
}

// ovnQueueOf is ovnQueueOn with the time that an item of a queue takes.
func ovnQueueOf(t *testing.T, processes int, item time.Duration, network *memorynet.Network) *environment {
	t.Helper()
	one := simoctavia.Delays{Create: time.Millisecond, Update: time.Millisecond, Delete: time.Millisecond, Members: item}
	return newEnvironment(t, environmentOptions{
		simulator: simulator.Options{
			Release: "2025.1", Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: one},
			Octavia: func(o *simoctavia.Options) { o.APIProcesses = processes },
		},
		keys:    map[string]string{"lb-provider": "ovn"},
		network: network,
	})
}

// serving fails unless every pool has these nodes, in Octavia and in OVN.
func (env *environment) serving(nodes []*v1.Node) {
	env.T.Helper()
	var want []string
	for _, node := range nodes {
		want = append(want, node.Status.Addresses[0].Address)
	}
	for _, pool := range env.loadBalancer().Pools {
		if err := pool.HasExactly(want); err != nil {
			env.T.Error(err)
		}
	}
}

// idle waits until the driver has no work left.
func (env *environment) idle() {
	env.T.Helper()
	await.Condition(env.T, "the end of the driver's queue", func() bool { return env.Cloud.Octavia.Working() == 0 })
}

// calm fails if an event was a warning.
func (env *environment) calm() {
	env.T.Helper()
	if emitted := env.emitted(); strings.Contains(emitted, v1.EventTypeWarning) {
		env.T.Errorf("emitted:\n%s", emitted)
	}
}

func TestOVN_KeepsMembersThatComeBackWithinSeconds(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2} {
		for _, ports := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d processes of the API, %d ports", processes, ports), func(t *testing.T) {
				t.Parallel()
				env := ovnQueue(t, processes)
				nodes, svc := env.nodes(3), service("web", ports)
				env.ensure(svc, nodes[:2])
				env.ensure(svc, nodes[1:])
				env.ensure(svc, nodes[:2])
				env.serving(nodes[:2])
				env.idle()
				env.serving(nodes[:2])
				env.inBatches(2 * ports)
				env.calm()
			})
		}
	}
}

// Octavia may have carried out a batch without an answer, or still be working on it, in the same
// process and in the next one.
func TestOVN_KeepsMembersThatComeBackAfterBatchWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*environment){
		"the same process": func(*environment) {},
		"the next one":     (*environment).restart,
	} {
		for _, processes := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d of the API", name, processes), func(t *testing.T) {
				t.Parallel()
				env := ovnQueue(t, processes)
				nodes, svc := env.nodes(3), service("web", 1)
				env.ensure(svc, nodes[:2])
				env.notAnswered(svc, nodes[1:])
				next(env)
				env.ensure(svc, nodes[:2])
				env.serving(nodes[:2])
				env.idle()
				env.serving(nodes[:2])
				env.inBatches(2)
			})
		}
	}
}

// A pool that no listener uses yet is not in the status tree. While the driver still works through its queue, the load
// balancer is ACTIVE, and the pool is PENDING for longer than a few requests take.
func TestOVN_AddsPortsWhileQueueIsLong(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2} {
		env := ovnQueueOf(t, processes, 20*time.Millisecond, nil)
		nodes, svc := env.nodes(8), service("web", 1)
		env.ensure(svc, nodes)
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444))
		env.ensure(svc, nodes)
		env.idle()
		env.serving(nodes)
	}
}

// The address is published once OVN serves at it, and not when the load balancer becomes ACTIVE.
func TestOVN_PublishesAddressWhenMembersAreThere(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*environment, *v1.Service, []*v1.Node){
		"a creation": func(*environment, *v1.Service, []*v1.Node) {},
		"a creation without an answer": func(env *environment, svc *v1.Service, nodes []*v1.Node) {
			defer env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: lbRoute, Count: 1, AfterWork: true, Drop: true})()
			_, _ = env.engine.Ensure(env.ctx, svc, nodes) // which may find it
			env.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ovnQueue(t, 1)
			nodes, svc := env.nodes(8), service("web", 3)
			begin(env, svc, nodes)
			if status := env.ensure(svc, nodes); len(status.Ingress) != 1 {
				t.Errorf("published %+v", status)
			}
			env.serving(nodes)
			env.calm()
		})
	}
}

// A job that the driver finishes after it accepted the deletion makes the load balancer ACTIVE again.
// The clock of the bubble orders the two: on a busy machine, the driver could finish first.
func TestOVN_WaitsForDeletionOfLoadBalancerThatIsActiveAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := ovnQueueOn(t, 1, &memorynet.Network{})
		nodes, svc := env.nodes(13), service("web", 1)
		ports := len(env.Cloud.Neutron.Ports())
		env.ensure(svc, nodes[:8])
		env.ensure(svc, nodes) // eight of them stay, and the driver updates these last
		env.inBatches(1)       // single changes leave the driver no job
		var again atomic.Bool
		defer env.Cloud.Octavia.Subscribe(func() {
			for _, lb := range env.Cloud.Octavia.Snapshot() {
				if env.asked()["DELETE loadbalancers/{id}"] > 0 && lb.ProvisioningStatus == simoctavia.Active {
					again.Store(true)
				}
			}
		})()
		env.delete(svc)
		env.idle()
		env.loadBalancers(0)
		env.floatingIPs(0)
		if have := len(env.Cloud.Neutron.Ports()); have != ports {
			t.Errorf("%d ports are left", have-ports)
		}
		if asked := env.asked()["DELETE loadbalancers/{id}"]; asked != 1 || !again.Load() {
			t.Errorf("%d deletions; ACTIVE again: %v", asked, again.Load())
		}
		env.calm()
	})
}

// The result of a batch is compared with the request, without another request.
func TestOVN_RepairsPoolThatLacksMemberAfterBatch(t *testing.T) {
	t.Parallel()
	env := ovnQueue(t, 1)
	nodes, svc := env.nodes(4), service("web", 1)
	env.ensure(svc, nodes[:2])
	kept := env.loadBalancer().Pools[0].Members[1].ID
	defer env.Cloud.Faults.Add(faults.Rule{
		Method: http.MethodPut, Route: membersRoute, Count: 1, AfterWork: true, Status: http.StatusAccepted,
		Then: func() {
			if err := env.Cloud.Octavia.Lose(kept); err != nil {
				t.Error(err)
			}
		},
	})()
	env.ensure(svc, nodes[1:])
	env.idle()
	env.serving(nodes[1:])
	env.calm()
}

// With a batch, the driver works on all members.
func TestOVN_ChangesFewMembersOfManyByThemselves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to, batches int
	}{
		"ten of thirty":      {20, 30, 0},
		"four of ten":        {6, 10, 1},
		"seventeen of sixty": {43, 60, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ovnQueue(t, 1)
			nodes, svc := env.nodes(test.to), service("web", 1)
			env.ensure(svc, nodes[:test.from])
			env.ensure(svc, nodes)
			env.idle()
			env.serving(nodes)
			env.ensure(svc, nodes[:test.from])
			env.idle()
			env.serving(nodes[:test.from])
			env.inBatches(2 * test.batches)
		})
	}
}

// Members are added before others are removed. Where the quota leaves no room for that, a batch exchanges them, also of a
// Service that is refused.
//
//proves:80
func TestOVN_ExchangesFewMembersWithinQuota(t *testing.T) {
	t.Parallel()
	env := ovnQueueOf(t, 1, time.Millisecond, nil)
	env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "member", 60)
	nodes, svc := env.nodes(37), service("web", 2)
	env.ensure(svc, nodes[:30])
	env.ensure(svc, nodes[5:35])
	env.serving(nodes[5:35])
	env.inBatches(2)
	svc.Annotations[annotation.MaxMembers] = "many"
	env.refused(svc, nodes[7:], "max-members")
	env.serving(nodes[7:])
	env.inBatches(4)
}
