package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// somebody is another client of the cloud.
func somebody(t *testing.T, w *world) *neutron.Client {
	t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session.Neutron()
}

//proves:89
func TestSecurityGroupsThatSomebodyElseChangedAreRepaired(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		for name, c := range map[string]struct {
			change func(t *testing.T, w *world, g simneutron.SecurityGroup)
			told   string
		}{
			"a rule is deleted": {
				change: func(t *testing.T, w *world, g simneutron.SecurityGroup) {
					t.Helper()
					if err := somebody(t, w).DeleteSecurityGroupRule(w.ctx, g.Rules[0].ID); err != nil {
						t.Fatal(err)
					}
				},
				told: "allow tcp/30080",
			},
			"the group is taken off a port": {
				change: func(t *testing.T, w *world, g simneutron.SecurityGroup) {
					t.Helper()
					for _, p := range w.cloud.Neutron.Ports() {
						if slices.Contains(p.SecurityGroups, g.ID) {
							if _, err := w.cloud.Neutron.UpdatePort(p.ID, simneutron.PortUpdate{SecurityGroups: &[]string{w.defaultGroup()}}); err != nil {
								t.Fatal(err)
							}
							return
						}
					}
				},
				told: "put on the ports of node-",
			},
			"a rule is added": {
				change: func(t *testing.T, w *world, g simneutron.SecurityGroup) {
					t.Helper()
					_, err := w.cloud.Neutron.AddSecurityGroupRules(g.ID, simneutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp"})
					if err != nil {
						t.Fatal(err)
					}
				},
				told: "no longer allow ingress IPv4 tcp",
			},
		} {
			if mode == "shared" && name == "a rule is added" {
				continue // it may be anybody's
			}
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{keys: managed(mode)})
				nodes, svc := w.nodes(2), service("web", 1)
				w.ensure(svc, nodes)
				g := w.group()
				c.change(t, w, g)
				w.told()
				w.repair(svc, nodes)
				w.rules(w.group(), nodePort(w, "tcp", 30080))
				w.uses(g.ID, nodes...)
				if told := w.told(); !strings.Contains(told, "LoadBalancerDrifted") || !strings.Contains(told, c.told) {
					t.Errorf("told:\n%s", told)
				}
				w.unchanged(svc, nodes)
			})
		}
	}
}

//proves:44
func TestSourceRangesThatAnotherGroupMakesVoidAreRefused(t *testing.T) {
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
			w := newWorld(t, worldOptions{keys: managed("per-service", "lb-provider", "ovn")})
			nodes, svc := w.nodes(2), service("web", 1)
			if _, err := w.cloud.Neutron.AddSecurityGroupRules(w.defaultGroup(), c.rule); err != nil {
				t.Fatal(err)
			}
			w.ensure(svc, nodes) // everybody may
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			if c.refused {
				w.refused(svc, nodes, "lets everybody reach tcp/30080")
				return
			}
			w.ensure(svc, nodes)
			w.unchanged(svc, nodes)
		})
	}
}

//proves:71,86
func TestARestartReadsTheSecurityGroupsOfAllServicesTogether(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes := w.nodes(2)
			var all []*v1.Service
			for i := range 5 {
				svc := service(fmt.Sprintf("web-%d", i), 1)
				svc.Spec.Ports[0] = port(v1.ProtocolTCP, 100+i)
				w.ensure(svc, nodes)
				all = append(all, svc)
			}
			w.writeDown(all...)
			w.restart()
			w.cloud.Books.Reset()
			for _, svc := range all {
				w.ensure(svc, nodes)
			}
			// Load balancers, floating IPs; groups, their ports, names; nodes' ports, subnet.
			if asked := w.cloud.Books.Requests(books.Under("/network"), books.Reads()); len(asked) > 6 {
				t.Errorf("%d requests, want at most 6 for all of them:\n%s", len(asked), printed(asked))
			}
			w.writes(0)
		})
	}
}

//proves:87,89
func TestARestartRepairsSecurityGroupsOfServicesThatHaveNotChanged(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			w.writeDown(svc)
			if err := somebody(t, w).DeleteSecurityGroupRule(w.ctx, w.group().Rules[0].ID); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.cloud.Books.Reset()
			w.ensure(svc, nodes)
			w.writes(1)
			w.rules(w.group(), nodePort(w, "tcp", 30080), nodePort(w, "tcp", 30081))
			w.unchanged(svc, nodes)
		})
	}
}
