package loadbalancer_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// pods sets the pods of a Service by node and last byte of the address, as in "0:11 1:12-", where "-"
// means that it terminates and still serves. The target port of port 80 is 8080, and so on.
func (f *fakeEndpoints) pods(svc *v1.Service, pods string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slice := members.Slice{Family: v1.IPv4Protocol}
	for _, port := range svc.Spec.Ports {
		slice.Ports, slice.Numbers = append(slice.Ports, port.Name), append(slice.Numbers, 8000+int(port.Port))
	}
	for _, pod := range strings.Fields(pods) {
		node, last, _ := strings.Cut(strings.TrimSuffix(pod, "-"), ":")
		terminates := strings.HasSuffix(pod, "-")
		slice.Endpoints = append(slice.Endpoints, members.Endpoint{
			Node: "node-" + node, Address: netip.MustParseAddr("10.244." + node + "." + last), Ready: !terminates, Serving: true, Terminating: terminates,
		})
	}
	f.of = members.Endpoints{slice}
}

// withPods is a cloud with a Service that has pods as members, without NodePorts.
func withPods(t *testing.T, keys map[string]string, ports int, pods string) (*environment, *fakeEndpoints, *v1.Service, []*v1.Node) {
	t.Helper()
	f := &fakeEndpoints{}
	env := newEnvironment(t, environmentOptions{keys: keys, endpoints: f, simulator: simulator.Options{Release: "2025.1"}})
	nodes, svc := env.nodes(4), service("web", ports)
	svc.Annotations[annotation.Members] = annotation.MembersPods
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].NodePort = 0
	}
	env.routePods(0, 1, 2, 3)
	f.pods(svc, pods)
	return env, f, svc, nodes
}

// routePods gives the pods of some nodes a route and an address pair, and no others.
func (env *environment) routePods(nodes ...int) {
	env.T.Helper()
	var routes []simneutron.Route
	for i, node := range env.members {
		at, cidr := node.Status.Addresses[0].Address, fmt.Sprintf("10.244.%d.0/24", i)
		pairs := []simneutron.AddressPair{}
		if slices.Contains(nodes, i) {
			routes, pairs = append(routes, simneutron.Route{Destination: cidr, NextHop: at}), append(pairs, simneutron.AddressPair{Address: cidr})
		}
		for _, port := range env.Cloud.Neutron.Ports() {
			if slices.ContainsFunc(port.FixedIPs, func(ip simneutron.FixedIP) bool { return ip.Address == at }) {
				if _, err := env.Cloud.Neutron.UpdatePort(port.ID, simneutron.PortUpdate{AddressPairs: &pairs}); err != nil {
					env.T.Fatal(err)
				}
			}
		}
	}
	if err := env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, routes); err != nil {
		env.T.Fatal(err)
	}
}

// areAt fails unless these are the addresses and ports of the members of each pool, as "10.244.0.11:8080".
// The leading 10.244. may be left out.
func (env *environment) areAt(want string) {
	env.T.Helper()
	var pools []string
	for _, pool := range env.loadBalancer().Pools {
		var at []string
		for _, m := range pool.Members {
			at = append(at, fmt.Sprintf("%s:%d", strings.TrimPrefix(m.Address, "10.244."), m.ProtocolPort))
		}
		slices.Sort(at)
		pools = append(pools, strings.Join(at, " "))
	}
	if got := strings.Join(pools, "; "); got != want {
		env.T.Errorf("the members are at %s, want %s", got, want)
	}
}

// Pods are members with their own addresses and target ports, without NodePorts. With ovn they are in the
// subnet of the nodes, also in the creation, with amphora in none. A pod that is replaced costs a batch for
// each pool, and a restart nothing.
//
//proves:56,57
func TestPods_AreMembersWithTheirAddressesAndPorts(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": provider}, 2, "0:11 1:11 1:12")
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(2) // the load balancer and its floating IP
			env.areAt("0.11:8080 1.11:8080 1.12:8080; 0.11:8081 1.11:8081 1.12:8081")
			env.areInSubnet(map[string]string{"ovn": env.Cloud.Subnet.ID}[provider])
			env.unchanged(svc, nodes)
			f.pods(svc, "0:11 1:12- 1:11 2:13")
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(2)
			if provider == "ovn" { // removal cuts its connections
				env.areAt("0.11:8080 1.11:8080 1.12:8080 2.13:8080; 0.11:8081 1.11:8081 1.12:8081 2.13:8081")
				f.pods(svc, "0:11 1:11 2:13")
				env.ensure(svc, nodes)
			}
			env.areAt("0.11:8080 1.11:8080 2.13:8080; 0.11:8081 1.11:8081 2.13:8081")
			env.areInSubnet(map[string]string{"ovn": env.Cloud.Subnet.ID}[provider])
			env.writeDown(svc)
			env.restart()
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
			f.pods(svc, "")
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.writes(0)
			env.areAt("0.11:8080 1.11:8080 2.13:8080; 0.11:8081 1.11:8081 2.13:8081")
		})
	}
}

func (env *environment) areInSubnet(want string) {
	env.T.Helper()
	for _, pool := range env.loadBalancer().Pools {
		for _, m := range pool.Members {
			if m.SubnetID != want {
				env.T.Errorf("member %s is in subnet %q, want %q", m.Address, m.SubnetID, want)
			}
		}
	}
}

// Nodes are replaced by pods in one batch for each pool, and the other way round.
//
//proves:56
func TestPods_ReplaceNodesInOneBatchPerPool(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, _, svc, nodes := withPods(t, map[string]string{"lb-provider": provider}, 1, "0:11 1:11")
			svc.Spec.Ports[0].NodePort = 30080
			svc.Annotations[annotation.Members] = annotation.MembersNodes
			env.ensure(svc, nodes[:2])
			env.areAt("127.100.1.10:30080 127.100.1.11:30080")
			svc.Annotations[annotation.Members] = annotation.MembersPods
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:2])
			env.writes(1)
			env.areAt("0.11:8080 1.11:8080")
			env.areInSubnet(map[string]string{"ovn": env.Cloud.Subnet.ID}[provider])
			svc.Annotations[annotation.Members] = annotation.MembersNodes
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:2])
			env.writes(1)
			env.areAt("127.100.1.10:30080 127.100.1.11:30080")
		})
	}
}

// Pods that cannot be reached are refused before the first write, and the message names the missing part.
// The members stay nodes, which come and go, until the pods can be reached.
//
//proves:56
func TestPods_AreRefusedUnlessReachable(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, _, svc, nodes := withPods(t, map[string]string{"lb-provider": provider}, 1, "0:11 1:11")
			env.routePods(0)
			env.Cloud.RequestLog.Reset()
			env.refused(svc, nodes, "pod 10.244.1.11 has no route in the router of the load balancer's subnet")
			env.writes(0)
			svc.Spec.Ports[0].NodePort = 30080
			svc.Annotations[annotation.Members] = annotation.MembersNodes
			env.ensure(svc, nodes[:2])
			svc.Annotations[annotation.Members] = annotation.MembersPods
			env.refused(svc, nodes[:2], "has no route")
			env.restart()
			env.refused(svc, nodes[:3], "has no route")
			env.areAt("127.100.1.10:30080 127.100.1.11:30080 127.100.1.12:30080")
			env.routePods(0, 1)
			env.restart() // which forgets the routes that have just been read
			env.ensure(svc, nodes[:3])
			env.areAt("0.11:8080 1.11:8080")
		})
	}
}

// A pod that cannot be reached does not keep the others from being followed.
//
//proves:56
func TestPods_AreFollowedBesideUnreachableOnes(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "0:11 1:11")
	env.ensure(svc, nodes)
	env.routePods(0, 1)
	f.pods(svc, "0:12 1:11 2:11")
	env.refused(svc, nodes, "pod 10.244.2.11 has ")
	env.areAt("0.12:8080 1.11:8080")
	f.pods(svc, "2:11")
	env.refused(svc, nodes, "pod 10.244.2.11 has ")
	env.areAt("0.12:8080 1.11:8080")
	env.routePods(0, 1, 2)
	env.restart() // which forgets the routes that have just been read
	env.ensure(svc, nodes)
	env.areAt("2.11:8080")
}

// While a change between nodes and pods is refused, the members stay what they were, also with another
// NodePort and in the next process.
//
//proves:56
func TestPods_AndNodesAreNotExchangedByRefusedChange(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarts %t", restarts), func(t *testing.T) {
			t.Parallel()
			env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "0:11 1:11")
			change := func(mode string, nodePort int32, text string) {
				t.Helper()
				svc.Annotations[annotation.Members], svc.Spec.Ports[0].NodePort = mode, nodePort
				if restarts {
					env.restart()
				}
				env.refused(svc, nodes[:2], text)
			}
			svc.Annotations[annotation.Members], svc.Spec.Ports[0].NodePort = annotation.MembersNodes, 30080
			env.ensure(svc, nodes[:2])
			env.routePods(0)
			change(annotation.MembersPods, 30090, "has no route")
			env.areAt("127.100.1.10:30090 127.100.1.11:30090")
			env.routePods(0, 1)
			env.restart()
			env.ensure(svc, nodes[:2])
			env.areAt("0.11:8080 1.11:8080")
			svc.Annotations[annotation.MaxMembers] = "many"
			f.pods(svc, "0:12 1:11")
			change(annotation.MembersNodes, 30090, "many")
			env.areAt("0.12:8080 1.11:8080")
		})
	}
}

// The port of a member shows that it is a pod of the nodes' network and not a node, also if that pod is gone.
//
//proves:56
func TestPods_OfHostNetworkAreFollowedWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "")
	svc.Spec.Ports[0].NodePort = 30080
	on := func(node int) {
		f.of[0].Endpoints = []members.Endpoint{{
			Node: nodes[node].Name, Address: netip.MustParseAddr(nodes[node].Status.Addresses[0].Address), Ready: true, Serving: true,
		}}
	}
	on(0)
	env.ensure(svc, nodes)
	env.areAt("127.100.1.10:8080")
	svc.Annotations[annotation.MaxMembers] = "many"
	env.restart()
	on(1)
	env.refused(svc, nodes, "many")
	env.areAt("127.100.1.11:8080")
}

// Nodes that replace pods are in their subnet in each pool, also if the change is interrupted between two
// pools, or is refused for a while, and the members are pods of the nodes' network.
//
//proves:56
func TestPods_GiveWayToNodesInTheirSubnet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host   bool
		status int
		body   string
	}{
		"pod network, failure": {status: http.StatusInternalServerError},
		"hostNetwork, failure": {host: true, status: http.StatusInternalServerError},
		"hostNetwork, quota": {
			host: true, status: http.StatusForbidden, body: `{"faultcode": "Client", "faultstring": "Quota has been met for resources: members", "debuginfo": null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "amphora"}, 2, "0:11 1:11")
			if c.host {
				for i := range f.of[0].Endpoints {
					f.of[0].Endpoints[i].Address = netip.MustParseAddr(nodes[i].Status.Addresses[0].Address)
				}
			}
			for i := range svc.Spec.Ports {
				svc.Spec.Ports[i].NodePort = 30080 + int32(i)
			}
			env.ensure(svc, nodes)
			svc.Annotations[annotation.Members] = annotation.MembersNodes
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/load-balancer/v2.0/lbaas/pools/*/members", From: 2, Count: 1, Status: c.status, Body: c.body})
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				t.Fatal("nothing fails")
			}
			if !c.host {
				env.restart()
			}
			env.ensure(svc, nodes)
			for _, pool := range env.loadBalancer().Pools {
				for _, m := range pool.Members {
					if m.ProtocolPort < 30000 || m.SubnetID != env.Cloud.Subnet.ID {
						t.Errorf("%s: member %s:%d in subnet %q", pool.Name, m.Address, m.ProtocolPort, m.SubnetID)
					}
				}
			}
			env.unchanged(svc, nodes)
		})
	}
}

// While a change to pods is refused, nodes stay members as their settings have it: at most max-members, at
// their addresses in member-subnet-id, also in the next process.
//
//proves:56
func TestPods_RefusedLeaveLimitsOfNodes(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "amphora"}, 1, "0:11 1:11")
	second := env.subnet("127.102.0.0/16")
	for i, node := range nodes {
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: fmt.Sprintf("127.102.0.%d", i+1)})
	}
	svc.Spec.Ports[0].NodePort = 30080
	annotate(annotation.Members, annotation.MembersNodes, annotation.MaxMembers, "2", annotation.MemberSubnetID, second, annotation.MemberAddress, "true")(svc)
	env.ensure(svc, nodes)
	before := env.loadBalancer().Pools[0].Members
	if len(before) != 2 || !strings.HasPrefix(before[0].Address, "127.102.") {
		t.Fatalf("members %+v", before)
	}
	svc.Annotations[annotation.Members] = annotation.MembersPods
	f.forbidden = true
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "may not list and watch EndpointSlices")
	env.writes(0)
}

// The Service of a Cilium Gateway has no pods: its endpoint has an address that does not exist, no node, and
// none of the Service's ports. It is refused before the first write, and nodes that are members stay.
//
//proves:56
func TestPods_AreRefusedForGatewayOnEveryNode(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "")
	svc.Spec.Ports[0].NodePort = 30080
	f.of = members.Endpoints{{
		Family: v1.IPv4Protocol, Ports: []string{""}, Numbers: []int{9999},
		Endpoints: []members.Endpoint{{Address: netip.MustParseAddr("192.192.192.192"), Ready: true}},
	}}
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes[:2], "there are no pods")
	env.writes(0)
	svc.Annotations[annotation.Members] = annotation.MembersNodes
	env.ensure(svc, nodes[:2])
	svc.Annotations[annotation.Members] = annotation.MembersPods
	env.refused(svc, nodes[:3], "there are no pods")
	env.areAt("127.100.1.10:30080 127.100.1.11:30080 127.100.1.12:30080")
}

// Pools that have no members yet get the pods that come, also while a change to nodes is refused.
//
//proves:56
func TestPods_ComeToEmptyPoolsWhileServiceIsRefused(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "")
	svc.Spec.Ports[0].NodePort = 30080
	env.ensure(svc, nodes)
	env.areAt("")
	svc.Annotations[annotation.Members], svc.Annotations[annotation.MaxMembers] = annotation.MembersNodes, "many"
	env.refused(svc, nodes, "many")
	env.areAt("")
	if !env.engine.FollowsPods(svc) || !env.engine.FollowsEndpoints(svc) {
		t.Error("changes of the pods are not followed")
	}
	f.pods(svc, "1:11")
	env.refused(svc, nodes, "many")
	env.areAt("1.11:8080")
}

// A hostNetwork pod beside other pods does not put these into a subnet of nodes: with amphora that would
// change the way back of all pools.
//
//proves:56
func TestPods_HaveNoSubnetOfHostNetworkPods(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "amphora"}, 1, "0:11")
	nodes[3] = env.moveTo(nodes[3], env.subnet("127.102.0.0/16"), "127.102.0.9")
	svc.Annotations[annotation.SubnetID] = env.Cloud.Subnet.ID
	f.of[0].Endpoints = append(f.of[0].Endpoints, members.Endpoint{Node: "node-3", Address: netip.MustParseAddr("127.102.0.9"), Ready: true, Serving: true})
	env.ensure(svc, nodes)
	host := f.of[0].Endpoints[1]
	for _, pods := range []string{"0:11 1:11", "2:11"} {
		f.pods(svc, pods)
		f.of[0].Endpoints = append(f.of[0].Endpoints, host)
		env.ensure(svc, nodes)
	}
	for _, m := range env.loadBalancer().Pools[0].Members {
		if (m.SubnetID == "") != strings.HasPrefix(m.Address, "10.244.") {
			t.Errorf("member %s is in subnet %q", m.Address, m.SubnetID)
		}
	}
}

// With ovn, a pool with a monitor and pods behind routes serves nothing: the Service that requests one is
// refused, and create-monitor has no effect. With amphora monitors probe the pods.
//
//proves:56
func TestPods_HaveNoMonitorWithOVN(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, _, svc, nodes := withPods(t, map[string]string{"lb-provider": provider, "create-monitor": "true"}, 1, "0:11")
			policyLocal(svc)
			env.ensure(svc, nodes)
			monitor := env.loadBalancer().Pools[0].Monitor
			if provider == "amphora" {
				if monitor == nil || monitor.Type != "TCP" || env.loadBalancer().Pools[0].Members[0].MonitorPort != 0 {
					t.Errorf("monitor %+v", monitor)
				}
				return
			}
			if monitor != nil {
				t.Error("the pool has a monitor, and serves nothing")
			}
			if got := env.emitted(); !strings.Contains(got, "there are no health monitors, although create-monitor is set") {
				t.Errorf("events:\n%s", got)
			}
			svc.Annotations[annotation.Monitor] = "true"
			env.refused(svc, nodes, "a health monitor needs a Neutron port of the pod's address")
		})
	}
}

// The nodes' security groups admit the target ports, also while a Service has no pods.
//
//proves:56
func TestPods_AreAdmittedByNodes(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, managed("per-service", "members", "pods"), 1, "0:11")
	env.ensure(svc, nodes)
	for range 2 {
		if rules := strings.Join(rulesOf(env.group()), " "); !strings.Contains(rules, "8080") {
			t.Errorf("rules %s", rules)
		}
		f.pods(svc, "")
		env.ensure(svc, nodes)
		env.areAt("0.11:8080")
	}
}

// A Service alone cannot open ports of its choice on all nodes: that takes cloud.conf.
//
//proves:56
func TestPods_OpenPortsOfNodesOnlyByCloudConf(t *testing.T) {
	t.Parallel()
	env, _, svc, nodes := withPods(t, managed("per-service"), 1, "0:11")
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "security groups would open the target ports of pods on all nodes")
	env.writes(0)
}

// In the security group of a cluster, Services with the same target port would take each other's rule, and
// the first one deleted would close the port for all: they are refused before the first write.
//
//proves:56
func TestPods_AreRefusedInSharedSecurityGroup(t *testing.T) {
	t.Parallel()
	env, _, svc, nodes := withPods(t, managed("shared", "members", "pods"), 1, "0:11")
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "pods need security-group-mode=per-service of cloud.conf")
	env.writes(0)
}

// Services that have pods as members, and are refused after the operator has chosen a shared security group,
// keep the groups that they have: nothing is written for them.
//
//proves:56
func TestPods_KeepTheirGroupsWhileSharedOneIsRefused(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, managed("per-service", "members", "pods"), 1, "0:11")
	env.ensure(svc, nodes)
	before := rulesOf(env.group())
	env.Conf.LoadBalancer.SecurityGroupMode = "shared"
	env.restart()
	f.pods(svc, "1:11")
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "pods need security-group-mode=per-service of cloud.conf")
	env.writes(1) // the member
	env.areAt("1.11:8080")
	if after := rulesOf(env.group()); !slices.Equal(before, after) {
		t.Errorf("rules %v, want %v", after, before)
	}
	env.delete(svc)
	if left := env.groups(); len(left) > 0 {
		t.Errorf("groups %+v are left", left)
	}
}

// Without the right to watch EndpointSlices, the Service is refused, and its members stay.
//
//proves:56
func TestPods_StayWithoutRight(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "0:11")
	env.ensure(svc, nodes)
	f.forbidden = true
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "may not list and watch EndpointSlices")
	env.writes(0)
	env.areAt("0.11:8080")
}

// A pod in the network of its node is a member without a route, and one in pod-networks without a check.
//
//proves:56
func TestPods_NeedNoRouteInNetworksOfNodesAndBGP(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": provider, "pod-networks": "10.244.1.0/24"}, 1, "0:11")
			env.routePods()
			f.of[0].Endpoints[0].Address = netip.MustParseAddr(nodes[0].Status.Addresses[0].Address)
			env.ensure(svc, nodes)
			env.areAt("127.100.1.10:8080")
			env.areInSubnet(map[string]string{"ovn": env.Cloud.Subnet.ID}[provider])
			f.pods(svc, "1:11")
			if provider == "ovn" {
				env.refused(svc, nodes, "is in pod-networks of cloud.conf")
				return
			}
			env.ensure(svc, nodes)
			env.areAt("1.11:8080")
		})
	}
}

// A pod that leaves ahead of its end does not come back with the next process.
//
//proves:57
func TestPods_ThatTerminateDoNotComeBack(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, map[string]string{"lb-provider": "ovn"}, 1, "0:11 0:12")
	env.ensure(svc, nodes)
	for _, step := range []struct{ pods, want string }{
		{"0:11 0:12-", "0.11:8080 0.12:8080"},
		{"0:11", "0.11:8080"}, // 0.12 stops soon
		{"0:11 0:12-", "0.11:8080"},
		{"0:11 0:12- 1:13", "0.11:8080 1.13:8080"},
		{"0:11- 1:13-", "0.11:8080 1.13:8080"},
	} {
		f.pods(svc, step.pods)
		env.restart()
		env.ensure(svc, nodes)
		env.areAt(step.want)
	}
}
