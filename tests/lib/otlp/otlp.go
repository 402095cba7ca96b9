// Package otlp receives spans like a collector of OpenTelemetry.
package otlp

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"
)

// receiver is the collector.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans Spans
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

// Collect returns a provider of spans, all of which are recorded, and what ends it and returns
// what a collector has got of it.
func Collect(t *testing.T) (trace.TracerProvider, func() Spans) {
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
	return provider, func() Spans {
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		return got.spans
	}
}

// Spans are those that a collector has got.
type Spans []*spans.Span

// Named returns those with a name, in the order in which they have ended.
func (s Spans) Named(name string) Spans {
	var found Spans
	for _, span := range s {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// In returns the children of a span.
func (s Spans) In(parent *spans.Span) Spans {
	var found Spans
	for _, span := range s {
		if string(span.ParentSpanId) == string(parent.SpanId) {
			found = append(found, span)
		}
	}
	return found
}

// Linked reports whether a span has a link to another.
func Linked(from, to *spans.Span) bool {
	for _, link := range from.Links {
		if string(link.SpanId) == string(to.SpanId) && string(link.TraceId) == string(to.TraceId) {
			return true
		}
	}
	return false
}

// Attribute returns the text of an attribute of a span, "" for none.
func Attribute(span *spans.Span, name string) string {
	for _, a := range span.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// RequestID returns the global request ID that requests in the trace of a span have.
func RequestID(span *spans.Span) string {
	var id uuid.UUID
	copy(id[:], span.TraceId)
	return "req-" + id.String()
}
