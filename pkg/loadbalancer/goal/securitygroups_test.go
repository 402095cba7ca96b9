package goal

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A node may be on another server than its provider ID says, and another node may still have its address: the port of
// its address can belong to any of these servers.
func TestGroupNode_HasTheServersOnWhichItsAddressMayBe(t *testing.T) {
	t.Parallel()
	const a, b, c = "aaaaaaaa-6b5a-4c3d-8e1f-a0b1c2d3e4f5", "bbbbbbbb-6b5a-4c3d-8e1f-a0b1c2d3e4f5", "cccccccc-6b5a-4c3d-8e1f-a0b1c2d3e4f5"
	node := func(server, system string) *v1.Node {
		n := fixture.Node("node-1", "10.0.0.1")
		if n.Status.NodeInfo.SystemUUID = system; server != "" {
			n.Spec.ProviderID = "openstack:///" + server
		}
		return n
	}
	for name, test := range map[string]struct {
		node   *v1.Node
		older  []*v1.Node
		server string
		others []string
	}{
		"its own":        {node(a, a), nil, a, nil},
		"recreated":      {node(a, b), nil, a, []string{b}},
		"no system UUID": {node(a, "ec2-1234"), nil, a, nil},
		"an older one":   {node(a, a), []*v1.Node{node(c, c), node("", "")}, a, []string{c}},
		"both":           {node(a, b), []*v1.Node{node(c, c), node(a, a)}, a, []string{b, c}},
		"no server's":    {node("", b), []*v1.Node{node(c, c)}, "", nil},
	} {
		got := groupNode(test.node, []string{"10.0.0.1"}, test.older)
		if got.Name != "node-1" || got.Server != test.server || !slices.Equal(got.OtherServers, test.others) || !slices.Equal(got.Addresses, []string{"10.0.0.1"}) {
			t.Errorf("%s: %+v, want server %q and %q", name, got, test.server, test.others)
		}
	}
}

func TestAddressesOf_AreThoseOfTheNodesPorts(t *testing.T) {
	t.Parallel()
	node := fixture.Node("node-1", "10.0.0.1", "external 203.0.113.1", "fd00::1")
	node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: "node-1"}, v1.NodeAddress{Type: v1.NodeInternalDNS, Address: "node-1.local"})
	if got, want := addressesOf(node), []string{"10.0.0.1", "203.0.113.1", "fd00::1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Load balancers reach their members from the subnets of all their VIPs.
func TestWithVIPs_AddsTheirSubnetsOnce(t *testing.T) {
	t.Parallel()
	spec := &securitygroup.Spec{Subnets: slices.Grow([]string{"b", "d"}, 10)} // a sort of the whole would change it
	vips := []model.AdditionalVIP{{SubnetID: "c"}, {SubnetID: "b"}, {}, {SubnetID: "a"}}
	if got := withVIPs(spec, vips); !slices.Equal(got.Subnets, []string{"a", "b", "c", "d"}) || !slices.Equal(spec.Subnets, []string{"b", "d"}) {
		t.Errorf("%v of %v", got.Subnets, spec.Subnets)
	}
	if withVIPs(nil, vips) != nil || withVIPs(spec, nil) != spec {
		t.Error("without groups or further VIPs, the specification is another")
	}
}

// The VIPs are those of the existing load balancer, which cannot change, else the desired ones.
func TestVIPSubnet_IsThatOfTheExistingLoadBalancer(t *testing.T) {
	t.Parallel()
	lb := func(subnet string) *model.LoadBalancer {
		return &model.LoadBalancer{VIP: model.VIP{SubnetID: subnet, Additional: []model.AdditionalVIP{{SubnetID: subnet + "6"}}}}
	}
	want := &Desired{LoadBalancer: lb("wanted")}
	for subnet, observed := range map[string]*model.Observed{"there": {LoadBalancer: lb("there")}, "wanted": {}} {
		have := Observation{Observed: observed}
		if got, more := vipSubnet(have, want), vipsOf(have, want); got != subnet || len(more) != 1 || more[0].SubnetID != subnet+"6" {
			t.Errorf("%s: %q and %v", subnet, got, more)
		}
	}
}
