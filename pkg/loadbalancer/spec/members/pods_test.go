package members_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// podSlice returns a slice with endpoints at 10.244.0.1 and so on, written as in endpoints, with one port at
// a number. The address of an endpoint after "@" is another one.
func podSlice(text, port string, number int) members.Slice {
	s := members.Slice{Family: v1.IPv4Protocol, Ports: []string{port}, Numbers: []int{number}}
	for i, word := range strings.Fields(text) {
		word, last, is := strings.Cut(word, "@")
		endpoint := endpoints(word)[0]
		endpoint.Address = netip.AddrFrom4([4]byte{10, 244, byte((i + 1) >> 8), byte(i + 1)})
		if is {
			endpoint.Address = netip.MustParseAddr("10.244.0." + last)
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return s
}

// podsOf returns the members of each port as "node:last byte of the address:port".
func podsOf(t *testing.T, svc *v1.Service, nodes []*v1.Node, all members.Endpoints) (string, members.Followed) {
	t.Helper()
	return podsWith(t, svc, nodes, all, false)
}

// podsWith is podsOf for a driver that cuts the connections of a removed member, or not.
func podsWith(t *testing.T, svc *v1.Service, nodes []*v1.Node, all members.Endpoints, cuts bool) (string, members.Followed) {
	t.Helper()
	svc.Annotations = map[string]string{"loadbalancer.openstack.org/members": "pods"}
	s := fixture.Settings(t, svc, fixture.Config())
	set, err := new(members.Selector).Select(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	of := set.Pods(s, all, cuts)
	var texts []string
	for i := range svc.Spec.Ports {
		var pods []string
		for _, m := range of.Ports.At(i).Pods.All() {
			pods = append(pods, fmt.Sprintf("%s:%s:%d", m.Name, strings.TrimPrefix(m.Address, "10.244.0."), m.Port))
		}
		text := strings.Join(pods, " ")
		if of.Ports.At(i).Held {
			text += "held"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; "), of
}

// The members of a port are its pods with their own addresses and ports. Of the nodes, c is about to be
// deleted, and d is excluded from load balancers.
//
//proves:56,57
func TestPods_AreEndpointsWithTheirAddressesAndPorts(t *testing.T) {
	t.Parallel()
	const v6 = v1.IPv6Protocol
	of := func(text string) members.Slice { return podSlice(text, "http", 8080) }
	for name, test := range map[string]struct {
		endpoints members.Endpoints
		want      string
	}{
		"ready":                         {members.Endpoints{of("a b")}, "a:1:8080 b:2:8080"},
		"two on one node":               {members.Endpoints{of("a a")}, "a:1:8080 a:2:8080"},
		"one terminates":                {members.Endpoints{of("a b-")}, "a:1:8080"},
		"only terminating":              {members.Endpoints{of("a- b!")}, "a:1:8080"},
		"none that serves":              {members.Endpoints{of("a!")}, "held"},
		"none":                          {nil, "held"},
		"ports of different numbers":    {members.Endpoints{of("a"), podSlice("b@9", "http", 9090)}, "a:1:8080 b:9:9090"},
		"one address with two ports":    {members.Endpoints{of("a"), podSlice("a", "http", 9090)}, "a:1:8080 a:1:9090"},
		"one address in two slices":     {members.Endpoints{of("a b"), of("a")}, "a:1:8080 b:2:8080"},
		"of another port":               {members.Endpoints{podSlice("a", "metrics", 9100)}, "held"},
		"of a port without a number":    {members.Endpoints{podSlice("a", "http", 0)}, "held"},
		"of another family":             {members.Endpoints{{Family: v6, Ports: []string{"http"}, Numbers: []int{80}, Endpoints: of("a").Endpoints}}, "held"},
		"without a node":                {members.Endpoints{of("* a")}, "10.244.0.1:1:8080 a:2:8080"},
		"without an address":            {members.Endpoints{{Family: v1.IPv4Protocol, Ports: []string{"http"}, Numbers: []int{80}, Endpoints: endpoints("a")}}, "held"},
		"on a node about to go":         {members.Endpoints{of("a c")}, "a:1:8080"},
		"only on a node about to go":    {members.Endpoints{of("c")}, "c:1:8080"},
		"on an excluded node":           {members.Endpoints{of("a d")}, "a:1:8080"},
		"only on an excluded node":      {members.Endpoints{of("d")}, "held"},
		"on a node that does not exist": {members.Endpoints{of("x b")}, "b:2:8080"},
	} {
		http := fixture.Port(v1.ProtocolTCP, 80)
		http.Name, http.NodePort = "http", 0
		got, followed := podsOf(t, fixture.Service(fixture.Ports(http)), onNodes(), test.endpoints)
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if held := strings.Contains(test.want, "held"); held != (len(followed.Empty) > 0) {
			t.Errorf("%s: ports without endpoints %v", name, followed.Empty)
		}
	}
}

// If the removal of a member cuts its connections, a terminating pod stays until it is about to stop.
//
//proves:56,143
func TestPods_StayWhileTheyServeIfRemovalCuts(t *testing.T) {
	t.Parallel()
	http := fixture.Port(v1.ProtocolTCP, 80)
	http.Name = "http"
	for text, want := range map[string]string{"a b-": "a:1:8080 b:2:8080", "a b~": "a:1:8080", "a~ b!": "a:1:8080", "a b!": "a:1:8080", "a- b!": "a:1:8080", "a c-": "a:1:8080"} {
		got, _ := podsWith(t, fixture.Service(fixture.Ports(http)), onNodes(), members.Endpoints{podSlice(text, "http", 8080)}, true)
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Each port has the pods that have it: a named target port need not exist in all of them.
func TestPods_AreSelectedForEachPort(t *testing.T) {
	t.Parallel()
	http, admin := fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolUDP, 90)
	http.Name, admin.Name = "http", "admin"
	both := podSlice("a", "http", 8080)
	both.Ports, both.Numbers = append(both.Ports, "admin"), append(both.Numbers, 9000)
	got, of := podsOf(t, fixture.Service(fixture.Ports(http, admin)), onNodes(), members.Endpoints{both, podSlice("b@2", "http", 8080)})
	if want := "a:1:8080 b:2:8080; a:1:9000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := of.Ports.Addresses(); strings.Join(all, " ") != "10.244.0.1 10.244.0.2" {
		t.Errorf("addresses %v", all)
	}
	without := of.Ports.Without([]string{"10.244.0.1"})
	if without[0].Pods.Len() != 1 || without[0].Held || without[1].Pods.Len() != 0 || !without[1].Held {
		t.Errorf("without one: %+v", without)
	}
}

func TestPods_AreNoneIfAllNodesAreExcluded(t *testing.T) {
	t.Parallel()
	http := fixture.Port(v1.ProtocolTCP, 80)
	http.Name = "http"
	if got, _ := podsOf(t, fixture.Service(fixture.Ports(http)), onNodes()[3:], members.Endpoints{podSlice("d", "http", 8080)}); got != "" {
		t.Errorf("members %s", got)
	}
}

func TestChangeOf_ReportsPodsThatComeAndGo(t *testing.T) {
	t.Parallel()
	of := func(text string) members.Endpoints { return members.Endpoints{podSlice(text, "http", 8080)} }
	for name, test := range map[string]struct {
		before, after members.Endpoints
		want          members.Change
	}{
		"nothing":          {of("a b"), of("a b"), members.Change{}},
		"another pod":      {of("a"), of("a a"), members.Change{Members: true}},
		"one is replaced":  {of("a"), of("a@7"), members.Change{Members: true, Lost: true}},
		"one terminates":   {of("a b"), of("a b-"), members.Change{Members: true, Lost: true}},
		"another port":     {of("a"), members.Endpoints{podSlice("a", "http", 9090)}, members.Change{Members: true, Lost: true}},
		"a slice is split": {of("a b"), members.Endpoints{podSlice("a", "http", 8080), podSlice("b@2", "http", 8080)}, members.Change{}},
	} {
		if got := members.ChangeOf(test.before, test.after).Pods; got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
