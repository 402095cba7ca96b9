package members_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// zoned makes n nodes in turn in so many zones.
func zoned(n, zones int) (nodes []*v1.Node) {
	for i := range n {
		added := fixture.Node(fmt.Sprintf("node-%03d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1))
		added.Labels[v1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%zones)
		nodes = append(nodes, added)
	}
	return nodes
}

// picked gives the names of the nodes that become members of a Service.
func picked(t *testing.T, uid string, most int, nodes []*v1.Node) (names []string) {
	t.Helper()
	svc := fixture.Service(fixture.Annotated(annotation.MaxMembers, fmt.Sprint(most)), func(svc *v1.Service) { svc.UID = types.UID(uid) })
	backends, _, err := selected(fixture.Settings(t, svc, fixture.Config()), nodes)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range backends {
		names = append(names, b.Node.Name)
	}
	return names
}

func TestMaxMembers_PreferAnnotationToClassToSection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what           string
		annotation     string
		class, section uint
		changes        []func(*v1.Service)
		want           int
	}{
		{"nowhere", "", 0, 0, nil, 0},
		{"section", "", 0, 7, nil, 7},
		{"class", "", 5, 7, nil, 5},
		{"annotation", "3", 5, 7, nil, 3},
		{"annotation that says all", "0", 5, 7, nil, 0},
		{"annotation, but with Local", "3", 5, 7, []func(*v1.Service){fixture.Local}, 0},
	} {
		cfg := fixture.Config(func(c *config.LoadBalancer) { c.MaxMembers = test.section })
		cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {MaxMembers: test.class}}
		svc := fixture.Service(append(test.changes, fixture.Annotated(annotation.Class, "c"))...)
		if test.annotation != "" {
			svc.Annotations[annotation.MaxMembers] = test.annotation
		}
		if got := fixture.Settings(t, svc, cfg).Members.Max; got != test.want {
			t.Errorf("%s: %d, want %d", test.what, got, test.want)
		}
	}
}

func TestSelect_SpreadsSubsetOverZones(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ nodes, zones, most int }{{100, 3, 10}, {100, 3, 9}, {100, 1, 10}, {20, 7, 3}} {
		names := picked(t, "uid", test.most, zoned(test.nodes, test.zones))
		if len(names) != test.most || !slices.IsSorted(names) {
			t.Errorf("%+v: picked %v", test, names)
		}
		perZone := make([]int, test.zones)
		for _, name := range names {
			var i int
			if _, err := fmt.Sscanf(name, "node-%d", &i); err != nil {
				t.Fatal(err)
			}
			perZone[i%test.zones]++
		}
		if slices.Max(perZone)-slices.Min(perZone) > 1 {
			t.Errorf("%+v: members per zone %v", test, perZone)
		}
	}
}

func TestSelect_PicksAsManyMembersAsAllowed(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 12, 1: 1, 11: 11, 12: 12, 13: 12} {
		if got := len(picked(t, "uid", most, zoned(12, 5))); got != want {
			t.Errorf("at most %d of 12: %d, want %d", most, got, want)
		}
	}
	// Eleven nodes in one zone and one in another.
	lopsided := zoned(12, 1)
	lopsided[0].Labels[v1.LabelTopologyZone] = "small"
	if names := picked(t, "uid", 6, lopsided); len(names) != 6 || names[0] != "node-000" {
		t.Errorf("the only node of a zone is not among %v", names)
	}
}

// TestSelect_ChangesSubsetByOneMemberPerNode lets nodes come and go at random.
func TestSelect_ChangesSubsetByOneMemberPerNode(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, seed))
		all := zoned(40, 1+r.IntN(4))
		most := 1 + r.IntN(12)
		present := slices.Clone(all[:25])
		absent := slices.Clone(all[25:])
		before := picked(t, "uid", most, present)
		for range 30 {
			from, to := &present, &absent
			if len(present) <= 15 || len(absent) > 0 && r.IntN(2) == 0 {
				from, to = &absent, &present
			}
			i := r.IntN(len(*from))
			*to = append(*to, (*from)[i])
			*from = slices.Delete(*from, i, i+1)
			after := picked(t, "uid", most, present)
			if come := len(without(after, before)); len(after) != most || come > 1 {
				t.Fatalf("seed %d: one node came or went, and members change from %v to %v", seed, before, after)
			}
			before = after
		}
	}
}

// without gives the names that are not in another list.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func TestSelect_SpreadsServicesOverNodes(t *testing.T) {
	t.Parallel()
	const services, most, nodes = 300, 5, 50
	load := map[string]int{}
	for i := range services {
		for _, name := range picked(t, fmt.Sprint("uid-", i), most, zoned(nodes, 3)) {
			load[name]++
		}
	}
	const mean = services * most / nodes
	for name, n := range load {
		if n < mean/3 || n > 2*mean {
			t.Errorf("%s serves %d Services, the mean is %d", name, n, mean)
		}
	}
	if len(load) != nodes {
		t.Errorf("only %d of %d nodes serve any", len(load), nodes)
	}
}

func TestSelect_PicksSameSubsetInAnyOrderOfNodes(t *testing.T) {
	t.Parallel()
	nodes := zoned(50, 3)
	want := picked(t, "uid", 7, nodes)
	for range 10 {
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		if diff := cmp.Diff(want, picked(t, "uid", 7, nodes)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// The selection must not depend on the version of the program, because members would move.
func TestSelect_PicksTheBestOfEachZoneInTurn(t *testing.T) {
	t.Parallel()
	for round := range 50 {
		nodes, most := zoned(1+rand.IntN(60), 1+rand.IntN(5)), 1+rand.IntN(20)
		uid := fmt.Sprint("uid-", round)
		byZone := map[string][]string{}
		for _, node := range nodes {
			zone := node.Labels[v1.LabelTopologyZone]
			byZone[zone] = append(byZone[zone], node.Name)
		}
		score := func(name string) string {
			sum := sha256.Sum256([]byte(uid + "\x00" + name))
			return string(sum[:8])
		}
		best := func(a, b string) int { return strings.Compare(score(b), score(a)) }
		var want []string
		for rank := 0; len(want) < min(most, len(nodes)); rank++ {
			var next []string
			for _, names := range byZone {
				if slices.SortFunc(names, best); rank < len(names) {
					next = append(next, names[rank])
				}
			}
			slices.SortFunc(next, best)
			want = append(want, next[:min(len(next), most-len(want))]...)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, picked(t, uid, most, nodes)); diff != "" {
			t.Errorf("%d of %d nodes in %d zones: %s", most, len(nodes), len(byZone), diff)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	svc := fixture.Service(fixture.Annotated(annotation.MaxMembers, "100"))
	settings, nodes := fixture.Settings(b, svc, fixture.Config()), zoned(5000, 3)
	var selector members.Selector
	b.ReportAllocs()
	for b.Loop() {
		if _, err := selector.Select(settings, nodes); err != nil {
			b.Fatal(err)
		}
	}
}
