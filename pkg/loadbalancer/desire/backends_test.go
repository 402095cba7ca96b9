package desire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
)

// members gives the backends as name=address.
func members(backends []desire.Backend) (all []string) {
	for _, b := range backends {
		all = append(all, b.Node.Name+"="+b.Address)
	}
	return all
}

func TestBackends(t *testing.T) {
	t.Parallel()
	v6 := families(v1.IPv6Protocol)
	for _, test := range []struct {
		what    string
		svc     *v1.Service
		nodes   []*v1.Node
		want    []string
		without []string
	}{
		{
			"ordered by name", service(), []*v1.Node{node("c", "10.0.0.1"), node("a", "10.0.0.3"), node("b", "10.0.0.2")},
			[]string{"a=10.0.0.3", "b=10.0.0.2", "c=10.0.0.1"}, nil,
		},
		{
			"the first internal address", service(), []*v1.Node{node("a", "external 203.0.113.1", "10.0.0.2", "10.0.0.1")},
			[]string{"a=10.0.0.2"}, nil,
		},
		{
			"an external one for want of an internal one", service(), []*v1.Node{node("a", "external 203.0.113.1")},
			[]string{"a=203.0.113.1"}, nil,
		},
		{
			"an external one of the family", v6service(), []*v1.Node{node("a", "10.0.0.1", "external 2001:db8::1")},
			[]string{"a=2001:db8::1"}, nil,
		},
		{
			"of both families, IPv4", service(), []*v1.Node{node("a", "fd00::1", "10.0.0.1")},
			[]string{"a=10.0.0.1"}, nil,
		},
		{
			"of both families, IPv6", service(v6), []*v1.Node{node("a", "10.0.0.1", "fd00::1")},
			[]string{"a=fd00::1"}, nil,
		},
		{
			"in one spelling", service(v6), []*v1.Node{node("a", "FD00:0:0::1")},
			[]string{"a=fd00::1"}, nil,
		},
		{
			"IPv4 written as IPv6", service(), []*v1.Node{node("a", "::ffff:10.0.0.1")},
			[]string{"a=10.0.0.1"}, nil,
		},
		{
			"some without an address", service(), []*v1.Node{node("b", "fd00::1"), node("a", "10.0.0.1"), node("c"), node("d", "web.example.com")},
			[]string{"a=10.0.0.1"}, []string{"b", "c", "d"},
		},
		{
			"only of one link", service(v6), []*v1.Node{node("a", "fe80::1%eth0"), node("b", "fd00::1")},
			[]string{"b=fd00::1"}, []string{"a"},
		},
		{
			"two of one address are one member", service(), []*v1.Node{node("b", "10.0.0.1"), node("a", "10.0.0.1"), node("c", "10.0.0.2")},
			[]string{"a=10.0.0.1", "c=10.0.0.2"}, nil,
		},
		{
			"selected by label", service(annotated(annotation.NodeSelector, "kubernetes.io/hostname=b")),
			[]*v1.Node{node("a", "10.0.0.1"), node("b", "10.0.0.2"), node("c")}, []string{"b=10.0.0.2"}, nil,
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			backends, without, err := desire.Backends(settings(t, test.svc, conf()), test.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, members(backends)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.without, without); diff != "" {
				t.Errorf("without an address: %s", diff)
			}
		})
	}
}

func v6service() *v1.Service { return service(families(v1.IPv6Protocol)) }

func TestNoBackendIsAnError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		nodes []*v1.Node
		want  string
	}{
		{"no nodes", service(), nil, "the cluster has no node that can be a member"},
		{
			"none selected", service(annotated(annotation.NodeSelector, "pool=a")), []*v1.Node{node("a", "10.0.0.1"), node("b", "10.0.0.2")},
			`none of 2 nodes matches the node selector "pool=a"`,
		},
		{"none of the family", v6service(), []*v1.Node{node("a", "10.0.0.1"), node("b")}, "no node has an address of family IPv6: a, b"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			backends, _, err := desire.Backends(settings(t, test.svc, conf()), test.nodes)
			if len(backends) > 0 || err == nil || err.Error() != test.want {
				t.Errorf("backends %v, error %v, want %q", members(backends), err, test.want)
			}
		})
	}
}

func TestBackendsLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	nodes := []*v1.Node{node("b", "10.0.0.2"), node("a", "10.0.0.1")}
	if _, _, err := desire.Backends(settings(t, service(), conf()), nodes); err != nil {
		t.Fatal(err)
	}
	if nodes[0].Name != "b" {
		t.Error("the caller's list of nodes is sorted: it is the informer's")
	}
}

func TestSomeStaysShort(t *testing.T) {
	t.Parallel()
	names := strings.Split("a b c d e f g", " ")
	for n, want := range map[int]string{0: "", 1: "a", 5: "a, b, c, d, e", 6: "a, b, c, d, e and 1 more", 7: "a, b, c, d, e and 2 more"} {
		if got := desire.Some(names[:n]); got != want {
			t.Errorf("of %d: %q, want %q", n, got, want)
		}
	}
}
