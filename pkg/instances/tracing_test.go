package instances

import (
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/otlp"
)

// ask asks about a node within a span.
func ask(t *testing.T, provider trace.TracerProvider, name string, instances *Instances, node *v1.Node) {
	t.Helper()
	ctx, end := telemetry.Root(t.Context(), provider, name)
	_, err := instances.InstanceExists(ctx, node)
	if end(err); err != nil {
		t.Error(err)
	}
}

// One request answers who asks first, who asks meanwhile, and who asks soon afterwards.
//
//proves:102
func TestTracing_LinksThoseWhoShareAnAnswer(t *testing.T) {
	t.Parallel()
	provider, end := otlp.Collect(t)
	cloud := &servers{all: []nova.Server{active(serverA, "node-1")}, gate: make(chan struct{})}
	instances, _ := newInstances(t, cloud)
	node := nodeOn("openstack:///" + serverA)
	var group sync.WaitGroup
	group.Go(func() { ask(t, provider, "first", instances, node) })
	await.Condition(t, "the first question reaches Nova", func() bool { return cloud.asked() == 1 })
	group.Go(func() { ask(t, provider, "meanwhile", instances, node) })
	close(cloud.gate)
	group.Wait()
	ask(t, provider, "afterwards", instances, node)
	got := end()
	shared, first := got.Named("server"), got.Named("first")[0]
	if len(shared) != 1 || len(got.In(first)) != 1 || got.In(first)[0] != shared[0] || len(first.Links) > 0 {
		t.Fatalf("who asked first has %v, and the spans of the answer are %v", got.In(first), shared)
	}
	for _, name := range []string{"meanwhile", "afterwards"} {
		if span := got.Named(name)[0]; !otlp.Linked(span, shared[0]) || len(got.In(span)) > 0 {
			t.Errorf("%s has no link to the span of the answer: %v", name, span)
		}
	}
}

// A list that many nodes need is in the trace of the one that has asked for it.
//
//proves:102
func TestTracing_LinksNodesToTheirSharedList(t *testing.T) {
	t.Parallel()
	provider, end := otlp.Collect(t)
	cloud, nodes, listed, _ := manyNodes(t, 20, 20)
	instances, _ := newInstances(t, cloud)
	instances.UseNodes(listed)
	for _, node := range nodes[:2] {
		ask(t, provider, node.Name, instances, node)
	}
	got := end()
	answers, lists := got.Named("server"), got.Named("servers")
	if len(answers) != 2 || len(lists) != 1 {
		t.Fatalf("%d spans of answers and %d of lists", len(answers), len(lists))
	}
	if in := got.In(answers[0]); len(in) != 1 || in[0] != lists[0] || len(answers[0].Links) > 0 {
		t.Errorf("the list is in %v", lists[0])
	}
	if !otlp.Linked(answers[1], lists[0]) {
		t.Errorf("the second node has no link to the list: %v", answers[1])
	}
}
