package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Each of these inputs is refused with one clear error before the first write, leaves nothing
// behind, and is served when the cause is gone.
//
//proves:92
func TestEnsure_RefusesBadInputBeforeFirstWriteAndHeals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options     environmentOptions
		spoil, mend func(env *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node
		want        string
	}{
		"no node": {
			spoil: func(*environment, *v1.Service, []*v1.Node) []*v1.Node { return nil },
			want:  "the cluster has no node that can be a member",
		},
		"no node with an address of the family": {
			spoil: func(_ *environment, _ *v1.Service, nodes []*v1.Node) []*v1.Node {
				bad := nodes[0].DeepCopy()
				bad.Status.Addresses[0].Address = "fd00:6::5"
				return []*v1.Node{bad}
			},
			want: "no node has an address of family IPv4: node-0",
		},
		"an ID that leads to another path": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.LoadBalancerID] = ".."
				return nodes
			},
			want: `metadata.annotations[` + annotation.LoadBalancerID + `]: Invalid value: ".."`,
		},
		"a load balancer that does not exist": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.LoadBalancerID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
				return nodes
			},
			want: `metadata.annotations[` + annotation.LoadBalancerID + `]: Not found: "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"`,
		},
		"unknown subnet of the VIP": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.SubnetID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
				return nodes
			},
			want: `metadata.annotations[` + annotation.SubnetID + `]: there is no subnet 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f`,
		},
		"unknown subnet of the members": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.MemberSubnetID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
				return nodes
			},
			want: `metadata.annotations[` + annotation.MemberSubnetID + `]: there is no subnet 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f`,
		},
		"an address that is in no subnet of the network": {
			options: environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}},
			spoil: func(env *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.NetworkID] = env.Cloud.Network.ID
				svc.Annotations[annotation.VIPAddress] = "10.9.9.9"
				return nodes
			},
			want: `metadata.annotations[` + annotation.VIPAddress + `]: 10.9.9.9 is in no subnet of network`,
		},
		"an address that is not in the subnet": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.Internal] = "true"
				svc.Spec.LoadBalancerIP = "10.9.9.9"
				return nodes
			},
			want: `spec.loadBalancerIP: 10.9.9.9 is not in subnet`,
		},
		"an address of no host": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.LoadBalancerIP = "0.0.0.0"
				return nodes
			},
			want: `spec.loadBalancerIP: Invalid value: "0.0.0.0": must be the address of a host`,
		},
		"an address of many hosts": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.VIPAddress] = "224.0.0.5"
				return nodes
			},
			want: `metadata.annotations[` + annotation.VIPAddress + `]: Invalid value: "224.0.0.5": must be the address of a host`,
		},
		"an address that the external network does not have": {
			options: environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{ExternalSubnetVisible: true}}},
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.LoadBalancerIP = "203.0.113.80"
				return nodes
			},
			want: `spec.loadBalancerIP: no floating IP of this project has the address 203.0.113.80`,
		},
		"unknown network of the VIP": {
			options: environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}},
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.NetworkID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
				return nodes
			},
			want: "there is no network 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f",
		},
		"unknown floating network": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.FloatingNetID] = "67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f"
				return nodes
			},
			want: "there is no network 67a0ff86-2ca7-4b22-8e9e-5a0b4a5b1d2f",
		},
		"floating network that is not external": {
			spoil: func(env *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.FloatingNetID] = env.Cloud.Network.ID
				return nodes
			},
			want: "is not external",
		},
		"port out of range": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.Ports[0].Port = 70000
				return nodes
			},
			want: "spec.ports[0].port: Invalid value: 70000: must be one port from 1 to 65535",
		},
		"protocol": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.Ports[0].Protocol = "DCCP"
				return nodes
			},
			want: `spec.ports[0].protocol: Unsupported value: "DCCP": supported values: "TCP", "UDP", "SCTP"`,
		},
		"no node ports": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.Ports[0].NodePort = 0
				return nodes
			},
			want: "spec.ports[0].nodePort: Required value",
		},
		"loadBalancerIP of the other family": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.LoadBalancerIP = "2001:db8::5"
				return nodes
			},
			want: `spec.loadBalancerIP: Invalid value: "2001:db8::5": must be of the Service's IP family, IPv4`,
		},
		"loadBalancerIP of the VIP in use": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.Internal] = "true"
				svc.Spec.LoadBalancerIP = nodes[0].Status.Addresses[0].Address
				return nodes
			},
			want: "is in use in the subnet of the VIP",
		},
		"source ranges that the provider does not enforce": {
			options: environmentOptions{keys: map[string]string{"lb-provider": "ovn"}},
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
				return nodes
			},
			want: "spec.loadBalancerSourceRanges: Forbidden: cannot be enforced",
		},
		"source range of the other family": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Spec.LoadBalancerSourceRanges = []string{"fd00::/8"}
				return nodes
			},
			want: `spec.loadBalancerSourceRanges[0]: Invalid value: "fd00::/8"`,
		},
		"malformed annotation": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.AllowReplace] = "maybe"
				return nodes
			},
			want: `metadata.annotations[` + annotation.AllowReplace + `]: Invalid value: "maybe": allowed: "true" or "false"`,
		},
		"annotation of cloud-provider-openstack that OpenStack refuses there": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.MonitorDelay] = "0"
				return nodes
			},
			want: `metadata.annotations[` + annotation.MonitorDelay + `]: Invalid value: "0": allowed: 1 to 3600 (seconds)`,
		},
		"unknown class": {
			spoil: func(_ *environment, svc *v1.Service, nodes []*v1.Node) []*v1.Node {
				svc.Annotations[annotation.Class] = "gold"
				return nodes
			},
			want: `metadata.annotations[` + annotation.Class + `]: Invalid value: "gold"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, c.options)
			nodes, svc := env.nodes(2), service("web", 1)
			ports := len(env.Cloud.Neutron.Ports())
			bad := svc.DeepCopy()
			spoiled := c.spoil(env, bad, nodes)
			env.Cloud.RequestLog.Reset()
			env.refused(bad, spoiled, c.want)
			env.writes(0)
			if left := len(env.Cloud.Neutron.Ports()); left != ports {
				t.Errorf("%d ports are left, there were %d", left, ports)
			}
			if c.mend != nil {
				nodes = c.mend(env, svc, nodes)
			}
			env.ensure(svc, nodes)
			env.unchanged(svc, nodes)
		})
	}
}

//proves:43
func TestEnsure_CreatesNothingForSourceRangesWhileVersionIsUnknown(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	env.Conf.LoadBalancer.LBProvider = "amphora"
	engine := env.coldController()
	env.Cloud.Faults.Add(faultRootDocument())
	env.Cloud.RequestLog.Reset()
	if _, err := engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Error("Ensure succeeded without knowing whether source ranges are enforced")
	}
	env.writes(0)
	env.Cloud.Faults.Clear()
	if _, err := engine.Ensure(env.ctx, svc, nodes); err != nil {
		t.Errorf("does not heal: %v", err)
	}
	if got := env.loadBalancer().Listeners[0].AllowedCIDRs; len(got) != 1 {
		t.Errorf("allowed_cidrs %v", got)
	}
}

// A value that is not allowed changes only the members of an existing load balancer, which follow
// the nodes. The value is not replaced by a default, neither together with another change nor after
// a restart. The error becomes the event of the service controller.
//
//proves:92
func TestRefusal_KeepsLastGoodStateWhenAnnotationIsMalformed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes, svc := env.nodes(3), service("web", 1)
	svc.Annotations[annotation.MonitorDelay] = "30"
	env.ensure(svc, nodes[:2])
	before := env.loadBalancer()

	const want = `metadata.annotations[` + annotation.MonitorDelay + `]: Invalid value: "30s": allowed: 1 to 3600 (seconds)`
	svc.Annotations[annotation.MonitorDelay] = "30s"
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes[:2], want)
	env.writes(0)
	if after := env.loadBalancer(); !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("the load balancer has changed: %+v", after)
	}
	if err := env.engine.Update(env.ctx, svc, nodes); err != nil {
		t.Errorf("Update: %v", err)
	}
	env.restart()
	env.refused(svc, nodes, want)
	env.writes(1) // the new node
	if after := env.loadBalancer(); len(after.Listeners) != 1 || after.Pools[0].Monitor.Delay != 30 || len(after.Pools[0].Members) != 3 {
		t.Errorf("the load balancer has changed: %+v", after)
	}

	svc.Annotations[annotation.MonitorDelay] = "31"
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); len(lb.Listeners) != 2 || lb.Pools[0].Monitor.Delay != 31 || len(lb.Pools[0].Members) != 3 {
		t.Errorf("does not heal: %+v", lb)
	}
	env.unchanged(svc, nodes)
	svc.Annotations[annotation.MonitorDelay] = "soon"
	env.delete(svc)
	env.loadBalancers(0)
}

// An event reports an unknown annotation with the most similar known one, and a setting that cannot
// change.
//
//proves:92,93
func TestEnsure_ReportsSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations["loadbalancer.openstack.org/floating-netwrok-id"] = "x"
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, `did you mean "loadbalancer.openstack.org/floating-network-id"?`) {
		t.Errorf("events:\n%s", emitted)
	}
	svc.Annotations = map[string]string{annotation.Prefix + "lb-provider": "ovn", "service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
	env.ensure(svc, nodes)
	emitted := env.emitted()
	for _, meant := range []string{annotation.Provider, annotation.Internal} {
		if !strings.Contains(emitted, `did you mean "`+meant+`"?`) {
			t.Errorf("no suggestion of %s in the events:\n%s", meant, emitted)
		}
	}
	svc.Annotations = map[string]string{annotation.SubnetID: "another-subnet"}
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "the subnet of the VIP stays") {
		t.Errorf("events:\n%s", emitted)
	}
}

func TestMembers_LeaveOutAndReportNodeWithoutAddress(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	nodes[1] = nodes[1].DeepCopy()
	nodes[1].Status.Addresses = nil
	env.ensure(svc, nodes)
	if n := len(env.loadBalancer().Pools[0].Members); n != 1 {
		t.Errorf("%d members", n)
	}
	if emitted := env.emitted(); !strings.Contains(emitted, "no IPv4 address: node-1") {
		t.Errorf("events:\n%s", emitted)
	}
}

func TestUpdate_DrainsNoPoolWhenNoNodeIsLeft(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.Cloud.RequestLog.Reset()
	if err := env.engine.Update(env.ctx, svc, nil); err == nil {
		t.Error("Update without nodes succeeded")
	}
	env.writes(0)
	if n := len(env.loadBalancer().Pools[0].Members); n != 2 {
		t.Errorf("%d members are left", n)
	}
}

func TestEnsure_WritesNothingWhenReadFails(t *testing.T) {
	t.Parallel()
	for _, route := range []string{
		lbRoute, "/load-balancer/v2.0/lbaas/listeners", "/load-balancer/v2.0/lbaas/pools",
		"/load-balancer/v2.0/lbaas/pools/*/members", fipRoute,
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes := env.nodes(2)
			env.ensure(service("web", 1), nodes)
			env.restart()
			svc := service("web", 2)
			env.Cloud.Faults.Add(faultOn(http.MethodGet, route, http.StatusInternalServerError))
			env.Cloud.RequestLog.Reset()
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				t.Error("Ensure succeeded")
			}
			env.writes(0)
			env.Cloud.Faults.Clear()
			env.ensure(svc, nodes)
			env.unchanged(svc, nodes)
		})
	}
}
