package instances

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// askAll asks all that the controllers ask about a node, in their order.
func askAll(t *testing.T, instances *Instances, node *v1.Node) {
	t.Helper()
	if exists, err := instances.InstanceExists(t.Context(), node); err != nil || !exists {
		t.Fatalf("InstanceExists: %v, %v", exists, err)
	}
	if _, err := instances.InstanceShutdown(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if _, err := instances.InstanceMetadata(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

func TestCache_AnswersConsecutiveQuestionsWithOneRequest(t *testing.T) {
	t.Parallel()
	for name, node := range map[string]*v1.Node{"by ID": nodeOn("openstack:///" + serverA), "by name": nodeNamed("node-1")} {
		cloud := &servers{all: []nova.Server{active(serverA, "node-1")}}
		instances, clock := newInstances(t, cloud)
		askAll(t, instances, node)
		if got := cloud.asked(); got != 1 {
			t.Errorf("%s: %d requests, want 1", name, got)
		}
		clock.SetTime(clock.Now().Add(DefaultCacheAge))
		askAll(t, instances, node)
		if got := cloud.asked(); got != 2 {
			t.Errorf("%s: %d requests after the age of the cache, want 2", name, got)
		}
	}
}

func TestCache_NeverKeepsThatServerIsGone(t *testing.T) {
	t.Parallel()
	cloud := &servers{}
	instances, _ := newInstances(t, cloud)
	node := nodeOn("openstack:///" + serverA)
	for n := 1; n <= 2; n++ {
		if exists, err := instances.InstanceExists(t.Context(), node); exists || err != nil {
			t.Fatalf("InstanceExists: %v, %v", exists, err)
		}
		if got := cloud.asked(); got != 2*n { // a 404 is asked for twice
			t.Errorf("question %d: %d requests, want %d", n, got, 2*n)
		}
	}
	cloud.set(func() { cloud.all = []nova.Server{active(serverA, "node-1")} })
	if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("once it is there: %v, %v", exists, err)
	}
}

func TestCache_KeepsNoFailure(t *testing.T) {
	t.Parallel()
	cloud := &servers{all: []nova.Server{active(serverA, "node-1")}, getErr: errors.New("503")}
	instances, _ := newInstances(t, cloud)
	node := nodeOn("openstack:///" + serverA)
	if _, err := instances.InstanceExists(t.Context(), node); err == nil {
		t.Fatal("got no error")
	}
	cloud.set(func() { cloud.getErr = nil })
	if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("after the failure: %v, %v", exists, err)
	}
}

func TestCache_DropsOldEntries(t *testing.T) {
	t.Parallel()
	cloud := &servers{all: []nova.Server{active(serverA, "node-1"), active(serverB, "node-2")}}
	instances, clock := newInstances(t, cloud)
	askAll(t, instances, nodeOn("openstack:///"+serverA))
	clock.SetTime(clock.Now().Add(time.Hour))
	askAll(t, instances, nodeOn("openstack:///"+serverB))
	if got := len(instances.cache.entries); got != 1 {
		t.Errorf("%d entries, want 1", got)
	}
}

func TestCache_AnswersConcurrentQuestionsWithOneRequest(t *testing.T) {
	t.Parallel()
	cloud := &servers{all: []nova.Server{active(serverA, "node-1")}, gate: make(chan struct{})}
	instances, _ := newInstances(t, cloud)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if exists, err := instances.InstanceExists(t.Context(), nodeOn("openstack:///"+serverA)); !exists || err != nil {
				t.Errorf("InstanceExists: %v, %v", exists, err)
			}
		})
	}
	await.Condition(t, "the first question reaches Nova", func() bool { return cloud.asked() == 1 })
	close(cloud.gate)
	group.Wait()
	if got := cloud.asked(); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}

func TestCache_ServesOthersWhenOneCallerLeaves(t *testing.T) {
	t.Parallel()
	cloud := &servers{all: []nova.Server{active(serverA, "node-1")}, gate: make(chan struct{})}
	instances, _ := newInstances(t, cloud)
	node := nodeOn("openstack:///" + serverA)
	leaving, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := instances.InstanceExists(leaving, node); !errors.Is(err, context.Canceled) {
			t.Errorf("who left got error %v", err)
		}
	})
	await.Condition(t, "the first question reaches Nova", func() bool { return cloud.asked() == 1 })
	group.Go(func() {
		if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
			t.Errorf("who stayed got %v, %v", exists, err)
		}
	})
	leave()
	await.Condition(t, "who stayed asks for itself", func() bool { return cloud.asked() == 2 })
	close(cloud.gate)
	group.Wait()
}

// What nothing could prove is not looked for.
func TestInstanceExists_CostsOneRequestForForeignNode(t *testing.T) {
	t.Parallel()
	cloud := &servers{}
	instances, _ := newInstances(t, cloud)
	_, err := instances.InstanceExists(t.Context(), nodeNamed("bare-metal"))
	if got := cloud.asked(); got != 1 {
		t.Errorf("%d requests, want the one for its name", got)
	}
	if err == nil || !strings.Contains(err.Error(), "left alone") || !strings.Contains(err.Error(), "bare-metal") {
		t.Errorf("got %v, want an error that names the node and says that it is left alone", err)
	}
}
