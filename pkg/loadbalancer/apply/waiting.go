package apply

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// packedCreation is a creation that waits for its turn.
type packedCreation struct {
	plan.CreateLoadBalancer // without its load balancer
	loadBalancer            *model.Packed
	text                    string
}

// String implements plan.Step.
func (s packedCreation) String() string { return s.text }

func (s packedCreation) unpack() plan.CreateLoadBalancer {
	s.LoadBalancer = s.loadBalancer.Unpack()
	return s.CreateLoadBalancer
}

// packedBatch is a batch of members that waits for its turn.
type packedBatch struct {
	plan.SetMembers                  // without its lists
	members, added, removed, changed model.PackedMembers
	text                             string
}

// String implements plan.Step.
func (s packedBatch) String() string { return s.text }

func (s packedBatch) unpack() plan.SetMembers {
	return plan.SetMembers{
		Pool: s.Pool, Additive: s.Additive, Members: s.members.Unpack(), Added: s.added.Unpack(), Removed: s.removed.Unpack(), Changed: s.changed.Unpack(),
	}
}

// packSteps returns steps in the form in which they wait: members are packed, and those that a
// step does not touch are not kept for it.
func packSteps(steps []plan.Step) []plan.Step {
	packed := make([]plan.Step, 0, len(steps))
	var before model.PackedMembers
	for _, step := range steps {
		next := packStep(step, before)
		if batch, ok := next.(packedBatch); ok {
			before = batch.members
		}
		packed = append(packed, next)
	}
	return packed
}

// packStep is packSteps of one. It takes less where most members of the batch before it are on
// the same nodes.
func packStep(step plan.Step, before model.PackedMembers) plan.Step {
	switch s := step.(type) {
	case plan.CreateLoadBalancer:
		packed := packedCreation{CreateLoadBalancer: s, loadBalancer: model.Pack(s.LoadBalancer, nil), text: textOf(s)}
		packed.LoadBalancer = nil
		return packed
	case plan.SetMembers:
		return packedBatch{
			SetMembers: plan.SetMembers{Pool: s.Pool, Additive: s.Additive}, text: textOf(s),
			members: model.PackMembers(s.Members, before), added: model.PackMembers(s.Added, before),
			removed: model.PackMembers(s.Removed, before), changed: model.PackMembers(s.Changed, before),
		}
	case plan.UpdateListener: // which does nothing to members, except where it brings others
		if s.From.Pool.Members = nil; !s.SwitchesPool() {
			s.To.Pool.Members = nil
		}
		return s
	case plan.UpdatePool:
		s.From.Members, s.To.Members = nil, nil
		return s
	}
	return step
}

// unpackStep returns a step as it was before packStep.
func unpackStep(step plan.Step) plan.Step {
	switch s := step.(type) {
	case packedCreation:
		return s.unpack()
	case packedBatch:
		return s.unpack()
	}
	return step
}

// textOf returns how a step prints, within bounds.
func textOf(step plan.Step) string { return message.Truncate(step.String(), message.MaxEvent) }

// senders bounds how many requests with many members are built and sent at the same time.
// Such a request takes a hundred times the memory of what is packed, the limiter of
// requests comes after it is built, and who sends has no place (async.Places). The numbers
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
