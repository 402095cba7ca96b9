package loadbalancer

import (
	"context"
	"sync"
)

// keyedLocks are locks that are there while somebody wants them. Its zero value is
// ready. Upstream may call Ensure and Update for one Service at the same time.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	held  chan struct{} // holds a value while the lock is taken
	users int
}

// lock waits for the lock of a key, or for the end of the context.
func (k *keyedLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	unlock, _, err = k.acquire(ctx, key)
	return unlock, err
}

// acquire is lock, and tells whether somebody else had the lock meanwhile.
func (k *keyedLocks) acquire(ctx context.Context, key string) (unlock func(), waited bool, err error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*keyedLock{}
	}
	l := k.locks[key]
	if l == nil {
		l = &keyedLock{held: make(chan struct{}, 1)}
		k.locks[key] = l
	}
	l.users++
	waited = l.users > 1
	k.mu.Unlock()
	select {
	case l.held <- struct{}{}:
		return func() {
			<-l.held
			k.release(key, l)
		}, waited, nil
	case <-ctx.Done():
		k.release(key, l)
		return nil, waited, ctx.Err()
	}
}

func (k *keyedLocks) release(key string, l *keyedLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.locks, key)
	}
}
