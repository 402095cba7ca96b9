package loadbalancer_test

import (
	"context"
	"encoding/hex"
	"net"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// receiver takes spans as a collector of OpenTelemetry does.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans []*spans.Span
}

// Export implements collector.TraceServiceServer.
func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// traces returns a provider of spans, and what ends it and returns what a collector has got.
func traces(t *testing.T) (trace.TracerProvider, func() []*spans.Span) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, got := grpc.NewServer(), &receiver{}
	collector.RegisterTraceServiceServer(server, got)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	provider, err := tracing.NewProvider(t.Context(), &tracingapi.TracingConfiguration{
		Endpoint: ptr.To(listener.Addr().String()), SamplingRatePerMillion: ptr.To[int32](1e6),
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return provider, func() []*spans.Span {
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		return got.spans
	}
}

func attribute(span *spans.Span, name string) string {
	for _, a := range span.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

//proves:102
func TestTracing_HasSpansOfRoundStagesStepsAndRequests(t *testing.T) {
	t.Parallel()
	provider, end := traces(t)
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
	if root == nil || attribute(root, "k8s.service.name") != "web" || attribute(root, "operation") != "ensure" || len(root.ParentSpanId) != 0 {
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
		switch span.Name {
		case "loadbalancer_create":
			posts++
			if !strings.HasPrefix(attribute(span, "openstack.request_id"), "req-") || parent == nil || parent.Name != "step" || !strings.HasPrefix(attribute(parent, "step"), "load balancer") {
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
	id := hex.EncodeToString(root.TraceId)
	wanted := "req-" + strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
	for _, request := range env.Cloud.RequestLog.Requests(requestlog.Method("POST"), requestlog.Under("/load-balancer")) {
		if request.GlobalID != wanted {
			t.Errorf("%s %s came with the global request ID %q, want that of the trace, %s", request.Method, request.Path, request.GlobalID, wanted)
		}
	}
}

// Without tracing, requests of a round have an ID that is the same for all of them, and for no
// other round.
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
