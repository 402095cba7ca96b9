package telemetry

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Step begins a step that changes the cloud, with its span. End ends it, and logs a successful one
// with the values, the IDs of its writes in OpenStack, and its duration.
func Step(ctx context.Context, clk clock.PassiveClock, text string) (with context.Context, end func(err error, values ...any)) {
	logger, began := klog.FromContext(ctx), clk.Now()
	ctx, endSpan := Span(ctx, "step", attribute.String("step", text))
	ctx, writes := Collect(ctx)
	logger.V(4).Info("Changing the cloud", "step", text)
	return ctx, func(err error, values ...any) {
		if err == nil {
			values = slices.Concat([]any{"step", text}, values, writes.Values(), []any{"took", clk.Since(began)})
			logger.V(1).Info("Changed the cloud", values...)
		}
		endSpan(err)
	}
}

// writesKey is that of a context for its Writes.
type writesKey struct{}

// Writes are the writes that OpenStack has accepted.
type Writes struct {
	mu   sync.Mutex
	sent bool
	ids  []string
}

// mostIDs is the maximum number of request IDs: the global one finds the others.
const mostIDs = 5

// Collect returns a context that records its writes in Writes.
func Collect(ctx context.Context) (context.Context, *Writes) {
	w := &Writes{}
	return context.WithValue(ctx, writesKey{}, w), w
}

// Wrote records a write that OpenStack has accepted, with its request ID there; "" for none.
func Wrote(ctx context.Context, requestID string) {
	if w, ok := ctx.Value(writesKey{}).(*Writes); ok {
		w.note(requestID)
	}
}

// Add adds other writes; they may be nil.
func (w *Writes) Add(others *Writes) {
	others.mu.Lock()
	sent, ids := others.sent, others.ids
	others.mu.Unlock()
	if sent {
		w.note(ids...)
	}
}

func (w *Writes) note(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = true
	for _, id := range ids {
		if id != "" && len(w.ids) < mostIDs {
			w.ids = append(w.ids, id)
		}
	}
}

// Any reports whether there are any; nil has none.
func (w *Writes) Any() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// Values returns the IDs for the log, none if there are none.
func (w *Writes) Values() []any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ids) == 0 {
		return nil
	}
	return []any{"requestIDs", w.ids}
}
