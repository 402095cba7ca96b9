package goal

import (
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
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

// The request to the security groups decides on reads, on clients that stay, and on ports that are left.
func TestPlanGroups_AsksForWhatMayDiffer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		managed             bool
		published, recalled bool
		unread              *settings.Unread
		fails               bool
		// spec is set if groups are wanted; before, if an earlier process may have left others.
		spec, before, kept, ranges bool
	}{
		"managed":                        {managed: true, spec: true},
		"managed, served":                {managed: true, published: true, spec: true, before: true},
		"managed, served, recalled":      {managed: true, published: true, recalled: true, spec: true, before: true},
		"not managed":                    {},
		"not managed, served":            {published: true, before: true},
		"not managed, served, recalled":  {published: true, recalled: true},
		"not managed, recalled":          {recalled: true},
		"kept":                           {managed: true, unread: &settings.Unread{}, spec: true, kept: true},
		"kept, its ranges are not known": {managed: true, unread: &settings.Unread{Ranges: true}, spec: true, kept: true, ranges: true},
		"Neutron fails":                  {managed: true, fails: true, spec: true},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) {
			c.ManageSecurityGroups, c.SecurityGroupMode = test.managed, "per-service"
		}), service(dual(v1.IPFamilyPolicyRequireDualStack)))
		in, current := r.ask().in, false
		in.NodesCurrent = func() bool { current = true; return true }
		if test.published {
			in.Published = published("10.0.0.5")
		}
		want, err := r.planner.asked(r.ctx, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.fails {
			r.fails["groups-plan"] = errFailed
		}
		groups, err := r.groups.plan(r.ctx, in, Round{Have: nothing(in.ID), Want: want, Recalled: test.recalled}, test.unread)
		if errors.Is(err, errFailed) != test.fails || groups.VIPSubnet != "subnet" || !groups.DualStack {
			t.Errorf("%s: %+v, error %v", name, groups, err)
		}
		got := r.planned[len(r.planned)-1]
		if (got.Spec != nil) != test.spec || got.Before != test.before || got.Kept != test.kept || got.Unread != test.ranges || got.VIPSubnet != "subnet" || got.ID != in.ID {
			t.Errorf("%s: asked for %+v", name, got)
		}
		if got.NodesCurrent(); !current {
			t.Errorf("%s: later nodes would not be noticed", name)
		}
		if test.spec && !slices.Contains(got.Spec.Subnets, "subnet6") {
			t.Errorf("%s: not from the second VIP: %v", name, got.Spec.Subnets)
		}
	}
}

// The groups admit the load balancer to the nodes that serve, at their addresses of both IP families.
func TestSpecOn_HasTheNodesOfTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode    string
		changes []func(*v1.Service)
		family  bool // it is IPv6
		both    bool
		others  []string
	}{
		"IPv4":                 {mode: "per-service"},
		"IPv6":                 {mode: "per-service", changes: []func(*v1.Service){fixture.Families(v1.IPv6Protocol)}, family: true},
		"both":                 {mode: "per-service", changes: []func(*v1.Service){dual(v1.IPFamilyPolicyRequireDualStack)}, both: true},
		"a group of all nodes": {mode: "shared", changes: []func(*v1.Service){fixture.Local}, others: []string{"node-1", "node-2", "node-3"}},
	} {
		r := newRig(t, configured(func(c *config.LoadBalancer) {
			c.ManageSecurityGroups, c.SecurityGroupMode, c.NodeSelector = true, test.mode, "serves=yes"
		}), service(test.changes...))
		clients := map[bool][]string{false: {"10.0.0.0/8"}, true: {"fd00::/8"}}[test.family]
		r.svc.Spec.LoadBalancerSourceRanges = clients
		for _, node := range r.nodes {
			node.Labels["serves"] = "yes"
		}
		excluded := fixture.Node("node-4", "10.0.0.4")
		excluded.Labels[v1.LabelNodeExcludeBalancers] = ""
		r.nodes = append([]*v1.Node{fixture.Node("node-3", "10.0.0.3"), excluded}, r.nodes...)
		in := r.ask().in
		want := &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: in.Settings}
		want.Facts.Driver.Quirks.PreservesClientIP = true
		want.Followed.Ports = in.Members.InAll(in.Settings)
		spec := specOf(in, want)
		if spec.Mode != test.mode || spec.IPv6 != test.family || spec.DualStack != test.both || !spec.Direct || !slices.Equal(spec.Clients, clients) || (len(spec.HealthPorts) > 0) != (test.others != nil) {
			t.Errorf("%s: %+v", name, spec)
		}
		var nodes, others []string
		for _, node := range spec.Members {
			if nodes = append(nodes, node.Name); (len(node.Addresses) == 2) != test.both {
				t.Errorf("%s: %s at %v", name, node.Name, node.Addresses)
			}
		}
		for _, node := range spec.Others {
			others = append(others, node.Name)
		}
		if !slices.Equal(nodes, []string{"node-1", "node-2"}) || !slices.Equal(others, test.others) {
			t.Errorf("%s: members %v, others %v", name, nodes, others)
		}
	}
}

// Members that stay where they are need their own subnets, and those of a replacement too.
func TestSpecWhereMembersAre_HasTheSubnetsOfMembersThatStay(t *testing.T) {
	t.Parallel()
	in := func(subnet string) *model.LoadBalancer {
		member := model.Member{Name: "node-1", Address: "10.0.0.1", Port: 30080, SubnetID: subnet}
		return &model.LoadBalancer{ID: "lb", Provider: "amphora", Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{ID: "pool", Members: model.MembersOf(member)}}}}
	}
	for name, test := range map[string]struct {
		have  Observation
		allow bool
		want  []string
	}{
		"none":                  {Observation{Observed: &model.Observed{}}, false, []string{"new"}},
		"one":                   {Observation{Observed: &model.Observed{LoadBalancer: in("old")}}, false, []string{"old"}},
		"one may be replaced":   {Observation{Observed: &model.Observed{LoadBalancer: in("old")}}, true, []string{"new", "old"}},
		"one is being replaced": {Observation{Observed: &model.Observed{LoadBalancer: in("old"), Outgoing: in("old")}}, false, []string{"new", "old"}},
		"the same subnet":       {Observation{Observed: &model.Observed{LoadBalancer: in("new")}}, true, []string{"new"}},
	} {
		r := newRig(t, managed)
		asked := r.ask().in
		asked.Settings.LoadBalancer.AllowReplace = test.allow
		want := &Desired{LoadBalancer: in("new"), Settings: asked.Settings}
		if got := r.groups.specWhereMembersAre(asked, test.have, want).Subnets; !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Groups are closed for the VIPs that exist in the end. If these differ from the planned ones, more is opened first.
func TestCloseGroups_PlansAgainForOtherVIPs(t *testing.T) {
	t.Parallel()
	planned := []string{"groups-plan", "groups-open", "groups-close"}
	for name, test := range map[string]struct {
		subnet string
		dual   bool
		fails  string
		sent   []string
	}{
		"as planned":            {"subnet", false, "", planned[2:]},
		"another subnet":        {"", false, "", planned},
		"VIPs of both families": {"subnet", true, "", planned},
		"the plan fails":        {"", false, "groups-plan", planned[:1]},
		"they cannot be opened": {"", false, "groups-open", planned[:2]},
		"they cannot be closed": {"subnet", false, "groups-close", planned[2:]},
		"closed after the plan": {"", false, "groups-close", planned},
	} {
		r := newRig(t)
		in := r.ask().in
		round := Round{Have: Observation{Observed: &model.Observed{LoadBalancer: &model.LoadBalancer{VIP: model.VIP{SubnetID: "subnet"}}}}, Want: &Desired{LoadBalancer: &model.LoadBalancer{}, Settings: in.Settings}}
		round.Groups, r.sent = SecurityGroups{VIPSubnet: test.subnet, DualStack: test.dual}, nil
		if test.fails != "" {
			r.fails[test.fails] = errFailed
		}
		if err := r.groups.close(r.ctx, in, round, nil); errors.Is(err, errFailed) != (test.fails != "") || !slices.Equal(r.sent, test.sent) {
			t.Errorf("%s: requests %v, error %v", name, r.sent, err)
		}
	}
}
