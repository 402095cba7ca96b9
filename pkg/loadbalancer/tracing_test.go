package loadbalancer_test

import (
	"strings"
	"testing"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/otlp"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

//proves:102
func TestTracing_HasSpansOfRoundStagesStepsAndRequests(t *testing.T) {
	t.Parallel()
	provider, end := otlp.Collect(t)
	env := newEnvironment(t, environmentOptions{tracer: provider})
	env.ensure(service("web", 1), env.nodes(2))
	got := end()
	byID, names := map[string]*spans.Span{}, map[string]int{}
	var root *spans.Span
	for _, span := range got {
		byID[string(span.SpanId)] = span
		names[span.Name]++
		if span.Name == "reconcile" {
			root = span
		}
	}
	if root == nil || otlp.Attribute(root, "k8s.service.name") != "web" || otlp.Attribute(root, "operation") != "ensure" || len(root.ParentSpanId) != 0 {
		t.Fatalf("the round has the span %v", root)
	}
	for _, stage := range []string{"recall", "observe", "desire", "plan", "begin", "prepare", "apply", "commit", "wait"} {
		if names[stage] == 0 {
			t.Errorf("no span %q among %v", stage, names)
		}
	}
	inRound, posts := 0, 0
	for _, span := range got {
		parent := byID[string(span.ParentSpanId)]
		if string(span.TraceId) != string(root.TraceId) {
			continue
		}
		inRound++
		if span.GetStatus().GetCode() == spans.Status_STATUS_CODE_ERROR {
			t.Errorf("%s failed: %s", span.Name, span.GetStatus().GetMessage())
		}
		switch span.Name {
		case "loadbalancer_create":
			posts++
			if !strings.HasPrefix(otlp.Attribute(span, "openstack.request_id"), "req-") || parent == nil || parent.Name != "step" || !strings.HasPrefix(otlp.Attribute(parent, "step"), "load balancer") {
				t.Errorf("the creation is %v, in %v", span, parent)
			}
		case "reconcile":
		default:
			if parent == nil {
				t.Errorf("%s is in nothing", span.Name)
			}
		}
	}
	if posts != 1 || inRound < 12 {
		t.Errorf("%d spans of the creation, and %d in all", posts, inRound)
	}
	wanted := otlp.RequestID(root)
	for _, request := range env.Cloud.RequestLog.Requests(requestlog.Method("POST"), requestlog.Under("/load-balancer")) {
		if request.GlobalID != wanted {
			t.Errorf("%s %s came with the global request ID %q, want that of the trace, %s", request.Method, request.Path, request.GlobalID, wanted)
		}
	}
}

// Without tracing, the requests of a round have an ID that they share, and that no other round has.
//
//proves:102
func TestTracing_GlobalRequestIDIsOneForEachRound(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	ids := map[string]bool{}
	for _, name := range []string{"web", "api"} {
		env.Cloud.RequestLog.Reset()
		env.ensure(service(name, 1), nodes)
		of := map[string]bool{}
		for _, request := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
			of[request.GlobalID], ids[request.GlobalID] = true, true
		}
		if len(of) != 1 || of[""] {
			t.Errorf("the requests of a round have the IDs %v, want one", of)
		}
	}
	if len(ids) != 2 {
		t.Errorf("two rounds have the IDs %v", ids)
	}
}
