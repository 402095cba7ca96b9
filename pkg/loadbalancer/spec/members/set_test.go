package members_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// A thousand Services come with the same nodes: to know that they are the same is no work
// that grows with what nodes have.
func TestSelector_SelectsOnceForAllServicesAlike(t *testing.T) {
	nodes := zoned(1000, 3)
	web, s := new(members.Selector), fixture.Settings(t, fixture.Service(), fixture.Config())
	first, err := web.Select(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		again, err := web.Select(s, nodes)
		if err != nil || again != first {
			t.Errorf("another set, or %v", err)
		}
	})
	if allocs > 2 {
		t.Errorf("%v allocations to select the same again", allocs)
	}
}

func TestSelector_SelectsAgainAsTheFirstTime(t *testing.T) {
	t.Parallel()
	nodes := zoned(20, 3)
	without := fixture.Node("without")
	selector := new(members.Selector)
	for _, test := range []struct {
		svc   *v1.Service
		nodes []*v1.Node
	}{
		{fixture.Service(), nodes},
		{fixture.Service(), append(nodes[:10:10], without)},
		{fixture.Service(fixture.Annotated(annotation.MaxMembers, "7")), nodes},
		{fixture.Service(fixture.Annotated(annotation.NodeSelector, "topology.kubernetes.io/zone=zone-1")), nodes},
		{fixture.Service(fixture.Annotated(annotation.NodeSelector, "topology.kubernetes.io/zone=zone-2")), nodes},
		{fixture.Service(fixture.Annotated(annotation.NodeSelector, "topology.kubernetes.io/zone=none")), nodes},
		{fixture.Service(), nil},
	} {
		s := fixture.Settings(t, test.svc, fixture.Config())
		want, without, wantErr := selected(s, test.nodes)
		for range 2 {
			got, err := selector.Select(s, test.nodes)
			if cmp.Diff(err, wantErr, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() })) != "" {
				t.Errorf("error %v, want %v", err, wantErr)
			}
			if err != nil {
				continue
			}
			if diff := cmp.Diff(want, got.Backends) + cmp.Diff(without, got.Without); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// Nodes change by being replaced in the informer: another node of the same name is noticed.
func TestSelector_NoticesEveryChangeOfNodes(t *testing.T) {
	t.Parallel()
	selector, s := new(members.Selector), fixture.Settings(t, fixture.Service(), fixture.Config())
	nodes := zoned(3, 1)
	digests := map[string]bool{}
	for _, change := range []func(){
		func() {},
		func() { nodes[1] = fixture.Node("node-001", "10.9.9.9") },
		func() { nodes[1] = fixture.Node("another", "10.9.9.9") },
		func() { nodes = nodes[:2] },
	} {
		change()
		set, err := selector.Select(s, nodes)
		if err != nil {
			t.Fatal(err)
		}
		digests[set.Hosts.Members(model.Member{}).Digest()] = true
	}
	if len(digests) != 4 {
		t.Errorf("%d digests of 4 sets of members", len(digests))
	}
}
