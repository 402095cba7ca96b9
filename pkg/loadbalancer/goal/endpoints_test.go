package goal

import (
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Whether a round has the endpoints of now depends on what its members are: nodes, nodes with weights, or pods.
func TestOutdated_IfOtherMembersAreDueThanInTheRound(t *testing.T) {
	t.Parallel()
	on := func(nodes ...string) members.Endpoints {
		slice := members.Slice{Family: v1.IPv4Protocol, Ports: []string{"web"}, Numbers: []int{8080}}
		for i, node := range nodes {
			slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: node, Address: netip.AddrFrom4([4]byte{10, 244, 0, byte(i)}), Ready: true, Serving: true})
		}
		return members.Endpoints{slice}
	}
	follows := func(mode, weights string) *settings.Settings {
		s := asking(v1.IPv4Protocol)
		s.Members.Mode, s.Members.Weights, s.Members.Watch = mode, weights, settings.Watched
		return s
	}
	nodes, counted, pods := follows(annotation.MembersEndpointNodes, ""), follows(annotation.MembersEndpointNodes, annotation.WeightsEndpoints), follows(annotation.MembersPods, "")
	for name, test := range map[string]struct {
		settings *settings.Settings
		before   members.Endpoints
		now      members.Endpoints
		watch    settings.Watch
		pending  bool
		outdated bool
	}{
		"the same":                       {nodes, on("a", "b"), on("a", "b"), settings.Watched, false, false},
		"another node":                   {nodes, on("a"), on("a", "b"), settings.Watched, false, true},
		"not known yet":                  {nodes, on("a"), nil, settings.Watched, true, false},
		"one more on a node":             {nodes, on("a"), on("a", "a"), settings.Watched, false, false},
		"one more on a node, weighed":    {counted, on("a", "b"), on("a", "b", "b"), settings.Watched, false, true},
		"one more pod on a node":         {pods, on("a"), on("a", "a"), settings.Watched, false, true},
		"the watch is forbidden":         {nodes, on("a"), on("a"), settings.Forbidden, false, true},
		"the watch is forbidden, or not": {nodes, on("a"), on("a"), settings.Forbidden, true, false},
		"all nodes are members":          {follows(annotation.MembersNodes, ""), on("a"), on("b"), settings.Forbidden, false, false},
	} {
		c := &Candidates{read: func(*v1.Service) (members.Endpoints, settings.Watch, bool) { return test.now, test.watch, test.pending }}
		in := Inputs{Settings: test.settings, Endpoints: test.before}
		if got := c.Outdated(webService(), in); got != test.outdated {
			t.Errorf("%s: outdated: %v", name, got)
		}
		if new(Candidates).Outdated(webService(), in) {
			t.Errorf("%s: outdated without endpoints", name)
		}
	}
}

// Without its endpoints, a preview would show other members than a round.
func TestEndpoints_AreReadWhereMembersMayFollowThem(t *testing.T) {
	t.Parallel()
	all := members.Endpoints{{Ports: []string{"web"}}}
	for name, test := range map[string]struct {
		mode    string
		unread  bool // there is no source
		watch   settings.Watch
		want    members.Endpoints
		noted   settings.Watch
		refused error
	}{
		"followed":           {annotation.MembersEndpointNodes, false, settings.Watched, all, settings.Watched, nil},
		"pods":               {annotation.MembersPods, false, settings.Forbidden, all, settings.Forbidden, nil},
		"unreadable":         {annotation.MembersPods, false, settings.Unreadable, nil, settings.Unwatched, errUnread},
		"not followed":       {annotation.MembersNodes, false, settings.Unreadable, nil, settings.Unwatched, nil},
		"without the source": {annotation.MembersPods, true, settings.Watched, nil, settings.Unwatched, nil},
	} {
		c, s := &Candidates{}, asking(v1.IPv4Protocol)
		if s.Members.Mode = test.mode; !test.unread {
			c.read = func(*v1.Service) (members.Endpoints, settings.Watch, bool) { return all, test.watch, false }
		}
		got, err := c.endpoints(t.Context(), webService(), s)
		if len(got) != len(test.want) || s.Members.Watch != test.noted || !errors.Is(err, test.refused) || (err == nil) != (test.refused == nil) {
			t.Errorf("%s: %v, watch %v, error %v", name, got, s.Members.Watch, err)
		}
	}
}

// A round waits for endpoints that are not known yet, without a worker.
func TestEndpoints_AreAwaitedWhileTheyArePending(t *testing.T) {
	t.Parallel()
	clk, pending, woken := testingclock.NewFakeClock(noon), true, 0
	all := members.Endpoints{{Ports: []string{"web"}}}
	c := &Candidates{clock: clk, read: func(*v1.Service) (members.Endpoints, settings.Watch, bool) { return all, settings.Watched, pending }}
	ctx, s := async.WithSlot(t.Context(), &async.Slot{Wake: func() { woken++ }}), asking(v1.IPv4Protocol)
	for range 2 {
		if got, err := c.watched(ctx, webService(), s); got != nil || !async.IsWaiting(err) {
			t.Errorf("%v, error %v", got, err)
		}
		clk.Step(endpointsPoll)
	}
	pending = false
	if got, err := c.watched(ctx, webService(), s); len(got) != 1 || err != nil || woken != 2 || s.Members.Watch != settings.Watched {
		t.Errorf("%v, error %v, woken %d times", got, err, woken)
	}
}

// The addresses of nodes in the members' subnet are preferred only where that is wanted, and its range is known.
func TestLocate_ReadsTheRangesOfTheMembersSubnet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bySubnet bool
		subnet   string
		dual     bool
		fails    string
		want     map[v1.IPFamily]string
		words    string
	}{
		"not wanted":        {false, "subnet", false, "", nil, ""},
		"no subnet":         {true, "", false, "", nil, ""},
		"one family":        {true, "subnet", false, "", map[v1.IPFamily]string{v1.IPv4Protocol: "10.0.0.0/24"}, ""},
		"both families":     {true, "subnet", true, "", map[v1.IPFamily]string{v1.IPv4Protocol: "10.0.0.0/24", v1.IPv6Protocol: "fd00::/64"}, ""},
		"a missing subnet":  {true, "missing", false, "", nil, "missing"},
		"Neutron fails":     {true, "subnet", false, "subnet", nil, "failed"},
		"its network fails": {true, "subnet", true, "subnets", nil, "failed"},
	} {
		r := newRig(t)
		s := asking(v1.IPv4Protocol)
		s.Members.NodeSelector, s.Members.BySubnet, s.Members.SubnetID, s.Members.Within = labels.Everything(), test.bySubnet, test.subnet, map[v1.IPFamily]netip.Prefix{v1.IPv6Protocol: {}}
		if test.dual {
			s.Dual.Second = v1.IPv6Protocol
		}
		if test.fails != "" {
			r.fails[test.fails] = errFailed
		}
		err := r.Candidates.locate(t.Context(), s)
		if (err != nil) != (test.words != "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		got := map[v1.IPFamily]string{}
		for family, within := range s.Members.Within {
			got[family] = within.String()
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if set, err := r.Candidates.choose(t.Context(), s, r.nodes); (err != nil) != (test.words != "") || err == nil && len(set.Backends) != 2 {
			t.Errorf("%s: members %v, error %v", name, set, err)
		}
	}
}

// A load balancer of both IP families serves nodes at their addresses of both, where its VIPs need members of their own.
func TestMembers_AreOfTheServedFamilies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		protocol v1.Protocol
		second   v1.IPFamily
		lacks    bool // no node has an address of the second family
		members  int
		serving  int
	}{
		"one family":              {v1.ProtocolUDP, "", false, 2, 2},
		"both, UDP":               {v1.ProtocolUDP, v1.IPv6Protocol, false, 4, 4},
		"both, TCP":               {v1.ProtocolTCP, v1.IPv6Protocol, false, 2, 4},
		"both, no second address": {v1.ProtocolUDP, v1.IPv6Protocol, true, 2, 2},
	} {
		r := newRig(t, service(dual(v1.IPFamilyPolicyPreferDualStack), fixture.Ports(fixture.Port(test.protocol, 53))))
		if test.lacks {
			for _, node := range r.nodes {
				node.Status.Addresses = node.Status.Addresses[:1]
			}
		}
		in := r.ask().in
		in.Settings.Second = test.second
		followed := in.members(in.Settings, fixture.Amphora())
		if got := followed.Ports.At(0).Members(model.Member{Port: 30053}).Len(); got != test.members {
			t.Errorf("%s: %d members", name, got)
		}
		if got := in.serving(followed.Ports, in.Settings.Families()); len(got) != test.serving {
			t.Errorf("%s: %d addresses serve", name, len(got))
		}
		if in.Second == nil || (len(in.Second.Backends) == 0) != test.lacks {
			t.Errorf("%s: second %+v", name, in.Second)
		}
		in.Second = nil // an earlier configuration
		if got := in.members(in.Settings, fixture.Amphora()).Ports.At(0).Members(model.Member{Port: 30053}).Len(); got != 2 {
			t.Errorf("%s: %d members of the first family", name, got)
		}
	}
}

// All nodes are members where endpoints may not be watched, which is reported.
func TestMembers_AreAllNodesWhereEndpointsMayNotBeWatched(t *testing.T) {
	t.Parallel()
	for watch, forbidden := range map[settings.Watch]bool{settings.Watched: false, settings.Forbidden: true} {
		r := newRig(t, service(fixture.Annotated(annotation.Members, annotation.MembersEndpointNodes)), withPods)
		r.endpoints[0].Endpoints = r.endpoints[0].Endpoints[:1]
		in := r.ask().in
		in.Settings.Members.Watch = watch
		followed := in.members(in.Settings, fixture.Amphora())
		if got := followed.Ports.At(0).Members(model.Member{Port: 30080}).Len(); followed.Forbidden != forbidden || got != map[bool]int{false: 1, true: 2}[forbidden] {
			t.Errorf("forbidden: %v, %d members", followed.Forbidden, got)
		}
	}
}
