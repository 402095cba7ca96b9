// Package tracing marks what is done as spans of OpenTelemetry, gives it an ID that OpenStack's
// services log, and logs what has been changed there. Whether anything is recorded a context
// says: without a span in it nothing is, and costs nothing.
package tracing

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

// root is what all has that is done in a root span: its global request ID, and the logger of
// whoever has begun it.
type root struct {
	id     string
	logger klog.Logger
}

// Root begins a span that is in no other, and returns the context of what is done in it, which
// has a global request ID: that of the trace where one is recorded. The log has it too. End ends
// the span with what came of it. A nil provider records nothing.
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

// Together begins a root span of what is done for all who have asked for it, given by their
// contexts: it is in the trace of none, and it and their spans have links to each other. Of the
// context it has what Root leaves, which may be that of one of them.
func Together(ctx context.Context, name string, askers []context.Context, attributes ...attribute.KeyValue) (with context.Context, end func(error)) {
	ctx, end = Root(ctx, trace.SpanFromContext(ctx).TracerProvider(), name, attributes...)
	for _, asker := range askers {
		Link(ctx, Here(asker))
		Link(asker, Here(ctx))
	}
	return ctx, end
}

// Start begins a span within that of a context. End ends it with what came of it. Where none is
// recorded it does nothing.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (with context.Context, end func(error)) {
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

// Here returns where the span of a context is, for Link.
func Here(ctx context.Context) trace.SpanContext { return trace.SpanContextFromContext(ctx) }

// Link gives the span of a context a link to one of another trace that has done something for
// it. One that is not recorded, and one of the same trace, which shows that anyway, are none.
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
