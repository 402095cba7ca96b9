package cloudprovider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// drainTimeout is how long the end of the process waits for creations in the cloud. Octavia answers
// a creation within seconds, but may have to wait for other services.
const drainTimeout = 15 * time.Second

// calls ends the calls of the controllers with the process. The contexts of some calls never end.
type calls struct {
	parent  context.Context // its end begins the shutdown
	process context.Context // ends when the shutdown is complete
	stop    context.CancelFunc
	// end refuses new calls, waits for creations in the cloud, and ends all calls. It returns when
	// that is done, also the second time.
	end func()
	// tracer and metrics record the calls. Both may be nil.
	tracer  trace.TracerProvider
	metrics *Metrics

	mu       sync.Mutex
	draining bool
	running  sync.WaitGroup
}

// newCalls returns calls that end soon after the context does. drain, which may be nil, waits for
// creations in the cloud.
func newCalls(ctx context.Context, drain func(context.Context) error) *calls {
	c := &calls{parent: ctx}
	c.process, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.end = sync.OnceFunc(func() {
		c.mu.Lock()
		c.draining = true
		c.mu.Unlock()
		if drain != nil {
			bounded, cancel := context.WithTimeout(c.process, drainTimeout)
			defer cancel()
			if err := drain(bounded); err != nil { //nolint:contextcheck // the parent has ended by then
				klog.FromContext(ctx).Info("Stopping while something is still being created: the next leader looks for it", "err", err)
			}
		}
		c.stop()
	})
	context.AfterFunc(ctx, c.end)
	return c
}

// begin returns a context for a call that also ends with the process, or ErrStopping. When
// the error is nil, the call must be ended with end.
func (c *calls) begin(ctx context.Context) (tied context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.parent.Err() != nil {
		return nil, nil, ErrStopping
	}
	c.running.Add(1)
	tied, cancel := context.WithCancel(ctx)
	untie := context.AfterFunc(c.process, cancel)
	return tied, func() {
		untie()
		cancel()
		c.running.Done()
	}, nil
}

// traced is begin for a call that is counted and has a root span, both of which end with its error.
func (c *calls) traced(ctx context.Context, name, operation string, attributes ...attribute.KeyValue) (tied context.Context, end func(error), err error) {
	tied, done, err := c.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	tied, endSpan := telemetry.Root(tied, c.tracer, name, append(attributes, attribute.String("operation", operation))...)
	count := c.metrics.begin(name + "_" + operation)
	return tied, func(err error) {
		count(err)
		endSpan(err)
		done()
	}, nil
}

// drain ends all calls and waits for them.
func (c *calls) drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		c.end()
		c.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still running: %w", ctx.Err())
	}
}
