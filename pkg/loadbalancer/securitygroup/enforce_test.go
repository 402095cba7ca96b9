package securitygroup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// A node that would let everybody in makes the source ranges of its Service an error, which names the node.
func TestPlan_RefusesSourceRangesThatANodeWouldNotEnforce(t *testing.T) {
	t.Parallel()
	restricted := &Spec{Direct: true, Clients: []string{"192.0.2.0/24"}}
	seven := []string{"a", "b", "c", "d", "e", "f", "g"}
	for name, c := range map[string]struct {
		spec  *Spec
		task  Task
		nodes []string
		want  string
	}{
		"all nodes are right":        {spec: restricted},
		"ranges without such nodes":  {spec: &Spec{Clients: restricted.Clients}, task: Task{Unfiltered: seven, Unfound: seven, Taken: seven, Strayed: seven}},
		"such nodes without ranges":  {spec: &Spec{Direct: true}, task: Task{Unfiltered: seven, Unfound: seven, Taken: seven, Strayed: seven}},
		"port security off":          {restricted, Task{Unfiltered: seven[:1]}, seven[:1], "port security is off at the ports of a"},
		"no port":                    {restricted, Task{Unfound: seven[:2]}, seven[:2], "no port of this project has the address of a, b"},
		"another server's port":      {restricted, Task{Taken: seven[:1]}, seven[:1], "a port that is not of their server has the address of a"},
		"a port in another subnet":   {restricted, Task{Strayed: seven[:1]}, seven[:1], "their servers are unknown, and no port in the members' subnets has the address of a"},
		"five of them are named":     {restricted, Task{Unfound: seven[:5]}, seven[:5], "the address of a, b, c, d, e"},
		"more than five are counted": {restricted, Task{Unfound: seven}, seven, "the address of a, b, c, d, e and 2 more"},
	} {
		err := enforceable(c.spec, &c.task)
		var refused *UnenforcedError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "":
		case !errors.As(err, &refused) || !slices.Equal(refused.Nodes, c.nodes):
			t.Errorf("%s: error %#v", name, err)
		case !strings.HasPrefix(err.Error(), "spec.loadBalancerSourceRanges cannot be enforced") || !strings.HasSuffix(err.Error(), c.want):
			t.Errorf("%s: message %q, want it to end with %q", name, err, c.want)
		}
	}
}

// besideNetwork is a Neutron with some groups, which records those that are read.
type besideNetwork struct {
	Neutron
	groups []neutron.SecurityGroup
	read   []string
	err    error
}

func (n *besideNetwork) SecurityGroups(_ context.Context, ids []string) ([]neutron.SecurityGroup, error) {
	n.read = ids
	return slices.DeleteFunc(slices.Clone(n.groups), func(g neutron.SecurityGroup) bool { return !slices.Contains(ids, g.ID) }), n.err
}

// Neutron admits what any group of a port admits. Groups that go, and those on ports of other nodes only, do not count.
func TestPlan_RefusesSourceRangesThatAnotherGroupOpens(t *testing.T) {
	t.Parallel()
	open := func(id, protocol string) neutron.SecurityGroup {
		return neutron.SecurityGroup{ID: id, Name: "group-" + id, Rules: []neutron.SecurityGroupRule{
			{Direction: "egress", EtherType: "IPv4"}, {Direction: "ingress", EtherType: "IPv4", Protocol: protocol},
		}}
	}
	n := &besideNetwork{groups: []neutron.SecurityGroup{open("udp", "udp"), open("tcp", "tcp"), open("ours", ""), open("old", ""), open("others", "")}}
	task := func(beside ...string) *Task {
		t := &Task{
			state: &State{GroupID: "ours", Obsolete: []string{"old"}}, beside: map[string]bool{"others": false},
			desired: &Desired{Own: []Rule{rule("udp", 30053, "2001:db8::/64"), rule("tcp", 30080, "192.0.2.0/24")}},
		}
		for _, id := range beside {
			t.beside[id] = true
		}
		return t
	}
	if err := openToAll(t.Context(), n, task("udp", "old", "ours", "missing")); err != nil {
		t.Errorf("no group opens a port of the Service: %v", err)
	}
	if !slices.Equal(n.read, []string{"missing", "udp"}) {
		t.Errorf("read groups %v", n.read)
	}
	err := openToAll(t.Context(), n, task("udp", "tcp"))
	var refused *UnenforcedError
	if !errors.As(err, &refused) || len(refused.Nodes) > 0 {
		t.Fatalf("error %#v", err)
	}
	const want = "security group group-tcp (tcp), which is on their ports too, lets everybody reach tcp/30080"
	if !strings.HasSuffix(err.Error(), want) {
		t.Errorf("message %q, want it to end with %q", err, want)
	}
	n.err = errFacts
	if err := openToAll(t.Context(), n, task("udp")); !errors.Is(err, errFacts) {
		t.Errorf("groups that cannot be read: %v", err)
	}
}

func TestLetsEverybodyIn_ComparesIPFamiliesAndNumbersOfProtocols(t *testing.T) {
	t.Parallel()
	port := 30080
	all6 := neutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv6", Protocol: "6", PortRangeMin: &port}
	for _, c := range []struct {
		name   string
		rule   neutron.SecurityGroupRule
		prefix string
		opens  bool
	}{
		{"all of IPv6 to a range of IPv6", all6, "2001:db8::/64", true},
		{"all of IPv6 to a range of IPv4", all6, "192.0.2.0/24", false},
		{"all of IPv6 in full", neutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv6", RemoteIPPrefix: "::/0"}, "2001:db8::/64", true},
		{"an unknown protocol", neutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv6", Protocol: "gre"}, "2001:db8::/64", false},
		{"an unreadable prefix", neutron.SecurityGroupRule{Direction: "ingress", EtherType: "IPv6", RemoteIPPrefix: "all"}, "2001:db8::/64", false},
	} {
		if opens := letsEverybodyIn(c.rule, rule("tcp", port, c.prefix)); opens != c.opens {
			t.Errorf("%s: it lets everybody in: %v", c.name, opens)
		}
	}
}

// The load balancer reaches nodes from the subnets of its members and its VIP. Without one of the members, or
// without any, the nodes would be closed to it.
func TestPlan_AdmitsTheSubnetsFromWhichTheLoadBalancerSends(t *testing.T) {
	t.Parallel()
	cidrs := map[string]string{"a": "10.7.0.0/16", "b": "10.6.1.2/16", "same": "10.6.0.0/16", "six": "fd00:6::/64", "broken": "?"}
	for name, c := range map[string]struct {
		spec Spec
		vip  string
		want []string
		err  string
	}{
		"members and VIP, sorted":         {spec: Spec{Subnets: []string{"a"}}, vip: "b", want: []string{"10.6.0.0/16", "10.7.0.0/16"}},
		"one CIDR twice":                  {spec: Spec{Subnets: []string{"b", "same"}}, vip: "b", want: []string{"10.6.0.0/16"}},
		"members of the VIP's network":    {vip: "a", want: []string{"10.7.0.0/16"}},
		"a VIP that is not yet there":     {spec: Spec{Subnets: []string{"a"}}, want: []string{"10.7.0.0/16"}},
		"a VIP in an invisible subnet":    {spec: Spec{Subnets: []string{"a"}}, vip: "hidden", want: []string{"10.7.0.0/16"}},
		"members in an invisible subnet":  {spec: Spec{Subnets: []string{"a", "hidden"}}, vip: "b", err: "there is no subnet hidden for members, or this project cannot see it"},
		"only the family of the members":  {spec: Spec{Subnets: []string{"a", "six"}, IPv6: true}, vip: "b", want: []string{"fd00:6::/64"}},
		"both families":                   {spec: Spec{Subnets: []string{"a", "six"}, DualStack: true}, want: []string{"10.7.0.0/16", "fd00:6::/64"}},
		"an unreadable CIDR":              {spec: Spec{Subnets: []string{"a", "broken"}}, want: []string{"10.7.0.0/16"}},
		"none":                            {vip: "six", err: "cannot determine the subnet from which the load balancer reaches the nodes: set member-subnet-id"},
		"none, but clients come directly": {spec: Spec{Direct: true}, vip: "six"},
	} {
		got, err := nearby(t.Context(), &knownFacts{cidrs: cidrs}, &c.spec, c.vip)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
	if _, err := nearby(t.Context(), &knownFacts{cidrs: cidrs, failing: "SubnetCIDR"}, &Spec{}, "a"); !errors.Is(err, errFacts) {
		t.Errorf("a subnet that cannot be read: %v", err)
	}
}
