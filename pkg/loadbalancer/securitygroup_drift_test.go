package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// somebody returns another client of the cloud.
func somebody(t *testing.T, env *environment) *neutron.Client {
	t.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session.Neutron()
}

//proves:89
func TestSecurityGroups_AreRepairedWhenOthersChangeThem(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		for name, c := range map[string]struct {
			change  func(t *testing.T, env *environment, g simneutron.SecurityGroup)
			emitted string
		}{
			"a rule is deleted": {
				change: func(t *testing.T, env *environment, g simneutron.SecurityGroup) {
					t.Helper()
					if err := somebody(t, env).DeleteSecurityGroupRule(env.ctx, g.Rules[0].ID); err != nil {
						t.Fatal(err)
					}
				},
				emitted: "allow tcp/30080",
			},
			"the group is taken off a port": {
				change: func(t *testing.T, env *environment, g simneutron.SecurityGroup) {
					t.Helper()
					for _, p := range env.Cloud.Neutron.Ports() {
						if slices.Contains(p.SecurityGroups, g.ID) {
							if _, err := env.Cloud.Neutron.UpdatePort(p.ID, simneutron.PortUpdate{SecurityGroups: &[]string{env.defaultGroup()}}); err != nil {
								t.Fatal(err)
							}
							return
						}
					}
				},
				emitted: "put on the ports of node-",
			},
			"a rule is added": {
				change: func(t *testing.T, env *environment, g simneutron.SecurityGroup) {
					t.Helper()
					_, err := env.Cloud.Neutron.AddSecurityGroupRules(g.ID, simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp"})
					if err != nil {
						t.Fatal(err)
					}
				},
				emitted: "no longer allow ingress IPv4 tcp",
			},
		} {
			if mode == "shared" && name == "a rule is added" {
				continue // it may belong to any client
			}
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: managed(mode)})
				nodes, svc := env.nodes(2), service("web", 1)
				env.ensure(svc, nodes)
				g := env.group()
				c.change(t, env, g)
				env.emitted()
				env.repair(svc, nodes)
				env.rules(env.group(), nodePort(env, "tcp", 30080))
				env.uses(g.ID, nodes...)
				if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, c.emitted) {
					t.Errorf("emitted:\n%s", emitted)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

//proves:44
func TestSecurityGroups_RefuseSourceRangesThatOtherGroupMakesVoid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule    simneutron.SecurityGroupRule
		refused bool
	}{
		"everything from everywhere":   {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4"}, true},
		"the NodePorts":                {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 30000, PortRangeMax: 32767, RemoteIPPrefix: "0.0.0.0/0"}, true},
		"the NodePorts of UDP":         {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "udp", PortRangeMin: 30000, PortRangeMax: 32767}, false},
		"SSH":                          {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 22, PortRangeMax: 22}, false},
		"everything from the inside":   {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", RemoteIPPrefix: "10.0.0.0/8"}, false},
		"everything, the other family": {simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv6"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn")})
			nodes, svc := env.nodes(2), service("web", 1)
			if _, err := env.Cloud.Neutron.AddSecurityGroupRules(env.defaultGroup(), c.rule); err != nil {
				t.Fatal(err)
			}
			env.ensure(svc, nodes) // all clients are permitted
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			if c.refused {
				env.refused(svc, nodes, "lets everybody reach tcp/30080")
				return
			}
			env.ensure(svc, nodes)
			env.unchanged(svc, nodes)
		})
	}
}

//proves:71,86
func TestRestart_ReadsSecurityGroupsOfAllServicesTogether(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes := env.nodes(2)
			var all []*v1.Service
			for i := range 5 {
				svc := service(fmt.Sprintf("web-%d", i), 1)
				svc.Spec.Ports[0] = port(v1.ProtocolTCP, 100+i)
				env.ensure(svc, nodes)
				all = append(all, svc)
			}
			env.writeDown(all...)
			env.restart()
			env.Cloud.RequestLog.Reset()
			for _, svc := range all {
				env.ensure(svc, nodes)
			}
			// Load balancers, floating IPs; groups, their ports, names; nodes' ports, subnet.
			if asked := env.Cloud.RequestLog.Requests(requestlog.Under("/network"), requestlog.Reads()); len(asked) > 6 {
				t.Errorf("%d requests, want at most 6 for all of them:\n%s", len(asked), printed(asked))
			}
			env.writes(0)
		})
	}
}

//proves:87,89
func TestRestart_RepairsSecurityGroupsOfUnchangedServices(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			env.writeDown(svc)
			if err := somebody(t, env).DeleteSecurityGroupRule(env.ctx, env.group().Rules[0].ID); err != nil {
				t.Fatal(err)
			}
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(1)
			env.rules(env.group(), nodePort(env, "tcp", 30080), nodePort(env, "tcp", 30081))
			env.unchanged(svc, nodes)
		})
	}
}
