package loadbalancer

import (
	"context"
	"slices"
	"sync"
)

// keyedLocks are locks that are there while somebody wants them. Who comes first has
// a lock first. Its zero value is ready. Upstream may call Ensure and Update for one
// Service at the same time.
type keyedLocks struct {
	mu    sync.Mutex
	lines map[string][]*turn // the first has the lock, the others wait for it
}

// turn is a place in the line for a lock.
type turn struct {
	locks  *keyedLocks
	key    string
	come   chan struct{} // closed when the lock is had
	waited bool          // somebody else was before
}

// lock waits for the lock of a key, or for the end of the context.
func (k *keyedLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	return k.queue(key).wait(ctx)
}

// acquire is lock, and tells whether somebody else had the lock meanwhile.
func (k *keyedLocks) acquire(ctx context.Context, key string) (unlock func(), waited bool, err error) {
	t := k.queue(key)
	unlock, err = t.wait(ctx)
	return unlock, t.waited, err
}

// queue takes the last place in the line for a lock, at once. Who has it must wait for
// the turn or give the place up.
func (k *keyedLocks) queue(key string) *turn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lines == nil {
		k.lines = map[string][]*turn{}
	}
	t := &turn{locks: k, key: key, come: make(chan struct{}), waited: len(k.lines[key]) > 0}
	k.lines[key] = append(k.lines[key], t)
	if !t.waited {
		close(t.come)
	}
	return t
}

// wait waits for the lock, or gives the place up at the end of the context.
func (t *turn) wait(ctx context.Context) (unlock func(), err error) {
	select {
	case <-t.come:
		return t.leave, nil
	case <-ctx.Done():
		t.leave()
		return nil, ctx.Err()
	}
}

// leave gives the place up, and the lock with it. It does nothing the second time.
func (t *turn) leave() {
	k := t.locks
	k.mu.Lock()
	defer k.mu.Unlock()
	line := k.lines[t.key]
	i := slices.Index(line, t)
	if i < 0 {
		return
	}
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(k.lines, t.key)
		return
	}
	k.lines[t.key] = line
	if i == 0 {
		close(line[0].come)
	}
}
