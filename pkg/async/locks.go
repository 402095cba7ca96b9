package async

import (
	"context"
	"slices"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Locks are locks by key. They are granted in the order of arrival. The zero value is ready; methods may
// be called from many goroutines.
type Locks struct {
	mu    sync.Mutex
	lines map[string][]*turn // the first has the lock
}

// turn is a place in the line for a lock.
type turn = Future[struct{}]

// Lock waits for the lock of a key, as Await does. Waited reports that another one had the lock in
// between: earlier reads may be outdated. The error is the context's.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), waited bool, err error) {
	wait := "lock " + key
	t, waited := resumed[struct{}](ctx, wait)
	if !waited {
		t = l.queue(key)
		waited = !t.ended()
	}
	if _, err := Await(ctx, telemetry.Queue, wait, func() *turn { return t }); err != nil {
		return nil, true, err
	}
	return sync.OnceFunc(func() { l.leave(key, t) }), waited, nil
}

// LockInPlace is Lock for short work inside of other work: it blocks, also if the context has a Slot.
func (l *Locks) LockInPlace(ctx context.Context, key string) (unlock func(), err error) {
	unlock, _, err = l.Lock(WithSlot(ctx, nil), key)
	return unlock, err
}

// Held reports whether the lock of a key is taken.
func (l *Locks) Held(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key]) > 0
}

// queue takes the last place in the line for a lock.
func (l *Locks) queue(key string) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string][]*turn{}
	}
	var t *turn
	t = NewFuture[struct{}](func(err error) error {
		l.leave(key, t)
		return err
	})
	l.lines[key] = append(l.lines[key], t)
	if len(l.lines[key]) == 1 {
		t.Resolve(struct{}{}, nil)
	}
	return t
}

// leave gives up a place in a line, and the lock with it.
func (l *Locks) leave(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[key]
	i := slices.Index(line, t)
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(l.lines, key)
		return
	}
	l.lines[key] = line
	if i == 0 {
		line[0].Resolve(struct{}{}, nil)
	}
}
