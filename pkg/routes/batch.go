package routes

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// call is one CreateRoute or DeleteRoute.
type call struct {
	ctx  context.Context
	done chan error

	// drop is the route to remove; if it is the zero one, a route is to be added:
	drop hop
	node string
	to   netip.Prefix
	// through are the node's addresses, the best first.
	through []netip.Addr
}

// batcher gathers calls that come shortly after one another, as upstream's do, and
// has each group carried out at once, one group after the other: all of them are
// about the same router.
type batcher struct {
	clock  clock.Clock
	gather time.Duration
	// run carries calls out and gives the error of each.
	run func(context.Context, []*call) []error

	turn sync.Mutex
	mu   sync.Mutex
	next *batch // nil when nobody waits
}

// batch ends when all who wait for it have left.
type batch struct {
	ctx     context.Context
	cancel  context.CancelFunc
	calls   []*call
	waiting int
}

// do returns when the call is carried out, or with its context.
func (b *batcher) do(ctx context.Context, c *call) error {
	c.ctx, c.done = ctx, make(chan error, 1)
	joined := b.join(c)
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		b.leave(joined)
		return ctx.Err()
	}
}

func (b *batcher) join(c *call) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
		b.next = &batch{ctx: ctx, cancel: cancel}
		go b.carryOut(b.next)
	}
	b.next.calls = append(b.next.calls, c)
	b.next.waiting++
	return b.next
}

func (b *batcher) leave(left *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left.waiting--; left.waiting > 0 {
		return
	}
	left.cancel()
	if b.next == left {
		b.next = nil
	}
}

func (b *batcher) carryOut(group *batch) {
	defer group.cancel()
	select {
	case <-b.clock.After(b.gather):
	case <-group.ctx.Done():
		return
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	for i, err := range b.run(group.ctx, b.close(group)) {
		group.calls[i].done <- err
	}
}

// close lets nobody else join.
func (b *batcher) close(group *batch) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == group {
		b.next = nil
	}
	return group.calls
}
