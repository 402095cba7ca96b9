package loadbalancer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// fakeEndpoints are the endpoints of all Services, and the state of their watch. The zero value
// watches Services without endpoints.
type fakeEndpoints struct {
	mu        sync.Mutex
	of        members.Endpoints
	forbidden bool
	pending   int // the number of looks until they are known
	looks     int
}

func (f *fakeEndpoints) source() goal.Endpoints {
	if f == nil {
		return nil
	}
	return func(*v1.Service) (members.Endpoints, settings.Watch, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.looks++; f.pending > 0 {
			f.pending--
			return nil, settings.Unwatched, true
		}
		if f.forbidden {
			return nil, settings.Forbidden, false
		}
		return f.of, settings.Watched, false
	}
}

// set sets the endpoints of a Service.
func (f *fakeEndpoints) set(endpoints members.Endpoints) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of = endpoints
}

// on sets the endpoints of a Service: nodes by their numbers, as in "0 1-", where "-" means that the
// endpoint terminates and still serves. They have all ports of the Service, or some of these names.
func (f *fakeEndpoints) on(svc *v1.Service, nodes string, ports ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(ports) == 0 {
		for _, port := range svc.Spec.Ports {
			ports = append(ports, port.Name)
		}
	}
	slice := members.Slice{Family: v1.IPv4Protocol, Ports: ports, Pod: "web-1"}
	for _, number := range strings.Fields(nodes) {
		terminates := strings.HasSuffix(number, "-")
		name := ""
		if number != "*" {
			name = "node-" + strings.TrimSuffix(number, "-")
		}
		slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: name, Ready: !terminates, Serving: true, Terminating: terminates})
	}
	f.of = members.Endpoints{slice}
}

// numbers returns the numbers of consecutive nodes, for fakeEndpoints.on.
func numbers(from, to int) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, itoa(i))
	}
	return strings.Join(all, " ")
}

// following is a cloud with a Service of policy Local and endpoints on some nodes.
func following(t *testing.T, provider string, ports int, nodes string) (*environment, *fakeEndpoints, *v1.Service) {
	t.Helper()
	return followingWith(t, provider, ports, nodes, environmentOptions{})
}

// followingWith is following with more options.
func followingWith(t *testing.T, provider string, ports int, nodes string, options environmentOptions) (*environment, *fakeEndpoints, *v1.Service) {
	t.Helper()
	f := &fakeEndpoints{}
	options.keys, options.endpoints, options.simulator.Release = map[string]string{"lb-provider": provider}, f, cmp.Or(options.simulator.Release, "2025.1")
	env := newEnvironment(t, options)
	svc := service("web", ports)
	policyLocal(svc)
	if provider != "ovn" {
		svc.Annotations[annotation.Members] = annotation.MembersEndpointNodes
	}
	f.on(svc, nodes)
	return env, f, svc
}

// followingOnSlowOVN is following in a bubble, with an ovn that takes so long for a member, and with the timing of its
// driver. All endpoints are those of one pod.
func followingOnSlowOVN(t *testing.T, perMember time.Duration, nodes string, pod *v1.Pod) (*environment, *fakeEndpoints, *v1.Service) {
	t.Helper()
	slow := simoctavia.Delays{Create: time.Second, Update: time.Second, Delete: time.Second, Members: perMember / 3} // three steps
	env, f, svc := followingWith(t, "ovn", 1, nodes, environmentOptions{
		network: &memorynet.Network{}, hold: time.Hour, patience: time.Hour,
		simulator: simulator.Options{Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: slow}},
		pods:      func(context.Context, string, string) (*v1.Pod, error) { return pod, nil },
	})
	env.timing = driver.Timing{}
	env.restart()
	return env, f, svc
}

// onNodes returns the numbers of the nodes that are members of each pool, as "0 1; 0".
func (env *environment) onNodes() string {
	env.T.Helper()
	var pools []string
	for _, pool := range env.loadBalancer().Pools {
		var numbers []string
		for _, m := range pool.Members {
			numbers = append(numbers, strings.TrimPrefix(m.Name, "node-"))
		}
		slices.Sort(numbers)
		pools = append(pools, strings.Join(numbers, " "))
	}
	return strings.Join(pools, "; ")
}

func (env *environment) areOnNodes(want string) {
	env.T.Helper()
	if got := env.onNodes(); got != want {
		env.T.Errorf("the members are nodes %s, want %s", got, want)
	}
}

// follow ensures a Service after a change of its endpoints, with so many writes.
func (env *environment) follow(svc *v1.Service, nodes []*v1.Node, writes int, want string) {
	env.T.Helper()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(writes)
	env.areOnNodes(want)
}

// Pods that are replaced on the same nodes cost nothing, pods that move a batch for each pool, and a
// restart nothing.
//
//proves:55
func TestEndpoints_CostOneBatchPerPoolAndMove(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, f, svc := following(t, provider, 2, "0 1")
			nodes := env.nodes(4)
			env.ensure(svc, nodes)
			env.areOnNodes("0 1; 0 1")
			f.on(svc, "1 0 0 1")
			env.follow(svc, nodes, 0, "0 1; 0 1")
			if n := len(env.Cloud.RequestLog.Requests()); n > 0 {
				t.Errorf("%d requests for a rollout on the same nodes", n)
			}
			f.on(svc, "1 2")
			env.follow(svc, nodes, 2, "1 2; 1 2")
			f.on(svc, "2 3", "p80")
			f.of = append(f.of, members.Slice{Family: v1.IPv4Protocol, Ports: []string{"p81"}, Endpoints: f.of[0].Endpoints[:1]})
			env.follow(svc, nodes, 2, "2 3; 2")
			env.unchanged(svc, nodes)
		})
	}
}

// A node with endpoints that only terminate leaves at once if its established connections survive that.
// With ovn they do not: it stays until nothing on it serves.
//
//proves:55
func TestEndpoints_LeaveWithoutCuttingConnections(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{"amphora": "0", "ovn": "0 1"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, f, svc := following(t, provider, 1, "0 1")
			nodes := env.nodes(3)
			env.ensure(svc, nodes)
			f.on(svc, "0 1-")
			env.ensure(svc, nodes)
			env.areOnNodes(want)
			f.on(svc, "0")
			env.ensure(svc, nodes)
			env.areOnNodes("0")
			f.on(svc, "0-") // kube-proxy sends it new connections
			env.follow(svc, nodes, 0, "0")
		})
	}
}

// A member that leaves ahead of the end of its pods does not come back with the next process, which does not know when
// these began to terminate. It comes back with a pod that is ready, or if no endpoint is ready.
//
//proves:55
func TestEndpoints_ThatTerminateBringNoMemberBack(t *testing.T) {
	t.Parallel()
	refuse := func(svc *v1.Service) { svc.Annotations[annotation.MaxMembers] = "many" }
	for name, c := range map[string]struct {
		change func(*v1.Service)
		fresh  bool
	}{"the same process": {}, "after a restart": {fresh: true}, "refused": {change: refuse}, "refused, after a restart": {change: refuse, fresh: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, f, svc := following(t, "ovn", 2, "0 1")
			nodes := env.nodes(3)
			env.ensure(svc, nodes)
			if c.change != nil {
				c.change(svc)
			}
			ensure := func(endpoints, want string) {
				t.Helper()
				f.on(svc, endpoints)
				if c.fresh {
					env.restart()
				}
				if _, err := env.engine.Ensure(env.ctx, svc, nodes); (err != nil) != (c.change != nil) {
					t.Fatal(err)
				}
				env.areOnNodes(want + "; " + want)
			}
			ensure("0 1-", "0 1")
			ensure("0", "0") // the endpoint on 1 stops soon
			ensure("0 1-", "0")
			ensure("0 1- 2-", "0")
			ensure("0 1- 2", "0 2")
			ensure("0 1- 1 2", "0 1 2")
			ensure("0 1- 2", "0 1 2")
			ensure("0 2-", "0 2")
			ensure("0- 1-", "0 1")
			ensure("1- 2", "1 2")
		})
	}
}

// A member that leaves stays beside the maximum number of members: it does not take the place of another one, neither before it has
// left nor in the next process.
//
//proves:55
func TestEndpoints_ThatTerminateDisplaceNoMemberOfLimitedPool(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0 1 2")
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	svc.Annotations[annotation.Members], svc.Annotations[annotation.MaxMembers] = annotation.MembersEndpointNodes, "2"
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	chosen := strings.Fields(env.onNodes())
	first, second, third := chosen[0], chosen[1], "3"
	for i := range nodes {
		if !slices.Contains(chosen, itoa(i)) {
			third = itoa(i)
		}
	}
	step := func(endpoints string, want ...string) {
		t.Helper()
		f.on(svc, endpoints)
		env.ensure(svc, nodes)
		slices.Sort(want)
		env.areOnNodes(strings.Join(want, " "))
	}
	step(strings.Join([]string{first + "-", second, third}, " "), first, second, third)
	step(strings.Join([]string{second, third}, " "), second, third) // the endpoint on the first one stops soon
	env.restart()
	step(strings.Join([]string{first + "-", second, third}, " "), second, third)
	step(strings.Join([]string{first, second, third}, " "), first, second)
}

// A new load balancer has no member at endpoints that terminate beside ready ones.
func TestEndpoints_ThatTerminateAreNoMembersOfNewPools(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0 1-")
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	env.areOnNodes("0")
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
	f.on(svc, "0 1-")
	env.ensure(svc, nodes)
	env.areOnNodes("0; 0")
	env.unchanged(svc, nodes)
}

// A pool is never emptied because a Service has no endpoint, but a node that is deleted leaves.
//
//proves:55
func TestEndpoints_KeepLastMembersWithoutAny(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0 1")
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	_ = env.emitted()
	f.on(svc, "")
	env.follow(svc, nodes, 0, "0 1")
	if emitted := env.emitted(); !strings.Contains(emitted, "Normal LoadBalancerNoEndpoints") || strings.Contains(emitted, "Warning") {
		t.Errorf("events:\n%s", emitted)
	}
	env.unchanged(svc, nodes)
	env.follow(svc, nodes[1:], 1, "1")
	env.follow(svc, nodes[2:], 0, "1")
	f.on(svc, "2")
	env.follow(svc, nodes[2:], 1, "2")
}

// A load balancer is created before its Service has endpoints, with empty pools.
//
//proves:55
func TestEndpoints_AreNotNeededForCreation(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		env, f, svc := following(t, provider, 1, "")
		nodes := env.nodes(2)
		env.ensure(svc, nodes)
		env.areOnNodes("")
		env.unchanged(svc, nodes)
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
		env.ensure(svc, nodes)
		env.areOnNodes("; ")
		f.on(svc, "1")
		env.follow(svc, nodes, 2, "1; 1")
	}
}

// Without the right to watch EndpointSlices all nodes are members, and a condition states that.
//
//proves:55
func TestEndpoints_AreReplacedByNodesWithoutRight(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0")
	nodes := env.nodes(2)
	f.forbidden = true
	env.ensure(svc, nodes)
	env.areOnNodes("0 1")
	if emitted := env.emitted(); !strings.Contains(emitted, "may not list and watch EndpointSlices") {
		t.Errorf("events:\n%s", emitted)
	}
	f.forbidden = false
	env.follow(svc, nodes, 1, "0")
	f.forbidden = true
	env.follow(svc, nodes, 1, "0 1")
}

// A process follows changes from before its start, and completes those that the one before had begun.
//
//proves:55
func TestEndpoints_AreFollowedByNextProcess(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, f, svc := following(t, provider, 2, "0 1")
			nodes := env.nodes(4)
			env.ensure(svc, nodes)
			env.writeDown(svc)
			env.restart()
			f.on(svc, "1 2")
			env.ensure(svc, nodes)
			env.areOnNodes("1 2; 1 2")
			f.on(svc, "2 3")
			remove := env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: membersRoute, AfterWork: true, Drop: true})
			_, err := env.engine.Ensure(env.ctx, svc, nodes)
			remove()
			if err == nil {
				t.Fatal("success without an answer")
			}
			env.restart()
			f.on(svc, "3 0")
			env.ensure(svc, nodes)
			env.areOnNodes("0 3; 0 3")
			env.unchanged(svc, nodes)
		})
	}
}

// A process that starts waits for the endpoints that it will know soon, and writes nothing meanwhile.
//
//proves:55
func TestEndpoints_AreWaitedForAtStart(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0")
	nodes := env.nodes(2)
	env.ensure(svc, nodes)
	env.restart()
	f.pending = 2
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
	if f.pending > 0 || f.looks < 3 {
		t.Errorf("%d looks", f.looks)
	}
}

// The members of a load balancer that another controller created stay all nodes, until a setting
// permits to change that.
//
//proves:55,120
func TestEndpoints_AreNotFollowedByAdoptedLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, monitored := range map[string]bool{"without monitors": false, "with monitors": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeEndpoints{}
			env := newEnvironment(t, environmentOptions{
				keys:      map[string]string{"lb-provider": "ovn", "create-monitor": fmt.Sprint(monitored)},
				simulator: simulator.Options{Release: "2026.1"}, endpoints: f,
			})
			nodes, svc := env.nodes(3), service("web", 1)
			policyLocal(svc)
			f.on(svc, "0")
			env.inherit(peers("kubernetes", svc), svc, nodes)
			if monitored {
				env.ensure(svc, nodes) // adds them
			}
			_ = env.emitted()
			env.follow(svc, nodes, 0, "0 1 2")
			if emitted := env.emitted(); !monitored && strings.Count(emitted, "Normal LoadBalancerAllNodes") != 1 {
				t.Errorf("events:\n%s", emitted)
			}
			env.writeDown(svc)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
			if n := len(env.Cloud.RequestLog.Requests()); n > 3 {
				t.Errorf("%d requests although the record matches the cloud:\n%s", n, printed(env.Cloud.RequestLog.Requests()))
			}
			svc.Annotations[annotation.Members] = annotation.MembersAuto
			env.follow(svc, nodes, 1, "0")
			env.unchanged(svc, nodes)
			svc.Annotations[annotation.Members] = annotation.MembersNodes
			env.follow(svc, nodes, 1, "0 1 2")
		})
	}
}

// Endpoints without a node, such as those of a gateway that answers on every node, have all nodes
// serve.
//
//proves:55
func TestEndpoints_WithoutNodeMakeAllNodesMembers(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "*")
	nodes := env.nodes(2)
	env.ensure(svc, nodes)
	env.areOnNodes("0 1")
	if emitted := env.emitted(); strings.Count(emitted, "Normal LoadBalancerAllNodes") != 1 || strings.Contains(emitted, "Warning") {
		t.Errorf("events:\n%s", emitted)
	}
	f.on(svc, "1")
	env.follow(svc, nodes, 1, "1")
}

// UDP flows that never pause stay with a node after its pods have left: one event states that.
//
//proves:55
func TestEndpoints_TellThatUDPFlowsStay(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0")
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
	f.on(svc, "0")
	nodes := env.nodes(2)
	env.ensure(svc, nodes)
	f.on(svc, "1")
	env.ensure(svc, nodes)
	env.areOnNodes("1; 1")
	if emitted := env.emitted(); strings.Count(emitted, "Normal LoadBalancerFlowsStay") != 1 || strings.Contains(emitted, "Warning") {
		t.Errorf("events:\n%s", emitted)
	}
}

// The load balancer of a refused Service follows its endpoints too.
//
//proves:55
func TestEndpoints_AreFollowedWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, "0 1")
	nodes := env.nodes(3)
	env.ensure(svc, nodes)
	svc.Annotations[annotation.Method] = "LEAST_CONNECTIONS" // ovn has no such algorithm
	svc.Annotations[annotation.MonitorPort] = "22"
	f.on(svc, "1 2")
	env.Cloud.RequestLog.Reset()
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("the Service is not refused")
	}
	env.areOnNodes("1 2")
	f.on(svc, "")
	_, _ = env.engine.Ensure(env.ctx, svc, nodes)
	env.areOnNodes("1 2")
}

// One node of many that comes or goes takes one request for each pool.
//
//proves:55
func TestEndpoints_ChangeFewOfManyMembersBySingleRequests(t *testing.T) {
	t.Parallel()
	env, f, svc := following(t, "ovn", 1, numbers(0, 30))
	nodes := env.nodes(31)
	env.ensure(svc, nodes)
	f.on(svc, numbers(1, 31))
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if r.Method == http.MethodPut {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
	env.writes(2)
}

// ovn works on a batch for minutes, and removes members last. The time of a removal is that of the whole batch, although
// Octavia shows no progress for longer than a part may stay PENDING.
//
//proves:55,143
func TestEndpoints_MeasureRemovalFromLargePool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes, leave = 90, 31
		env, f, svc := followingOnSlowOVN(t, 1500*time.Millisecond, numbers(0, nodes), &v1.Pod{})
		all := env.nodes(nodes)
		env.ensure(svc, all)
		f.on(svc, numbers(0, nodes-leave))
		env.ensure(svc, all)
		env.inBatches(1)
		if emitted := env.emitted(); !strings.Contains(emitted, "Removing a member takes about 2m") {
			t.Errorf("events:\n%s", emitted)
		}
	})
}

// A batch is not sent again while the driver works on it, however slow the driver is, and members that come back afterwards stay.
//
//proves:55
func TestEndpoints_WaitForBatchOfSlowDriver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes, leave = 90, 40
		env, f, svc := followingOnSlowOVN(t, 6*time.Second, numbers(0, nodes), &v1.Pod{})
		all := env.nodes(nodes)
		env.ensure(svc, all)
		for _, most := range []int{nodes - leave, nodes} {
			f.on(svc, numbers(0, most))
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, all)
			env.membersAre(all[:most])
			env.writes(1)
		}
		if twice := env.Cloud.Octavia.RemovedTwice(); len(twice) > 0 {
			t.Errorf("%d members are removed twice", len(twice))
		}
	})
}

// Pods that stop before their node is removed are reported once, with the measured time of the removal.
// With ovn, the removal begins before they stop if that is known to be in time, else when they have stopped.
//
//proves:143
func TestEndpoints_ReportThatPodsStopBeforeRemoval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		preStop  int64 // seconds, 0 for no hook
		err      error
		want     string
		reads    int32
	}{
		"no hook":          {"amphora", 0, nil, "Normal LoadBalancerRolloutLosesConnections Removing a member takes about 1s; pods of web stop after 0s", 1},
		"a hook":           {"amphora", 60, nil, "", 1},
		"no right to read": {"amphora", 0, errors.New("forbidden"), "", 1},
		"ovn, no hook":     {"ovn", 0, nil, "Normal LoadBalancerRolloutLosesConnections Removing a member takes about 1s, and begins when the pods at it have stopped: connections", 1},
		"ovn, a hook":      {"ovn", 60, nil, "", 1},
		"ovn, no right":    {"ovn", 60, errors.New("forbidden"), "Normal LoadBalancerRolloutLosesConnections Removing a member takes about 1s, and begins when the pods at it have stopped, because the controller cannot read their preStop hooks: connections", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reads atomic.Int32
			pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}}, TerminationGracePeriodSeconds: ptr.To[int64](90)}}
			if c.preStop > 0 {
				pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: c.preStop}}}
			}
			read := func(_ context.Context, namespace, name string) (*v1.Pod, error) {
				if reads.Add(1); namespace != "default" || name != "web-1" {
					t.Errorf("read %s of %s", name, namespace)
				}
				return pod, c.err
			}
			env, f, svc := followingWith(t, c.provider, 3, "0 1", environmentOptions{pods: read})
			nodes := env.nodes(4)
			env.ensure(svc, nodes)
			for _, on := range []string{"1 2", "2 3", "3 0"} {
				f.on(svc, on)
				env.ensure(svc, nodes)
			}
			emitted := env.emitted()
			if n := strings.Count(emitted, "LoadBalancerRolloutLosesConnections"); n > 1 || (n > 0) != (c.want != "") || !strings.Contains(emitted, c.want) {
				t.Errorf("events:\n%s", emitted)
			}
			if n := reads.Load(); n != c.reads {
				t.Errorf("%d reads of a pod, want %d", n, c.reads)
			}
			if stay := env.engine.Stay(svc).For; stay > 0 != (name == "ovn, a hook") || stay >= time.Minute {
				t.Errorf("members stay for %s after their pods began to terminate", stay)
			}
		})
	}
}

// The time that the removal of a member takes is measured for each Service: a driver that changes members one by one works
// longer on larger pools.
//
//proves:143
func TestEndpoints_MeasureRemovalsOfEachService(t *testing.T) {
	t.Parallel()
	pod := &v1.Pod{Spec: v1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](900), Containers: []v1.Container{{
		Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 600}}},
	}}}}
	synctest.Test(t, func(t *testing.T) {
		env, f, small := followingOnSlowOVN(t, 1500*time.Millisecond, "0 1", pod)
		large, nodes := service("large", 1), env.nodes(12)
		policyLocal(large)
		turn := func(svc *v1.Service, endpoints ...string) {
			for _, on := range endpoints {
				f.on(svc, on)
				env.ensure(svc, nodes)
			}
		}
		turn(small, "0 1", "1 2", "2 3", "3 4")
		for range 3 { // most changes of the provider are those of the large pool
			turn(large, numbers(0, 6), numbers(6, 12))
		}
		turn(small, "4 5")
		if of, other := env.engine.Stay(small).For, env.engine.Stay(large).For; of < other+10*time.Second || other <= 0 {
			t.Errorf("members of the small pool stay for %s, those of the large one for %s", of, other)
		}
	})
}
