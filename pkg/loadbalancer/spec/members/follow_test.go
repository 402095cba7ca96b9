package members_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// The ways to write endpoints on a node in these tests: "a" is ready, "a-" terminates and still
// serves, "a~" does so and is about to stop, "a!" neither serves nor is ready, "*" is ready and has no node.
func endpoints(text string) []members.Endpoint {
	var all []members.Endpoint
	for _, word := range strings.Fields(text) {
		name := strings.TrimRight(word, "-~!*")
		all = append(all, members.Endpoint{
			Node: name, Ready: !strings.ContainsAny(word, "-~!"), Serving: !strings.Contains(word, "!"),
			Terminating: strings.ContainsAny(word, "-~"), Stopping: strings.Contains(word, "~"),
		})
	}
	return all
}

// slice returns a slice with the ports of fixture.Service, or with others.
func slice(text string, ports ...string) members.Slice {
	if len(ports) == 0 {
		for _, port := range fixture.Service().Spec.Ports {
			ports = append(ports, port.Name)
		}
	}
	return members.Slice{Family: v1.IPv4Protocol, Ports: ports, Endpoints: endpoints(text)}
}

// onNodes returns the nodes a to d: c is about to be deleted, and d is excluded from load balancers.
func onNodes() []*v1.Node {
	var nodes []*v1.Node
	for i, name := range []string{"a", "b", "c", "d"} {
		nodes = append(nodes, fixture.Node(name, fmt.Sprintf("10.0.0.%d", i+1)))
	}
	nodes[2].Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	nodes[3].Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""}
	return nodes
}

// follow returns the nodes of the members of each port, in parentheses if they are held.
func follow(t *testing.T, svc *v1.Service, all members.Endpoints, cuts bool, change func(*settings.Settings)) (ports string, of members.Followed) {
	t.Helper()
	s := fixture.Settings(t, svc, fixture.Config())
	s.Members.Mode, s.Members.Watch = "endpoint-nodes", settings.Watched
	change(s)
	set, err := new(members.Selector).Select(s, onNodes())
	if err != nil {
		t.Fatal(err)
	}
	of = set.Follow(s, all, cuts)
	var texts []string
	for i := range svc.Spec.Ports {
		var names []string
		for _, m := range of.Ports.At(i).Hosts.Members(model.Member{}).All() {
			names = append(names, m.Name)
		}
		slices.Sort(names)
		text := strings.Join(names, " ")
		if of.Ports.At(i).Held {
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; "), of
}

// The members of a port are the nodes with its endpoints, as far as these can be members.
//
//proves:55,143
func TestFollow_SelectsNodesWithEndpoints(t *testing.T) {
	t.Parallel()
	same := func(*settings.Settings) {}
	local := func(s *settings.Settings) { s.Traffic.Local = true }
	for name, test := range map[string]struct {
		endpoints members.Endpoints
		change    func(*settings.Settings)
		// want are the members with a driver that keeps the connections of removed members, cuts those
		// with one that cuts them, "" for the same.
		want, cuts string
		placeless  bool
	}{
		"ready":                             {endpoints: members.Endpoints{slice("a b")}, want: "a b"},
		"ready on one node":                 {endpoints: members.Endpoints{slice("a a a")}, want: "a"},
		"one terminates":                    {endpoints: members.Endpoints{slice("a b-")}, want: "a", cuts: "a b"},
		"one is about to stop":              {endpoints: members.Endpoints{slice("a b~")}, want: "a"},
		"one of two on a node stops":        {endpoints: members.Endpoints{slice("a b- b~")}, want: "a", cuts: "a b"},
		"only one that is about to stop":    {endpoints: members.Endpoints{slice("a~")}, want: "a"},
		"one has ended":                     {endpoints: members.Endpoints{slice("a b!")}, want: "a"},
		"only terminating":                  {endpoints: members.Endpoints{slice("a-")}, want: "a"},
		"only terminating, one has ended":   {endpoints: members.Endpoints{slice("a- b!")}, want: "a"},
		"none":                              {want: "(a b)"},
		"none that serves":                  {endpoints: members.Endpoints{slice("a!")}, want: "(a b)"},
		"without node":                      {endpoints: members.Endpoints{slice("*")}, want: "a b", placeless: true},
		"some without node":                 {endpoints: members.Endpoints{slice("* a")}, want: "a"},
		"on another port":                   {endpoints: members.Endpoints{slice("a", "metrics")}, want: "(a b)"},
		"of another family":                 {endpoints: members.Endpoints{{Family: v1.IPv6Protocol, Ports: slice("").Ports, Endpoints: endpoints("a")}}, want: "(a b)"},
		"one endpoint in two slices":        {endpoints: members.Endpoints{slice("a"), slice("a b")}, want: "a b"},
		"on a node that is about to go":     {endpoints: members.Endpoints{slice("a c")}, want: "a"},
		"only on a node about to go":        {endpoints: members.Endpoints{slice("c")}, want: "c"},
		"on an excluded node":               {endpoints: members.Endpoints{slice("a d")}, want: "a"},
		"only on an excluded node, Local":   {endpoints: members.Endpoints{slice("d")}, change: local, want: "(a b)"},
		"only on an excluded node, Cluster": {endpoints: members.Endpoints{slice("d")}, want: "a b", placeless: true},
		"on an unknown node":                {endpoints: members.Endpoints{slice("a x")}, want: "a"},
		"limited":                           {endpoints: members.Endpoints{slice("b")}, change: func(s *settings.Settings) { s.Members.Max = 1 }, want: "b"},
		"limited, the first terminates":     {endpoints: members.Endpoints{slice("a- b")}, change: func(s *settings.Settings) { s.Members.Max = 1 }, want: "b", cuts: "a b"},
		"limited, the second terminates":    {endpoints: members.Endpoints{slice("a b-")}, change: func(s *settings.Settings) { s.Members.Max = 1 }, want: "a", cuts: "a b"},
	} {
		change := test.change
		if change == nil {
			change = same
		}
		for _, cuts := range []bool{false, true} {
			want := test.want
			if cuts && test.cuts != "" {
				want = test.cuts
			}
			if got, of := follow(t, fixture.Service(), test.endpoints, cuts, change); got != want || of.Placeless != test.placeless {
				t.Errorf("%s, cuts %t: %s, placeless %t, want %s", name, cuts, got, of.Placeless, want)
			}
		}
	}
}

// The pods of a named target port can have it at different numbers, and some have no such port: they
// are in different slices.
func TestFollow_SelectsForEachPort(t *testing.T) {
	t.Parallel()
	http, admin := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 8080)
	http.Name, admin.Name = "http", "admin"
	svc := fixture.Service(fixture.Ports(http, admin))
	same := func(*settings.Settings) {}
	if got, of := follow(t, svc, members.Endpoints{slice("a", "http", "admin"), slice("b", "http")}, false, same); got != "a b; a" || len(of.Empty) != 0 {
		t.Errorf("%s, empty %v", got, of.Empty)
	}
	if got, of := follow(t, svc, members.Endpoints{slice("b", "http")}, false, same); got != "b; (a b)" || !slices.Equal(of.Empty, []string{"TCP/8080"}) {
		t.Errorf("%s, empty %v", got, of.Empty)
	}
	if _, of := follow(t, svc, members.Endpoints{slice("a b", "http", "admin")}, false, same); len(of.Ports) != 1 {
		t.Errorf("ports with the same members have %d lists of them", len(of.Ports))
	}
}

func TestFollow_HasNoMembersIfAllNodesAreExcluded(t *testing.T) {
	t.Parallel()
	s := fixture.Settings(t, fixture.Service(), fixture.Config())
	s.Members.Mode, s.Members.Watch = "endpoint-nodes", settings.Watched
	set, err := new(members.Selector).Select(s, onNodes()[3:])
	if err != nil {
		t.Fatal(err)
	}
	if port := set.Follow(s, members.Endpoints{slice("d")}, false).Ports.At(0); port.Held || port.Hosts.Len() > 0 {
		t.Errorf("%d members, held %t", port.Hosts.Len(), port.Held)
	}
}

func TestChangeOf_ReportsNodesThatComeAndGo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after members.Endpoints
		want          members.Change
	}{
		"nothing":                      {members.Endpoints{slice("a")}, members.Endpoints{slice("a")}, members.Change{}},
		"another pod on the same node": {members.Endpoints{slice("a")}, members.Endpoints{slice("a a")}, members.Change{}},
		"a node comes":                 {members.Endpoints{slice("a")}, members.Endpoints{slice("a b")}, members.Change{Members: true}},
		"a node goes":                  {members.Endpoints{slice("a b")}, members.Endpoints{slice("a")}, members.Change{Members: true, Lost: true}},
		"a pod moves":                  {members.Endpoints{slice("a")}, members.Endpoints{slice("b")}, members.Change{Members: true, Lost: true}},
		"a pod terminates":             {members.Endpoints{slice("a b")}, members.Endpoints{slice("a b-")}, members.Change{Members: true, Lost: true}},
		"a slice is split":             {members.Endpoints{slice("a b")}, members.Endpoints{slice("a"), slice("b")}, members.Change{}},
		"the last one goes":            {members.Endpoints{slice("a")}, nil, members.Change{Members: true, Lost: true}},
		"the first one comes":          {nil, members.Endpoints{slice("a")}, members.Change{Members: true}},
		"one without node comes":       {nil, members.Endpoints{slice("*")}, members.Change{Members: true}},
	} {
		if got := members.ChangeOf(test.before, test.after).Nodes; got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// Where nodes have weights by their ready endpoints, other proportions of these are a change, too.
//
//proves:54
func TestChangeOf_ReportsOtherWeights(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]members.Change{
		"a b > a a b":      {Members: true},
		"a a b > a b":      {Members: true},
		"a b > a a b b":    {},
		"a a b > a a b b-": {},
		"a a b- > a b-":    {},
		"a b > a a-  b":    {},
		"a a b > a a- b":   {Members: true},
		"a a b > a a":      {Members: true, Lost: true},
		"a a b > a a b-":   {Members: true, Lost: true},
		"a- b- > a- a- b-": {},
		"a b- > a b-":      {},
	} {
		before, after, _ := strings.Cut(change, " > ")
		if got := members.ChangeOf(members.Endpoints{slice(before)}, members.Endpoints{slice(after)}).Weighed; got != want {
			t.Errorf("%s: %+v, want %+v", change, got, want)
		}
	}
}
