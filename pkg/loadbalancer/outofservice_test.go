package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// memberOf returns the member of a node in the first pool.
func (env *environment) memberOf(name string) *octavia.Member {
	env.T.Helper()
	members := env.loadBalancer().Pools[0].Members
	i := slices.IndexFunc(members, func(m *octavia.Member) bool { return m.Name == name })
	if i < 0 {
		env.T.Fatalf("no member %s", name)
	}
	return members[i]
}

// changeMember changes a member as another client would.
func (env *environment) changeMember(name string, change func(*octaviaapi.Member)) {
	env.T.Helper()
	m := env.memberOf(name)
	opts := octaviaapi.Member{Name: m.Name, Address: m.Address, Port: m.ProtocolPort}
	change(&opts)
	if err := octaviaAsSomebodyElse(env.T, env).Octavia().SetMembers(env.ctx, env.loadBalancer().Pools[0].ID, []octaviaapi.Member{opts}, true); err != nil {
		env.T.Fatal(err)
	}
	env.loadBalancer()
}

// nextSecond waits until a change has another updated_at than the last one.
func (env *environment) nextSecond() {
	env.T.Helper()
	for last := env.loadBalancer().UpdatedAt; !time.Now().Truncate(time.Second).After(last) && env.ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
}

// A member that another client takes out of service stays so and is not reported as drift: after a
// check, after a restart with a full read, and after one that uses the record. The pool changes
// meanwhile and is repaired. The state ends when the client reverts it.
//
//proves:89
func TestMembers_StayOutOfServiceWhenOthersTakeThemOut(t *testing.T) {
	t.Parallel()
	zero, down := func(m *octaviaapi.Member) { m.Weight = new(int) }, func(m *octaviaapi.Member) { m.AdminStateUp = new(bool) }
	for _, c := range []struct {
		name, release, monitor string
		out                    func(*octaviaapi.Member)
		by                     string
		written                bool
	}{
		{"weight 0", "2026.1", "false", zero, "the watch", false},
		{"weight 0", "2024.2", "false", zero, "the watch", true},
		{"weight 0", "2024.2", "true", zero, "the watch", false},
		{"admin down", "2024.2", "false", down, "the watch", false},
		{"admin down", "2026.1", "false", down, "the next process", false},
	} {
		t.Run(fmt.Sprintf("%s on %s, monitors %s, %s", c.name, c.release, c.monitor, c.by), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: c.release}, keys: map[string]string{"create-monitor": c.monitor}})
			nodes, svc := env.nodes(7), service("web", 1)
			stays := func(when string) {
				t.Helper()
				if m := env.memberOf("node-1"); m.AdminStateUp != (c.name != "admin down") || (m.Weight == 0) != (c.name == "weight 0") {
					t.Errorf("%s: weight %d, admin_state_up %v", when, m.Weight, m.AdminStateUp)
				}
			}
			env.ensure(svc, nodes[:3])
			env.nextSecond()
			env.changeMember("node-1", c.out)
			env.emitted()
			env.Cloud.RequestLog.Reset()
			if c.by == "the watch" {
				env.look()
			} else {
				env.restart()
			}
			env.ensure(svc, nodes[:3])
			env.writes(0)
			if emitted := env.emitted(); strings.Contains(emitted, "Drifted") {
				t.Errorf("events:\n%s", emitted)
			}
			env.ensure(svc, nodes[1:5]) // a batch
			stays("after other nodes came and went")
			if c.written {
				env.writeDown(svc)
			}
			env.restart()
			env.ensure(svc, nodes[1:])
			stays("after a restart and more nodes")
			env.changeMember("node-2", func(m *octaviaapi.Member) { m.Backup = true })
			env.restart()
			env.ensure(svc, nodes[1:])
			if env.memberOf("node-2").Backup {
				t.Error("the member that was made a backup still is one")
			}
			stays("after the repair of another")
			svc.Spec.Ports[0].NodePort = 31999
			env.ensure(svc, nodes[1:])
			stays("with another NodePort")
			env.unchanged(svc, nodes[1:])
			env.ensure(svc, nodes[2:])
			env.ensure(svc, nodes)
			if m := env.memberOf("node-1"); m.Weight != 1 || !m.AdminStateUp {
				t.Errorf("a node that came back is out of service: %+v", m)
			}
		})
	}
}

// A take-over keeps drained members drained, also in the first batch.
//
//proves:120
func TestAdoption_KeepsMembersDrained(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"2024.2", "2026.1"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: release}})
			nodes, svc := env.nodes(5), service("web", 1)
			env.inherit(peers("kubernetes", svc), svc, nodes[:3])
			env.changeMember("node-1", func(m *octaviaapi.Member) { m.Weight = new(int) })
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:3])
			env.writes(0)
			env.ensure(svc, nodes)
			if m := env.memberOf("node-1"); m.Weight != 0 {
				t.Errorf("weight %d", m.Weight)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// The traffic policy alone does not add a health monitor to a load balancer that another controller
// created without one: if its port were closed, all members would go down. An event reports the
// remedy once.
//
//proves:47,120
func TestAdoption_AddsNoMonitorUnasked(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"2024.2", "2026.1"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: release}})
			nodes, svc := env.nodes(4), service("web", 1)
			policyLocal(svc)
			env.inherit(peers("kubernetes", svc), svc, nodes[:2])
			monitors := func(want string) {
				t.Helper()
				got := ""
				for _, p := range env.loadBalancer().Pools {
					if p.Monitor == nil {
						got += "none "
					} else {
						got += fmt.Sprintf("%s at %d ", p.Monitor.Type, p.Members[0].MonitorPort)
					}
				}
				if strings.TrimSpace(got) != want {
					t.Errorf("monitors %s, want %s", got, want)
				}
			}
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:2])
			env.writes(0)
			if emitted := env.emitted(); strings.Count(emitted, "Normal LoadBalancerHealthMonitorMissing") != 1 ||
				!strings.Contains(emitted, annotation.Monitor+`: "true"`) || !strings.Contains(emitted, "port 32000") || strings.Contains(emitted, "Warning") {
				t.Errorf("events:\n%s", emitted)
			}
			env.ensure(svc, nodes[:3])
			monitors("none")
			written := release == "2026.1"
			if written {
				env.writeDown(svc)
			}
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:3])
			env.writes(0)
			if n := len(env.Cloud.RequestLog.Requests()); n > 3 && written {
				t.Errorf("%d requests for what is as it was written down:\n%s", n, printed(env.Cloud.RequestLog.Requests()))
			}
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443)) // the new port is served like the others
			env.ensure(svc, nodes)
			monitors("none none")
			env.unchanged(svc, nodes)

			svc.Annotations[annotation.Monitor] = "true"
			env.ensure(svc, nodes)
			monitors("HTTP at 32000 HTTP at 32000")
			delete(svc.Annotations, annotation.Monitor) // the existing monitor stays
			env.unchanged(svc, nodes)
			monitors("HTTP at 32000 HTTP at 32000")
			svc.Annotations[annotation.Monitor] = "false"
			env.ensure(svc, nodes)
			monitors("none none")
			delete(svc.Annotations, annotation.Monitor)
			env.unchanged(svc, nodes)
		})
	}
}

// A setting that requires monitors with cloud-provider-openstack adds them at the take-over, as it
// would have there.
//
//proves:47
func TestAdoption_AddsMonitorsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		keys map[string]string
		set  func(*v1.Service)
	}{
		"create-monitor": {map[string]string{"create-monitor": "true"}, func(*v1.Service) {}},
		"the annotation": {nil, annotate(annotation.Monitor, "true")},
	} {
		for _, change := range []func(*v1.Service){policyLocal, func(*v1.Service) {}} {
			env := newEnvironment(t, environmentOptions{keys: c.keys})
			nodes, svc := env.nodes(2), service("web", 1)
			env.inherit(peers("kubernetes", svc), svc, nodes)
			c.set(svc)
			change(svc)
			env.ensure(svc, nodes)
			if env.loadBalancer().Pools[0].Monitor == nil {
				t.Errorf("%s: no monitor", what)
			}
			if emitted := env.emitted(); strings.Contains(emitted, "HealthMonitorMissing") {
				t.Errorf("%s: events:\n%s", what, emitted)
			}
			env.unchanged(svc, nodes)
		}
	}
}
