package loadbalancer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// setting is one that a Service gets and loses again, in a cloud that supports it.
type setting struct {
	cloud func(t *testing.T) *environment
	// nodes returns the nodes; nil: two.
	nodes func(env *environment) []*v1.Node
	// before changes a Service with two ports that does not have the setting.
	before, set func(env *environment, svc *v1.Service)
	// spoil is a change of the setting by another client; nil if the cloud has none of it.
	spoil func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error
	// protocol is that of the listeners of cloud-provider-openstack, "" for TCP.
	protocol string
	// takeover is the number of writes with which a load balancer of cloud-provider-openstack gets the
	// setting; 0 for one that needs another load balancer.
	takeover int
}

// sixth is a member of the second IP family.
func sixth(m *simoctavia.Member) bool { return strings.Contains(m.Address, ":") }

// settingsOfServices are the settings of application teams.
func settingsOfServices() map[string]setting {
	plain := func(keys ...string) func(t *testing.T) *environment {
		return func(t *testing.T) *environment {
			t.Helper()
			options := environmentOptions{keys: map[string]string{"create-monitor": "true"}, services: &fakeServices{}}
			for i := 0; i < len(keys); i += 2 {
				options.keys[keys[i]] = keys[i+1]
			}
			return newEnvironment(t, options)
		}
	}
	with := func(pairs ...string) func(*environment, *v1.Service) {
		return func(_ *environment, svc *v1.Service) { annotate(pairs...)(svc) }
	}
	poolAt := func(port int, changes octavia.Changes) func(context.Context, *octavia.Client, simoctavia.LoadBalancer) error {
		return func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
			return o.UpdatePool(ctx, listenerAt(lb, port).DefaultPoolID, changes)
		}
	}
	monitorAt := func(port int, changes octavia.Changes) func(context.Context, *octavia.Client, simoctavia.LoadBalancer) error {
		return func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
			i := slices.IndexFunc(lb.Pools, func(p *simoctavia.Pool) bool { return p.ID == listenerAt(lb, port).DefaultPoolID })
			return o.UpdateMonitor(ctx, lb.Pools[i].Monitor.ID, changes)
		}
	}
	web := with(annotation.Protocols, "80=HTTP,81=HTTP", annotation.MonitorType, "TCP")
	dualStack := func(t *testing.T) *environment {
		t.Helper()
		return dualCloud(t, simoctavia.ProviderOVN, "2026.1")
	}
	secondFamily := func(env *environment, svc *v1.Service) {
		dual(svc, require, v1.IPv4Protocol, v1.IPv6Protocol)
		annotate(annotation.AdditionalSubnets, env.Cloud.SubnetV6.ID)(svc)
	}
	return map[string]setting{
		"ipMode":           {cloud: plain(), set: with(annotation.IPMode, "Proxy")},
		"hostname":         {cloud: plain(), set: with(annotation.Hostname, "web.example.com")},
		"ingress hostname": {cloud: plain(), set: with(annotation.IngressHostname, "true")},
		"internal by default": {
			cloud: plain("internal-by-default", "true"), before: with(annotation.Internal, "false"), takeover: 1,
			set: func(_ *environment, svc *v1.Service) { delete(svc.Annotations, annotation.Internal) },
		},
		"algorithm of a port": {
			cloud: plain(), set: with(annotation.Method+".81", "LEAST_CONNECTIONS"), takeover: 1,
			spoil: poolAt(81, octavia.Changes{"lb_algorithm": "SOURCE_IP"}),
		},
		"PROXY protocol of a port": {
			cloud: plain(), set: with(annotation.ProxyProtocol+".p80", "v2"), takeover: 5,
			spoil: poolAt(80, octavia.Changes{"admin_state_up": false}),
		},
		"monitor of a port": {
			cloud: plain(), set: with(annotation.MonitorType+".80", "HTTP", annotation.MonitorPath+".80", "/ready", annotation.MonitorCodes+".80", "204"), takeover: 2,
			spoil: monitorAt(80, octavia.Changes{"url_path": "/", "expected_codes": "200"}),
		},
		"HTTP_COOKIE": {
			cloud: plain(), before: web, protocol: "HTTP", set: with(annotation.Persistence, "HTTP_COOKIE"), takeover: 2,
			spoil: poolAt(80, octavia.Changes{"session_persistence": map[string]any{"type": "SOURCE_IP"}}),
		},
		"APP_COOKIE of a port": {
			cloud: plain(), before: web, protocol: "HTTP", set: with(annotation.Persistence+".81", "APP_COOKIE", annotation.CookieName+".81", "sid"), takeover: 1,
			spoil: poolAt(81, octavia.Changes{"session_persistence": map[string]any{"type": "APP_COOKIE", "cookie_name": "other"}}),
		},
		"metrics": {
			cloud: plain(), set: with(annotation.MetricsPort, "9100", annotation.MetricsCIDRs, "10.8.0.0/16"), takeover: 1,
			spoil: func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				_, err := o.UpdateListener(ctx, listenerAt(lb, 9100).ID, octavia.Changes{"allowed_cidrs": []string{"10.0.0.0/8"}})
				return err
			},
		},
		"share": {
			cloud: plain(), set: func(env *environment, svc *v1.Service) {
				annotate(annotation.Share, "edge")(svc)
				env.options.services.apply(svc)
			},
			spoil: poolAt(81, octavia.Changes{"lb_algorithm": "SOURCE_IP"}),
		},
		"addresses of members": {
			cloud: plain(), nodes: func(env *environment) []*v1.Node {
				nodes, other := env.nodes(2), env.subnet("127.101.0.0/16")
				both := env.moveTo(nodes[0], other, "127.101.1.10")
				both.Status.Addresses = append([]v1.NodeAddress{nodes[0].Status.Addresses[0]}, both.Status.Addresses...)
				return []*v1.Node{both, nodes[1]}
			},
			before: func(env *environment, svc *v1.Service) { annotate(annotation.MemberSubnetID, env.Cloud.Subnet.ID)(svc) },
			set: func(env *environment, svc *v1.Service) {
				subnets := env.Cloud.Neutron.Subnets()
				i := slices.IndexFunc(subnets, func(s simneutron.Subnet) bool { return s.CIDR == "127.101.0.0/16" })
				annotate(annotation.MemberSubnetID, subnets[i].ID, annotation.MemberAddress, "true")(svc)
			},
			takeover: 4,
			spoil: func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				i := slices.IndexFunc(lb.Pools[0].Members, func(m *simoctavia.Member) bool { return m.Address == "127.101.1.10" })
				return o.RemoveMember(ctx, lb.Pools[0].ID, lb.Pools[0].Members[i].ID)
			},
		},
		"both IP families": {
			cloud: dualStack, nodes: func(env *environment) []*v1.Node { return env.dualNodes(2) },
			before: with(annotation.AllowReplace, "true"), set: secondFamily,
			spoil: func(ctx context.Context, o *octavia.Client, lb simoctavia.LoadBalancer) error {
				return o.RemoveMember(ctx, lb.Pools[0].ID, lb.Pools[0].Members[slices.IndexFunc(lb.Pools[0].Members, sixth)].ID)
			},
		},
	}
}

// listenerAt returns the listener at a port.
func listenerAt(lb simoctavia.LoadBalancer, port int) *simoctavia.Listener {
	return lb.Listeners[slices.IndexFunc(lb.Listeners, func(l *simoctavia.Listener) bool { return l.ProtocolPort == port })]
}

// start returns the environment of a setting, its nodes, and a Service without it.
func (s setting) start(t *testing.T) (*environment, []*v1.Node, *v1.Service) {
	t.Helper()
	env, svc := s.cloud(t), service("web", 2)
	if s.before != nil {
		s.before(env, svc)
	}
	if s.nodes != nil {
		return env, s.nodes(env), svc
	}
	return env, env.nodes(2), svc
}

// shape describes the settings of a load balancer, without IDs.
func shape(lb simoctavia.LoadBalancer) string {
	var all []string
	for _, vip := range lb.AdditionalVIPs {
		all = append(all, "VIP in "+vip.SubnetID)
	}
	for _, l := range lb.Listeners {
		all = append(all, fmt.Sprint(l.Protocol, l.ProtocolPort, l.AllowedCIDRs, l.AdminStateUp))
		for _, p := range lb.Pools {
			if p.ID != l.DefaultPoolID {
				continue
			}
			all = append(all, fmt.Sprintf("pool of %d: %s %s %+v %v", l.ProtocolPort, p.Protocol, p.Algorithm, p.Persistence, p.AdminStateUp))
			if m := p.Monitor; m != nil {
				all = append(all, fmt.Sprintf("monitor of %d: %s %s %s %s", l.ProtocolPort, m.Type, m.HTTPMethod, m.URLPath, m.ExpectedCodes))
			}
			for _, m := range p.Members {
				all = append(all, fmt.Sprintf("member of %d: %s %s", l.ProtocolPort, m.Address, m.SubnetID))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// A preview foretells each change of a setting, in the running process and in a new one. Without the
// setting the load balancer is as before, and nothing is left of a deleted Service.
//
//proves:90
func TestSettings_AreForetoldAndRevoked(t *testing.T) {
	t.Parallel()
	for name, s := range settingsOfServices() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, nodes, svc := s.start(t)
			env.foretold(svc, nodes)
			plain, without := shape(env.loadBalancer()), svc.DeepCopy()
			s.set(env, svc)
			env.foretold(svc, nodes)
			if s.spoil != nil && name != "share" && shape(env.loadBalancer()) == plain {
				t.Error("it changes nothing in the cloud")
			}
			env.restart()
			if p := env.foretold(svc, nodes); len(p.Steps) > 0 {
				t.Errorf("a new process would change\n%s", strings.Join(lines(p), "\n"))
			}
			svc.Annotations, svc.Spec = without.Annotations, without.Spec
			if env.options.services != nil {
				env.options.services.apply(svc)
			}
			env.foretold(svc, nodes)
			if now := shape(env.loadBalancer()); now != plain {
				t.Errorf("without the setting:\n%s\nand before it was set:\n%s", now, plain)
			}
			s.set(env, svc)
			env.ensure(svc, nodes)
			now := nowTime()
			svc.DeletionTimestamp = &now
			env.foretold(svc, nodes)
			env.loadBalancers(0)
			env.floatingIPs(0)
		})
	}
}

// The watch and a new process restore a setting that another client has changed.
//
//proves:89
func TestSettings_AreRestoredAfterChangeByAnotherClient(t *testing.T) {
	t.Parallel()
	for name, s := range settingsOfServices() {
		for _, by := range []string{"the watch", "a new process"} {
			if s.spoil == nil {
				continue
			}
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				env, nodes, svc := s.start(t)
				s.set(env, svc)
				env.ensure(svc, nodes)
				asked := shape(env.loadBalancer())
				env.nextSecond()
				if err := s.spoil(env.ctx, octaviaAsSomebodyElse(t, env).Octavia(), env.loadBalancer()); err != nil {
					t.Fatal(err)
				}
				if spoiled := shape(env.loadBalancer()); spoiled == asked {
					t.Fatalf("another client has changed nothing: %s", spoiled)
				}
				if by == "the watch" {
					env.repair(svc, nodes)
				} else {
					env.restart()
					env.ensure(svc, nodes)
				}
				if now := shape(env.loadBalancer()); now != asked {
					t.Errorf("restored:\n%s\nwanted:\n%s", now, asked)
				}
				env.unchanged(svc, nodes)
			})
		}
	}
}

// A load balancer of cloud-provider-openstack is taken over without a write, and then gets the setting in
// place. It keeps the one IP family that it has.
//
//proves:120
func TestSettings_AreAppliedToLoadBalancerOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	for name, s := range settingsOfServices() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, nodes, svc := s.start(t)
			left := peers("kubernetes", svc)
			left.monitored, left.protocol = env.options.keys["create-monitor"] == "true", "TCP"
			if s.protocol != "" {
				left.protocol = s.protocol
			}
			before := env.inherit(left, svc, nodes)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
			delete(svc.Annotations, annotation.AllowReplace)
			s.set(env, svc)
			env.Cloud.RequestLog.Reset()
			env.foretold(svc, nodes)
			env.writes(s.takeover)
			if now := env.loadBalancer(); now.ID != before.ID || now.VIP.Address != before.VIP.Address {
				t.Errorf("it is another load balancer: %s", now.ID)
			}
		})
	}
}
