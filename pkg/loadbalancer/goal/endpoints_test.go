package goal

import (
	"errors"
	"net/netip"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
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
