package async

import (
	"context"
	"slices"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// Locks are locks by key, which are there while somebody wants them. Who comes first
// has a lock first. Its zero value is ready; methods may be called from many
// goroutines.
type Locks struct {
	mu    sync.Mutex
	lines map[string][]*turn // the first has the lock, the others wait for it
}

// turn is a place in the line for a lock.
type turn struct {
	come chan struct{} // closed when the lock is had
}

// Lock waits for the lock of a key; the place of the work (see Yield) is given away
// meanwhile. Waited tells that other work had the lock before: what was read before
// may have changed. The error is the context's.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), waited bool, err error) {
	t, waited := l.queue(key)
	unlock = sync.OnceFunc(func() { l.leave(key, t) })
	if !waited {
		return unlock, false, nil
	}
	defer stopwatch.In(ctx, stopwatch.Queue)()
	resume := Yield(ctx)
	defer resume()
	select {
	case <-t.come:
		return unlock, true, nil
	case <-ctx.Done():
		unlock()
		return nil, true, ctx.Err()
	}
}

// Held reports whether anybody has the lock of a key.
func (l *Locks) Held(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines[key]) > 0
}

// queue takes the last place in the line for a lock.
func (l *Locks) queue(key string) (t *turn, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string][]*turn{}
	}
	t = &turn{come: make(chan struct{})}
	l.lines[key] = append(l.lines[key], t)
	return t, len(l.lines[key]) > 1
}

// leave returns the place in a line up, and the lock with it.
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
		close(line[0].come)
	}
}
