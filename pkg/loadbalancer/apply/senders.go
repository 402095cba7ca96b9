package apply

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

// senders bounds how many requests with many members are built and sent at the same time.
// Such a request takes a hundred times the memory of the members in it, the limiter of
// requests comes after it is built, and a round that sends has no place (async.Places). The numbers
// are above those of the limiter, so that it always has something to send, and neither kind
// holds up the other. The zero value is ready.
type senders struct {
	once               sync.Once
	creations, batches *semaphore.Weighted
}

const (
	maxCreationSenders = 16
	maxBatchSenders    = 40
)

func (s *senders) init() {
	s.creations, s.batches = semaphore.NewWeighted(maxCreationSenders), semaphore.NewWeighted(maxBatchSenders)
}

// creation waits until a creation may be built, and calls send, which builds and sends it.
// The error is the context's: send was not called then.
func (s *senders) creation(ctx context.Context, send func()) error {
	s.once.Do(s.init)
	return within(ctx, s.creations, send)
}

// batch is creation for a batch of members.
func (s *senders) batch(ctx context.Context, send func()) error {
	s.once.Do(s.init)
	return within(ctx, s.batches, send)
}

// within waits for its turn.
func within(ctx context.Context, free *semaphore.Weighted, send func()) error {
	if err := async.Acquire(ctx, free, 1); err != nil {
		return fmt.Errorf("still waiting behind other requests: %w", err)
	}
	defer free.Release(1)
	send()
	return nil
}
