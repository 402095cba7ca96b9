package members_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// selected selects the members of a Service.
func selected(s *settings.Settings, nodes []*v1.Node) (backends []members.Backend, without []string, err error) {
	set, err := new(members.Selector).Select(s, nodes)
	return set.Backends, set.Without, err
}

// addresses returns the backends as name=address.
func addresses(backends []members.Backend) (all []string) {
	for _, b := range backends {
		all = append(all, b.Node.Name+"="+b.Address)
	}
	return all
}

func TestSelect_ReturnsNodesByAddressOfFamily(t *testing.T) {
	t.Parallel()
	v6 := fixture.Families(v1.IPv6Protocol)
	for _, test := range []struct {
		what    string
		svc     *v1.Service
		nodes   []*v1.Node
		want    []string
		without []string
	}{
		{
			"ordered by name", fixture.Service(), []*v1.Node{fixture.Node("c", "10.0.0.1"), fixture.Node("a", "10.0.0.3"), fixture.Node("b", "10.0.0.2")},
			[]string{"a=10.0.0.3", "b=10.0.0.2", "c=10.0.0.1"}, nil,
		},
		{
			"the first internal address", fixture.Service(), []*v1.Node{fixture.Node("a", "external 203.0.113.1", "10.0.0.2", "10.0.0.1")},
			[]string{"a=10.0.0.2"}, nil,
		},
		{
			"an external one for want of an internal one", fixture.Service(), []*v1.Node{fixture.Node("a", "external 203.0.113.1")},
			[]string{"a=203.0.113.1"}, nil,
		},
		{
			"an external one of the family", v6service(), []*v1.Node{fixture.Node("a", "10.0.0.1", "external 2001:db8::1")},
			[]string{"a=2001:db8::1"}, nil,
		},
		{
			"of both families, IPv4", fixture.Service(), []*v1.Node{fixture.Node("a", "fd00::1", "10.0.0.1")},
			[]string{"a=10.0.0.1"}, nil,
		},
		{
			"of both families, IPv6", fixture.Service(v6), []*v1.Node{fixture.Node("a", "10.0.0.1", "fd00::1")},
			[]string{"a=fd00::1"}, nil,
		},
		{
			"in one spelling", fixture.Service(v6), []*v1.Node{fixture.Node("a", "FD00:0:0::1")},
			[]string{"a=fd00::1"}, nil,
		},
		{
			"IPv4 written as IPv6", fixture.Service(), []*v1.Node{fixture.Node("a", "::ffff:10.0.0.1")},
			[]string{"a=10.0.0.1"}, nil,
		},
		{
			"some without an address", fixture.Service(), []*v1.Node{fixture.Node("b", "fd00::1"), fixture.Node("a", "10.0.0.1"), fixture.Node("c"), fixture.Node("d", "web.example.com")},
			[]string{"a=10.0.0.1"}, []string{"b", "c", "d"},
		},
		{
			"only of one link", fixture.Service(v6), []*v1.Node{fixture.Node("a", "fe80::1%eth0"), fixture.Node("b", "fd00::1")},
			[]string{"b=fd00::1"}, []string{"a"},
		},
		{
			"two of one address are one member", fixture.Service(), []*v1.Node{fixture.Node("b", "10.0.0.1"), fixture.Node("a", "10.0.0.1"), fixture.Node("c", "10.0.0.2")},
			[]string{"a=10.0.0.1", "c=10.0.0.2"}, nil,
		},
		{
			"selected by label", fixture.Service(fixture.Annotated(annotation.NodeSelector, "kubernetes.io/hostname=b")),
			[]*v1.Node{fixture.Node("a", "10.0.0.1"), fixture.Node("b", "10.0.0.2"), fixture.Node("c")}, []string{"b=10.0.0.2"}, nil,
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			backends, without, err := selected(fixture.Settings(t, test.svc, fixture.Config()), test.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, addresses(backends)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.without, without); diff != "" {
				t.Errorf("without an address: %s", diff)
			}
		})
	}
}

func v6service() *v1.Service { return fixture.Service(fixture.Families(v1.IPv6Protocol)) }

func TestSelect_FailsWithoutBackend(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		nodes []*v1.Node
		want  string
	}{
		{"no nodes", fixture.Service(), nil, "the cluster has no node that can be a member: keeping the existing members"},
		{"none of the family", v6service(), []*v1.Node{fixture.Node("a", "10.0.0.1"), fixture.Node("b")}, "no node has an address of family IPv6: a, b; keeping the existing members"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			backends, _, err := selected(fixture.Settings(t, test.svc, fixture.Config()), test.nodes)
			if len(backends) > 0 || err == nil || err.Error() != test.want {
				t.Errorf("backends %v, error %v, want %q", addresses(backends), err, test.want)
			}
		})
	}
}

func TestSelect_LeavesItsArgumentUnchanged(t *testing.T) {
	t.Parallel()
	nodes := []*v1.Node{fixture.Node("b", "10.0.0.2"), fixture.Node("a", "10.0.0.1")}
	if _, _, err := selected(fixture.Settings(t, fixture.Service(), fixture.Config()), nodes); err != nil {
		t.Fatal(err)
	}
	if nodes[0].Name != "b" {
		t.Error("the caller's list of nodes is sorted: it is the informer's")
	}
}

// A Node may be left of a server that is gone, while another one has its address.
func TestSelect_TakesTheNewestNodeOfAnAddress(t *testing.T) {
	t.Parallel()
	aged := func(name, address string, minutes int) *v1.Node {
		node := fixture.Node(name, address)
		node.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute))
		return node
	}
	for _, test := range []struct {
		nodes []*v1.Node
		want  []string
	}{
		{[]*v1.Node{aged("a", "10.0.0.1", 1), aged("b", "10.0.0.1", 2), aged("c", "10.0.0.2", 0)}, []string{"b=10.0.0.1", "c=10.0.0.2"}},
		{[]*v1.Node{aged("a", "10.0.0.1", 2), aged("b", "10.0.0.1", 1), aged("c", "10.0.0.1", 3)}, []string{"c=10.0.0.1"}},
		{[]*v1.Node{aged("b", "10.0.0.1", 1), aged("a", "10.0.0.1", 1)}, []string{"a=10.0.0.1"}},
	} {
		s := fixture.Settings(t, fixture.Service(), fixture.Config())
		got, _, err := selected(s, test.nodes)
		if diff := cmp.Diff(test.want, addresses(got)); diff != "" || err != nil {
			t.Errorf("error %v, - want, + got:\n%s", err, diff)
		}
	}
}
