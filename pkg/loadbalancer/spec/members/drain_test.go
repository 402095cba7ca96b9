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

// A node or pod with endpoints that terminate but still serve stays a member, drained, if others are
// ready. Those that are drained do not count to the maximum. Of the nodes, c is about to be deleted,
// and d is excluded.
//
//proves:54
func TestDrain_KeepsMembersThatStillServe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b":     "a b",
		"a b-":    "a b-",
		"a b!":    "a",
		"a- b-":   "a b",
		"a b- b":  "a b",
		"a c-":    "a",
		"a d-":    "a",
		"d a-":    "",
		"c a- b-": "a- b- c",
	} {
		for _, pods := range []bool{false, true} {
			http := fixture.Port(v1.ProtocolTCP, 80)
			http.Name = "http"
			s := fixture.Settings(t, fixture.Service(fixture.Ports(http)), fixture.Config())
			s.Members.Mode, s.Members.Watch, s.Members.Weights, s.Traffic.Local = "endpoint-nodes", settings.Watched, "drain", true
			if s.Members.Max = 0; !pods && text == "a b-" {
				s.Members.Max = 1
			}
			set, err := new(members.Selector).Select(s, onNodes())
			if err != nil {
				t.Fatal(err)
			}
			all := members.Endpoints{podSlice(text, "http", 8080)}
			port := set.Follow(s, all, false).Ports.At(0)
			if pods {
				port = set.Pods(s, all, false).Ports.At(0)
			}
			var names []string
			for _, m := range port.Members(model.Member{}).All() {
				if m.Drained {
					m.Name += "-"
				}
				names = append(names, m.Name)
			}
			slices.Sort(names)
			if names = slices.Compact(names); port.Held {
				names = nil
			}
			wanted := want
			if pods && text == "a b- b" {
				wanted = "a b b-" // each pod is a member of its own
			}
			if got := strings.Join(names, " "); got != wanted {
				t.Errorf("%s, pods %v: %s, want %s", text, pods, got, wanted)
			}
		}
	}
}

// A node of two IP families is drained in both.
func TestDrain_JoinsFamilies(t *testing.T) {
	t.Parallel()
	of := func(address string) members.Followed {
		return members.Followed{Ports: members.Ports{{Hosts: model.HostsOf(model.Host{Name: "a", Address: address}), Weights: map[string]int{address: 0}}}}
	}
	joined := of("10.0.0.1").With(of("fd00::1"), 1, func(int) bool { return true })
	var got []string
	for _, m := range joined.Ports.At(0).Members(model.Member{}).All() {
		got = append(got, fmt.Sprint(m.Address, " ", m.Drained))
	}
	if want := []string{"10.0.0.1 true", "fd00::1 true"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Weights are the number of ready endpoints of each node, as small as the proportion allows, at most Octavia's maximum. Nodes
// without a ready endpoint have 0, unless none has one.
//
//proves:54
func TestWeights_AreInProportionToReadyEndpoints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b":                                "a:1 b:1",
		"a a a b":                            "a:3 b:1",
		"a a b b":                            "a:1 b:1",
		"a a a a b b":                        "a:2 b:1",
		"a a b-":                             "a:1 b:0",
		"a a a- b":                           "a:2 b:1",
		"a- a- b-":                           "a:1 b:1",
		"a! b":                               "b:1",
		strings.Repeat("a ", 300) + "b":      "a:256 b:1",
		strings.Repeat("a ", 300) + "b b c-": "a:150 b:1",
	} {
		http := fixture.Port(v1.ProtocolTCP, 80)
		http.Name = "http"
		s := fixture.Settings(t, fixture.Service(fixture.Ports(http)), fixture.Config())
		s.Members.Mode, s.Members.Watch, s.Members.Weights, s.Traffic.Local = "endpoint-nodes", settings.Watched, "endpoints", true
		set, err := new(members.Selector).Select(s, onNodes())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range set.Follow(s, members.Endpoints{podSlice(text, "http", 8080)}, false).Ports.At(0).Members(model.Member{}).All() {
			got = append(got, fmt.Sprintf("%s:%d", m.Name, m.EffectiveWeight()))
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, strings.Join(got, " "), want)
		}
	}
}
