package instances

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// guarded is a cluster with a Deletions.
type guarded struct {
	t         *testing.T
	cloud     *servers
	nodes     []*v1.Node
	known     clientcache.Indexer
	instances *Instances
	deletions *Deletions
	clock     *clocktesting.FakePassiveClock
	events    *record.FakeRecorder
	held      int
}

func guard(t *testing.T, nodes int, settings config.Node) *guarded {
	t.Helper()
	g := &guarded{t: t, events: record.NewFakeRecorder(1000)}
	cloud, listed, lister, indexer := manyNodes(t, nodes, 0)
	g.cloud, g.nodes, g.known = cloud, listed, indexer
	g.instances, g.clock = newInstances(t, cloud)
	g.instances.UseNodes(lister)
	g.deletions = NewDeletions(DeletionOptions{
		Instances: g.instances, Node: settings, Recorder: g.events, Held: func(nodes int) { g.held = nodes }, Clock: g.clock,
	})
	return g
}

// lose removes the servers of these nodes, and makes the nodes not ready.
func (g *guarded) lose(from, to int) {
	g.cloud.set(func() {
		for n := from; n < to; n++ {
			fail(g.nodes[n])
			g.cloud.all[n].Status = nova.ServerDeleted
		}
	})
}

// round asks about all nodes that are not ready, deletes those that may go, and returns how
// many did.
func (g *guarded) round() int {
	g.t.Helper()
	g.clock.SetTime(g.clock.Now().Add(5 * time.Second))
	deleted := 0
	for _, node := range g.nodes {
		if _, there, _ := g.known.Get(node); !there || node.Status.Conditions[0].Status == v1.ConditionTrue {
			continue
		}
		exists, err := g.instances.InstanceExists(g.t.Context(), node)
		if err != nil {
			continue
		}
		if exists {
			g.deletions.Seen(node)
			continue
		}
		if g.deletions.Allow(g.t.Context(), node) == nil {
			if err := g.known.Delete(node); err != nil {
				g.t.Fatal(err)
			}
			deleted++
		}
	}
	return deleted
}

//proves:109,124
func TestDeletions_KeepAllNodesWhileTooManyWouldGo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		nodes, gone, percent, deleted int
	}{
		"half of them":                 {10, 5, 50, 5},
		"more than half":               {10, 6, 50, 0},
		"all":                          {10, 10, 50, 0},
		"the only one":                 {1, 1, 50, 1},
		"one of two":                   {2, 1, 50, 1},
		"both":                         {2, 2, 50, 0},
		"one, and none may":            {10, 1, 0, 1},
		"two, and none may":            {10, 2, 0, 0},
		"all, as it is allowed":        {10, 10, 100, 10},
		"just as many as the share":    {100, 10, 10, 10},
		"one more":                     {100, 11, 10, 0},
		"so many that they are listed": {100, 60, 50, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, test.nodes, config.Node{MaxGonePercent: test.percent})
			g.lose(0, test.gone)
			if got := g.round(); got != test.deleted {
				t.Errorf("%d were deleted, want %d", got, test.deleted)
			}
			if want := test.gone - test.deleted; g.held != want || len(g.events.Events) != want {
				t.Errorf("the metric is %d, and there are %d events; want %d of each", g.held, len(g.events.Events), want)
			}
		})
	}
}

// In the wrong project none of the nodes is there, though most are ready.
func TestDeletions_CountReadyNodesToo(t *testing.T) {
	t.Parallel()
	g := guard(t, 20, config.Node{MaxGonePercent: 50})
	g.cloud.set(func() { g.cloud.all = nil })
	for n := range 5 {
		fail(g.nodes[n]) // one after the other
		if got := g.round(); got != 0 {
			t.Fatalf("%d were deleted", got)
		}
	}
	if g.held != 5 || len(g.events.Events) != 5 {
		t.Errorf("the metric is %d, and there are %d events", g.held, len(g.events.Events))
	}
	event := <-g.events.Events
	for _, want := range []string{"Warning NodeDeletionHeld", "node-0", "20 of its 20 Nodes", region, "max-gone-percent", AllowDeletion + "=true"} {
		if !strings.Contains(event, want) {
			t.Errorf("event %q lacks %q", event, want)
		}
	}
	for n := range 5 {
		g.cloud.set(func() { _, server := numbered(n); g.cloud.all = append(g.cloud.all, server) })
	}
	if g.round(); g.held != 0 {
		t.Errorf("once they are there again the metric is %d", g.held)
	}
}

func TestDeletions_CountThoseThatWentShortlyBefore(t *testing.T) {
	t.Parallel()
	g := guard(t, 10, config.Node{MaxGonePercent: 50})
	deleted := 0
	for n := range 8 { // one every five seconds
		g.lose(n, n+1)
		deleted += g.round()
	}
	if deleted != 5 || g.held != 3 {
		t.Errorf("%d went and %d are held, want half", deleted, g.held)
	}
	for range int(deletionWindow / (5 * time.Second)) {
		deleted += g.round()
	}
	if deleted != 5 {
		t.Errorf("%d have gone, want the three of five that are left to stay", deleted)
	}
}

//proves:109,124
func TestDeletions_LetNodesGoThatOperatorAllows(t *testing.T) {
	t.Parallel()
	g := guard(t, 4, config.Node{MaxGonePercent: 50})
	g.lose(0, 4)
	if got := g.round(); got != 0 || g.held != 4 {
		t.Errorf("%d were deleted, and %d are held", got, g.held)
	}
	g.deletions.options.Node.DeletionGracePeriod = config.Duration{Duration: time.Hour}
	g.nodes[1].Annotations = map[string]string{AllowDeletion: "true"}
	g.nodes[2].Annotations = map[string]string{AllowDeletion: "false"}
	if got := g.round(); got != 1 {
		t.Errorf("%d were deleted, want the one that may", got)
	}
	if g.held != 3 {
		t.Errorf("%d are held after it went", g.held)
	}
	if _, there, _ := g.known.Get(g.nodes[1]); there {
		t.Error("it is not the one that may")
	}
}

//proves:105
func TestDeletions_WaitForGracePeriod(t *testing.T) {
	t.Parallel()
	g := guard(t, 10, config.Node{MaxGonePercent: 50, DeletionGracePeriod: config.Duration{Duration: time.Minute}})
	g.lose(0, 1)
	for n := range 12 { // a minute from the first answer on
		if got := g.round(); got != 0 {
			t.Fatalf("deleted in round %d", n)
		}
	}
	if g.cloud.lists != 0 {
		t.Errorf("%d lists while nothing is to be decided", g.cloud.lists)
	}
	g.cloud.set(func() { g.cloud.all[0].Status = "ACTIVE" })
	g.round()
	g.lose(0, 1)
	if got := g.round(); got != 0 {
		t.Error("deleted though its server was there meanwhile")
	}
	for range 11 {
		g.round()
	}
	if got := g.round(); got != 1 {
		t.Errorf("%d were deleted after the period", got)
	}
}

func TestDeletions_KeepNodesWhileServersCannotBeCounted(t *testing.T) {
	t.Parallel()
	g := guard(t, 10, config.Node{MaxGonePercent: 50})
	g.lose(0, 1)
	g.cloud.listErr = errors.New("503")
	if got := g.round(); got != 0 || g.held != 0 || len(g.events.Events) != 0 {
		t.Errorf("%d were deleted, %d are held", got, g.held)
	}
	g.cloud.set(func() { g.cloud.listErr = nil })
	if got := g.round(); got != 1 {
		t.Errorf("%d were deleted once Nova answers", got)
	}
}

func TestDeletions_ReportHeldNodeOnceAnHour(t *testing.T) {
	t.Parallel()
	g := guard(t, 2, config.Node{MaxGonePercent: 50})
	g.lose(0, 2)
	for range int(2 * time.Hour / (5 * time.Second)) {
		g.round()
	}
	if got := len(g.events.Events); got != 4 {
		t.Errorf("%d events in two hours, want two for each", got)
	}
	g.clock.SetTime(g.clock.Now().Add(deletionWindow))
	if g.deletions.Seen(nodeNamed("other")); g.held != 0 || len(g.deletions.nodes) != 0 {
		t.Errorf("%d are held that nobody asks about, %d are remembered", g.held, len(g.deletions.nodes))
	}
}

// Nodes elsewhere, or of which nothing is known, count neither for nor against.
func TestDeletions_CountNodesOfRegionOnly(t *testing.T) {
	t.Parallel()
	g := guard(t, 4, config.Node{MaxGonePercent: 50})
	for n, providerID := range []string{"", "aws:///eu-1a/i-1", "openstack://RegionTwo/" + serverA, "openstack://RegionTwo/" + serverB, "k3s://node"} {
		other := nodeNamed(fmt.Sprintf("other-%d", n))
		other.Spec.ProviderID = providerID
		if err := g.known.Add(other); err != nil {
			t.Fatal(err)
		}
	}
	g.lose(0, 3)
	if got := g.round(); got != 0 || g.held != 3 {
		t.Errorf("%d were deleted and %d are held of 3 of 4", got, g.held)
	}
}

func TestDeletions_NilLetAllGo(t *testing.T) {
	t.Parallel()
	var none *Deletions
	none.Seen(nodeNamed("node-1"))
	if err := none.Allow(context.Background(), nodeNamed("node-1")); err != nil {
		t.Error(err)
	}
}
