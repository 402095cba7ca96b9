package telemetry

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"
)

// scope names the program in spans.
const scope = "github.com/openstack-ccm/openstack-ccm"

// rootKey is that of a context for its root.
type rootKey struct{}

// root is common to all work in a root span: its global request ID, and the logger of its caller.
type root struct {
	id     string
	logger klog.Logger
}

// Root begins a root span, and returns its context, with a global request ID: that of the trace if
// one is recorded. The log has it too. End ends the span with its error. A nil provider records
// nothing.
func Root(ctx context.Context, provider trace.TracerProvider, name string, attributes ...attribute.KeyValue) (with context.Context, end func(error)) {
	id := uuid.UUID{}
	end = func(error) {}
	if provider != nil {
		var span trace.Span
		ctx, span = provider.Tracer(scope).Start(ctx, name, trace.WithNewRoot(), trace.WithAttributes(attributes...))
		id, end = uuid.UUID(span.SpanContext().TraceID()), ender(span)
	}
	if id == uuid.Nil {
		id = uuid.New()
	}
	r := root{"req-" + id.String(), klog.FromContext(ctx)}
	if outer, within := ctx.Value(rootKey{}).(root); within {
		r.logger = outer.logger
	}
	return klog.NewContext(context.WithValue(ctx, rootKey{}, r), r.logger.WithValues("globalRequestID", r.id)), end
}

// Together begins a root span of work for several requesters, given by their contexts: it is in the
// trace of none, and it and their spans have links to each other. It keeps the values of Root in
// the context, which may be that of one of them.
func Together(ctx context.Context, name string, askers []context.Context, attributes ...attribute.KeyValue) (with context.Context, end func(error)) {
	ctx, end = Root(ctx, trace.SpanFromContext(ctx).TracerProvider(), name, attributes...)
	for _, asker := range askers {
		Link(ctx, Here(asker))
		Link(asker, Here(ctx))
	}
	return ctx, end
}

// Span begins a span within that of a context. End ends it with its error. If none is recorded it
// does nothing.
func Span(ctx context.Context, name string, attributes ...attribute.KeyValue) (with context.Context, end func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, ender(span)
}

// Recording reports whether spans of a context are recorded.
func Recording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Note adds attributes to the span of a context.
func Note(ctx context.Context, attributes ...attribute.KeyValue) {
	trace.SpanFromContext(ctx).SetAttributes(attributes...)
}

// Here returns the span of a context, for Link.
func Here(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// Link adds a link from the span of a context to one of another trace that has worked for it. It
// ignores one that is not recorded, and one of the same trace.
func Link(ctx context.Context, to trace.SpanContext) {
	if span := trace.SpanFromContext(ctx); to.IsSampled() && to.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: to})
	}
}

// RequestID returns the global request ID of a context, "" for none.
func RequestID(ctx context.Context) string {
	r, _ := ctx.Value(rootKey{}).(root)
	return r.id
}

func ender(span trace.Span) func(error) {
	return func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
