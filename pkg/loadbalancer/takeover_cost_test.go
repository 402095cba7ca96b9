package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// takeOverAll ensures Services of another controller, all at the same time.
func (env *environment) takeOverAll(services []*v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	var all sync.WaitGroup
	for _, svc := range services {
		all.Go(func() {
			status, err := env.engine.Ensure(env.ctx, svc, nodes)
			if err != nil {
				env.T.Errorf("%s: %v", svc.Name, err)
			} else if status.Ingress[0].IP != svc.Status.LoadBalancer.Ingress[0].IP {
				env.T.Errorf("%s: the address is %v, was %v", svc.Name, status.Ingress, svc.Status.LoadBalancer.Ingress)
			}
		})
	}
	all.Wait()
}

// The first start after cloud-provider-openstack: three ports, three members each.
//
//proves:120
func TestAdoption_ReadsEachLoadBalancerAtMostThriceBesideLists(t *testing.T) {
	t.Parallel()
	const count = 12
	for _, c := range []struct {
		release   string
		monitored bool
		reads     int // of each load balancer
	}{
		{"zed", false, 2}, {"zed", true, 3}, {"2026.1", false, 2}, {"2026.1", true, 3},
	} {
		t.Run(fmt.Sprintf("%s, monitored %v", c.release, c.monitored), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{
				simulator: simulator.Options{Release: c.release}, keys: map[string]string{"create-monitor": fmt.Sprint(c.monitored)},
			})
			nodes := env.nodes(4)
			var services []*v1.Service
			for i := range count {
				svc := service(fmt.Sprintf("web-%d", i), 3)
				left := peers("kubernetes", svc)
				left.monitored = c.monitored
				env.inherit(left, svc, nodes[:3])
				services = append(services, svc)
			}
			env.restart()
			env.Cloud.RequestLog.Reset()

			env.takeOverAll(services, nodes[:3])

			env.writes(0)
			octavia := env.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer"))
			each := slices.DeleteFunc(slices.Clone(octavia), func(r requestlog.Request) bool { return isList(r) })
			if lists := len(octavia) - len(each); len(each) != c.reads*count || lists > 4 {
				t.Errorf("%d reads and %d lists, want %d and at most 4:\n%s", len(each), lists, c.reads*count, printed(octavia))
			}
			if network := env.Cloud.RequestLog.Requests(requestlog.Under("/network")); len(network) > 6 {
				t.Errorf("%d requests to Neutron, want a handful:\n%s", len(network), printed(network))
			}

			// Parts that were not read then are read before members change, at no additional cost.
			env.Cloud.RequestLog.Reset()
			env.takeOverAll(services, nodes[:3])
			if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
				t.Errorf("%d requests for what has not changed:\n%s", len(all), printed(all))
			}
			env.ensure(services[0], nodes)
			env.writes(3)
			env.unchanged(services[0], nodes)
		})
	}
}

// isList reports whether a request is for all objects of the project.
func isList(r requestlog.Request) bool {
	path, query, _ := strings.Cut(r.Path, "?")
	return !strings.Contains(query, "loadbalancer_id=") && !strings.Contains(path, "/members") && !strings.HasSuffix(path, "/status")
}

// A load balancer that was changed since, or has parts that cloud-provider-openstack does not
// create, is read completely and updated.
//
//proves:120
func TestAdoption_ReadsAsWholeWhatIsToBeChanged(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(5), service("web", 2)
	env.inherit(peers("kubernetes", svc), svc, nodes[:2])
	env.restart()
	env.ensure(svc, nodes)
	for _, pool := range env.loadBalancer().Pools {
		if len(pool.Members) != len(nodes) {
			t.Errorf("%d members, want %d", len(pool.Members), len(nodes))
		}
	}
	env.unchanged(svc, nodes)
}

func (i inheritance) monitor() *octavia.HealthMonitor {
	if !i.monitored {
		return nil
	}
	return &octavia.HealthMonitor{Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
}

// A process that could not record is restarted before a check has confirmed its changes: the next
// one trusts none of them.
func TestRestart_SharesListsForServicesOfUnconfirmedChanges(t *testing.T) {
	t.Parallel()
	const count, ports = 6, 3
	for _, recorded := range []bool{true, false} {
		t.Run(fmt.Sprintf("recorded before: %v", recorded), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes := env.nodes(4)
			var services []*v1.Service
			for i := range count {
				svc := service(fmt.Sprintf("web-%d", i), ports)
				env.ensure(svc, nodes[:3])
				services = append(services, svc)
			}
			if recorded {
				env.writeDown(services...)
			}
			for _, svc := range services {
				env.ensure(svc, nodes)
			}
			env.restart()
			env.Cloud.RequestLog.Reset()

			env.takeOverAll(services, nodes)

			env.writes(0)
			octavia := env.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer"))
			each := slices.DeleteFunc(slices.Clone(octavia), func(r requestlog.Request) bool { return isList(r) })
			if lists := len(octavia) - len(each); len(each) > (1+ports)*count || lists > 5 {
				t.Errorf("%d reads and %d lists, want %d and 5 at most:\n%s", len(each), lists, (1+ports)*count, printed(octavia))
			}
		})
	}
}

// If the last process could record, its changes cost no more after a restart than confirmed ones.
// Their confirmation costs as much as in that process.
func TestRestart_ReadsNothingOfChangesThatWereRecorded(t *testing.T) {
	t.Parallel()
	const count, ports = 6, 3
	for monitors, each := range map[string]int{"false": 2, "true": 3} {
		t.Run("monitors "+monitors, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": monitors}})
			nodes := env.nodes(4)
			var services []*v1.Service
			for i := range count {
				svc := service(fmt.Sprintf("web-%d", i), ports)
				env.ensure(svc, nodes[:3])
				env.ensure(svc, nodes)
				services = append(services, svc)
			}
			for range 2 { // the second process confirms nothing either
				env.end()
				env.restart()
				env.Cloud.RequestLog.Reset()
				for _, svc := range services {
					env.ensure(svc, nodes)
				}
				if all := env.Cloud.RequestLog.Requests(); len(all) > 4 {
					t.Errorf("%d requests for %d Services:\n%s", len(all), count, printed(all))
				}
			}
			env.Cloud.RequestLog.Reset()
			env.writeDown(services...)
			if reads := env.contentReads(); len(reads) != each*count {
				t.Errorf("to confirm them it read\n%swant %d", printed(reads), each*count)
			}
			env.writes(0)
			if emitted := env.emitted(); emitted != "" {
				t.Errorf("events\n%s", emitted)
			}
			for _, svc := range services {
				env.unchanged(svc, nodes)
			}
		})
	}
}

// A change of nodes uses the record, confirmed or not.
func TestRestart_ReadsOnlyStatusTreeAfterChangesThatWereRecorded(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(4), service("web", 2)
	env.ensure(svc, nodes[:2])
	env.ensure(svc, nodes[:3])
	env.end()
	env.restart()
	env.ensure(svc, nodes[:3])
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(2)
	if trees := env.contentReads(); len(trees) != 2 { // before the change, and its result
		t.Errorf("read\n%swant the status tree twice", printed(trees))
	}
	env.unchanged(svc, nodes)
}
