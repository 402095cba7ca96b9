package routes

import (
	"cmp"
	"context"
	"net/netip"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// operation is one CreateRoute, DeleteRoute or Lead.
type operation struct {
	ctx  context.Context
	done chan error

	// node is the node of the route, "" if it is unknown, as of a route to remove.
	node string
	// lead is set for a Lead, which has no other fields.
	lead *Lead
	// remove is the route to remove. If it is the zero value, a route is added:
	remove hop
	to     netip.Prefix
	// through are the node's addresses, in order of preference.
	through []netip.Addr
}

// batcher gathers the operations that arrive shortly after one another, and runs them in batches,
// one batch at a time, because all of them change the same router.
type batcher struct {
	clock  clock.Clock
	gather time.Duration
	// run executes operations and returns the error of each.
	run func(context.Context, []*operation) []error

	// running is held by the batch in execution.
	running *semaphore.Weighted
	mu      sync.Mutex
	next    *batch // nil if no batch waits
}

// batch is canceled when all its callers have gone.
type batch struct {
	cancel     context.CancelFunc
	operations []*operation
	waiting    int
}

// do returns after the operation was executed, or with the error of its context.
func (b *batcher) do(ctx context.Context, c *operation) error {
	c.ctx, c.done = ctx, make(chan error, 1)
	joined := b.join(ctx, c)
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		b.detach(joined)
		return ctx.Err()
	}
}

func (b *batcher) join(ctx context.Context, c *operation) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		b.next = &batch{cancel: cancel}
		go b.execute(ctx, b.next)
	}
	b.next.operations = append(b.next.operations, c)
	b.next.waiting++
	return b.next
}

func (b *batcher) detach(from *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if from.waiting--; from.waiting > 0 {
		return
	}
	from.cancel()
	if b.next == from {
		b.next = nil
	}
}

func (b *batcher) execute(ctx context.Context, group *batch) {
	defer group.cancel()
	select {
	case <-b.clock.After(b.gather):
	case <-ctx.Done():
		return
	}
	if err := b.running.Acquire(ctx, 1); err != nil {
		return // all callers have gone
	}
	defer b.running.Release(1)
	operations := b.close(group)
	askers := make([]context.Context, 0, len(operations))
	for _, c := range operations {
		askers = append(askers, c.ctx)
	}
	ctx, end := telemetry.Together(ctx, "batch", askers, attribute.Int("operations", len(operations)))
	errs := b.run(ctx, operations)
	end(cmp.Or(errs...))
	for i, err := range errs {
		operations[i].done <- err
	}
}

// close closes the batch for further operations and returns those that it has.
func (b *batcher) close(group *batch) []*operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == group {
		b.next = nil
	}
	return group.operations
}
