package async

import (
	"context"
	"slices"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Slots bound concurrent work of one kind. They are granted in the order of arrival. Methods may be
// called from many goroutines.
type Slots struct {
	kind string

	mu   sync.Mutex
	free int
	line []*turn
}

// NewSlots returns n Slots for a kind of work.
func NewSlots(kind string, n int) *Slots { return &Slots{kind: kind, free: n} }

// Take waits for a slot, as Await does. The error is the context's.
func (s *Slots) Take(ctx context.Context) (release func(), err error) {
	_, err = Await(ctx, telemetry.Queue, "slot "+s.kind, s.queue)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(s.release), nil
}

func (s *Slots) queue() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t *turn
	t = NewFuture[struct{}](func(err error) error {
		s.abandon(t)
		return err
	})
	if s.free == 0 {
		s.line = append(s.line, t)
		return t
	}
	s.free--
	t.Resolve(struct{}{}, nil)
	return t
}

// release passes a slot on.
func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) == 0 {
		s.free++
		return
	}
	next := s.line[0]
	s.line = slices.Delete(s.line, 0, 1)
	next.Resolve(struct{}{}, nil)
}

// abandon removes a wait, or passes its slot on.
func (s *Slots) abandon(t *turn) {
	s.mu.Lock()
	i := slices.Index(s.line, t)
	if i >= 0 {
		s.line = slices.Delete(s.line, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		s.release()
	}
}
