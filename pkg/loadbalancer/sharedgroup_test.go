package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// atNodePorts returns so many Services with different NodePorts.
func atNodePorts(n int) []*v1.Service {
	var services []*v1.Service
	for i := range n {
		svc := service(fmt.Sprintf("s%03d", i), 1)
		svc.Spec.Ports[0].NodePort = int32(30000 + i)
		services = append(services, svc)
	}
	return services
}

// drain reads the events of the controller, which blocks if many are not read.
func (env *environment) drain() {
	go func(events <-chan string) {
		for {
			select {
			case <-events:
			case <-env.ctx.Done():
				return
			}
		}
	}(env.events.Events)
}

// repairing calls Repair for some Services concurrently. It returns a function that waits for all
// of them and returns the number of failures.
func (env *environment) repairing(services []*v1.Service, nodes []*v1.Node) (failed func() int) {
	errs := make(chan error, len(services))
	for _, svc := range services {
		go func() {
			_, err := env.engine.Repair(env.ctx, svc, nodes, there)
			errs <- err
		}()
	}
	return func() (n int) {
		for range services {
			if err := <-errs; err != nil {
				n++
				env.T.Logf("%.220v", err)
			}
		}
		return n
	}
}

// quiet waits until the cloud gets no more requests while its clock stands still.
func (env *environment) quiet() {
	env.T.Helper()
	since, last := time.Now(), -1
	await.Condition(env.T, "no more requests", func() bool {
		if now := env.Cloud.RequestLog.Len(); now != last {
			since, last = time.Now(), now
		}
		return time.Since(since) > 100*time.Millisecond
	})
}

// A node joins while Neutron is slow with ports and fails one request. The other Services, which
// are more than the concurrent rounds, do not wait for those that wait for the port.
func TestSharedGroup_NodeJoinsThoughOneRequestFails(t *testing.T) {
	t.Parallel()
	const first, all = 20, 20 + 130
	clock := clocktesting.NewFakeClock(time.Now())
	env := newEnvironment(t, environmentOptions{keys: managed("shared"), patience: 25 * time.Second, hold: time.Minute, simulator: simulator.Options{
		Clock: clock, Delays: map[string]octavia.Delays{"": {}},
	}})
	for _, resource := range []string{"security_group_rule", "port", "floatingip"} {
		env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, resource, -1)
	}
	env.drain()
	nodes, services := env.nodes(2), atNodePorts(all)
	var created errgroup.Group
	created.SetLimit(50)
	for _, svc := range services {
		created.Go(func() error {
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err == nil {
				svc.Status.LoadBalancer = *status
			}
			return err
		})
	}
	if err := created.Wait(); err != nil {
		t.Fatal(err)
	}
	more := append(slices.Clone(nodes), env.node(2))
	slow := faults.Rule{Method: http.MethodPut, Route: portRoute, Delay: time.Second}
	fails := slow
	fails.Count, fails.Status = 1, http.StatusInternalServerError
	env.Cloud.Faults.Add(fails)
	env.Cloud.Faults.Add(slow)

	early := env.repairing(services[:first], more)
	env.quiet()
	clock.Step(time.Second) // the first request fails, the next one is under way
	env.quiet()
	late := env.repairing(services[first:], more)
	env.quiet()
	ended := make(chan struct{})
	var steps sync.WaitGroup
	steps.Go(func() { // on a busy machine a request may follow a step
		for {
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
				clock.Step(time.Second)
			}
		}
	})
	defer steps.Wait()
	defer close(ended)

	if failed := late(); failed > 0 {
		t.Errorf("%d of %d Services have not got the new node, and no request of theirs has failed", failed, all-first)
	}
	if failed := early(); failed != 1 {
		t.Errorf("%d of %d Services have failed, want the one of the request that failed", failed, first)
	}
	env.uses(env.group().ID, more...)
}

// Concurrent rounds change ports of nodes that come and go, several each, and wait for each other.
func TestSecurityGroups_FollowNodesThatComeAndGoForManyServicesAtOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			env.drain()
			nodes, services := env.nodes(40), atNodePorts(6)
			for _, svc := range services {
				env.ensure(svc, nodes[:2])
			}
			for range 2 {
				for _, now := range [][]*v1.Node{nodes, nodes[:2]} {
					if failed := env.repairing(services, now)(); failed > 0 {
						t.Fatalf("%d rounds have failed", failed)
					}
					for _, group := range env.groups() {
						env.uses(group.ID, now...)
					}
				}
			}
		})
	}
}

// A round has the nodes of its beginning, and may wait for its load balancer for long. Nodes that
// have come meanwhile keep the group.
func TestSharedGroup_StaysOnPortsOfNodesThatComeDuringRound(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared")})
	nodes, services := env.nodes(2), atNodePorts(2)
	env.ensure(services[0], nodes)
	stuck, waiting, other := env.loadBalancer().ID, services[:1], services[1]
	env.ensure(other, nodes)
	pending := func(status string) {
		if err := env.Cloud.Octavia.SetProvisioningStatus(stuck, status); err != nil {
			t.Fatal(err)
		}
	}
	follows := func(now []*v1.Node) {
		if failed := env.repairing([]*v1.Service{other}, now)(); failed > 0 {
			t.Fatal("the round of the other Service has failed")
		}
	}
	fewer := nodes[:1] // the round handles the removal of a node
	more := append(slices.Clone(fewer), env.node(2))
	group := env.group().ID

	pending("PENDING_UPDATE")
	failed := env.repairing(waiting, fewer)
	env.until("the round waits", func() bool { return env.engine.Waits() > 0 })
	follows(more)
	env.uses(group, more...)
	pending("ACTIVE")
	if failed() > 0 {
		t.Error("the round has failed")
	}
	env.uses(group, more...)

	pending("PENDING_UPDATE") // its next round does not reach the groups for a while
	failed = env.repairing(waiting, more)
	env.until("the round waits", func() bool { return env.engine.Waits() > 0 })
	env.uses(group, more...)
	follows(more)
	pending("ACTIVE")
	if failed() > 0 {
		t.Error("the next round has failed")
	}
	env.uses(group, more...)
	follows(nodes) // the newest nodes decide, even if they equal the earlier ones
	env.uses(group, nodes...)
}

// A node is excluded and admitted again while a round waits, which began when it was excluded.
func TestSharedGroup_StaysOnPortOfNodeThatIsNoLongerExcluded(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared")})
	nodes, services := env.nodes(2), atNodePorts(2)
	env.ensure(services[0], nodes)
	stuck := env.loadBalancer().ID
	env.ensure(services[1], nodes)
	pending := func(status string) {
		if err := env.Cloud.Octavia.SetProvisioningStatus(stuck, status); err != nil {
			t.Fatal(err)
		}
	}
	group := env.group().ID

	pending("PENDING_UPDATE")
	failed := env.repairing(services[:1], []*v1.Node{nodes[0], states(nodes[1:], labelled)[0]})
	env.until("the round waits", func() bool { return env.engine.Waits() > 0 })
	if env.repairing(services[1:], nodes)() > 0 {
		t.Fatal("the round of the other Service has failed")
	}
	pending("ACTIVE")
	if failed() > 0 {
		t.Error("the round has failed")
	}
	env.uses(group, nodes...)
}
