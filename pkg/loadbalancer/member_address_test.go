package loadbalancer_test

import (
	"net/http"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// memberAddresses returns the addresses of the members of the only pool.
func (env *environment) memberAddresses() map[string]bool {
	env.T.Helper()
	addresses := map[string]bool{}
	for _, m := range env.loadBalancer().Pools[0].Members {
		addresses[m.Address] = true
	}
	return addresses
}

// nodesInTwoSubnets returns two nodes, and a subnet in which the first of them has its second address, 127.101.1.10.
func (env *environment) nodesInTwoSubnets() (nodes []*v1.Node, other string) {
	env.T.Helper()
	nodes, other = env.nodes(2), env.subnet("127.101.0.0/16")
	both := env.moveTo(nodes[0], other, "127.101.1.10")
	both.Status.Addresses = append([]v1.NodeAddress{nodes[0].Status.Addresses[0]}, both.Status.Addresses...)
	nodes[0] = both
	return nodes, other
}

// Of a node with several addresses, the first one is the member, unless a setting prefers those in
// the member subnet. A node without such an address keeps its first one.
//
//proves:128
func TestMembers_HaveAddressInMemberSubnet(t *testing.T) {
	t.Parallel()
	for _, byKey := range []bool{false, true} {
		t.Run(map[bool]string{false: "annotation", true: "cloud.conf"}[byKey], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"member-address-by-subnet": map[bool]string{false: "false", true: "true"}[byKey]}})
			nodes, other := env.nodesInTwoSubnets()
			svc := service("web", 1)
			annotate(annotation.MemberSubnetID, other, annotation.MemberAddress, "false")(svc)
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at["127.100.1.10"] || !at["127.100.1.11"] || len(at) != 2 {
				t.Errorf("not in the member subnet: %v", at)
			}
			if svc.Annotations[annotation.MemberAddress] = "true"; byKey {
				delete(svc.Annotations, annotation.MemberAddress)
			}
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at["127.101.1.10"] || !at["127.100.1.11"] || len(at) != 2 {
				t.Errorf("in the member subnet: %v", at)
			}
			env.writes(1) // a batch
			env.unchanged(svc, nodes)
			svc.Annotations[annotation.MemberAddress] = "false"
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at["127.100.1.10"] {
				t.Errorf("switched off: %v", at)
			}
		})
	}
}

// Neutron may not find the member subnet for a moment. The members keep their addresses then, and no load balancer is
// created with others.
//
//proves:128
func TestMembers_KeepAddressesWhileMemberSubnetIsNotFound(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{false, true} {
		t.Run(map[bool]string{false: "new", true: "existing, new process"}[exists], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, other := env.nodesInTwoSubnets()
			svc := service("web", 1)
			annotate(annotation.MemberSubnetID, other, annotation.MemberAddress, "true")(svc)
			if exists {
				env.ensure(svc, nodes)
				env.restart()
			}
			env.Cloud.RequestLog.Reset()
			found := env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/network/v2.0/subnets/*", Status: http.StatusNotFound, Worded: true})
			env.refused(svc, nodes, "metadata.annotations["+annotation.MemberSubnetID+"]: there is no subnet "+other)
			env.writes(0)
			found()
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at["127.101.1.10"] || !at["127.100.1.11"] || len(at) != 2 {
				t.Errorf("members at %v", at)
			}
		})
	}
}

// The member subnet is of one IP family. For the other one, the addresses in its network are preferred.
//
//proves:128
func TestMembers_HaveAddressOfEachFamilyInNetworkOfMemberSubnet(t *testing.T) {
	t.Parallel()
	const elsewhere = "fd00:5::9"
	for name, families := range map[string][]v1.IPFamily{
		"IPv4 first": {v1.IPv4Protocol, v1.IPv6Protocol},
		"IPv6 first": {v1.IPv6Protocol, v1.IPv4Protocol},
		"IPv6 only":  {v1.IPv6Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := dualCloud(t, octavia.ProviderOVN, "2026.1", "member-subnet-id", "")
			nodes := env.dualNodes(1)
			nodes[0].Status.Addresses = slices.Insert(nodes[0].Status.Addresses, 1, v1.NodeAddress{Type: v1.NodeInternalIP, Address: elsewhere})
			svc := dual(service("web", 1), require, families...)
			if len(families) == 1 {
				*svc.Spec.IPFamilyPolicy = v1.IPFamilyPolicySingleStack
				svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
			}
			annotate(annotation.MemberSubnetID, env.Cloud.Subnet.ID)(svc)
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at[elsewhere] || len(at) != len(families) {
				t.Errorf("the first address of each family: %v", at)
			}
			annotate(annotation.MemberAddress, "true")(svc)
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			if at := env.memberAddresses(); !at["fd00:6::10"] || at["127.100.1.10"] != (len(families) == 2) || len(at) != len(families) {
				t.Errorf("in the network of the member subnet: %v", at)
			}
			env.writes(1)
			env.unchanged(svc, nodes)
		})
	}
}
