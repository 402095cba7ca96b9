package async

import "context"

// Guard holds the lock of one key at most. Who goes from one key to another releases the
// first, so that two never wait for each other in a circle. Its zero value holds none; it is
// not for several goroutines.
type Guard struct {
	key    string
	unlock func()
}

// Acquire takes the lock of a key, after releasing that of any other; "" is no key. Waited
// is set where another one had the lock before: what was read before may have changed. The
// error is the context's.
func (g *Guard) Acquire(ctx context.Context, locks *Locks, key string) (waited bool, err error) {
	if g.key == key || key == "" {
		return false, nil
	}
	g.Release()
	unlock, waited, err := locks.Lock(ctx, key)
	if err != nil {
		return waited, err
	}
	g.key, g.unlock = key, unlock
	return waited, nil
}

// Release releases the lock, if one is held.
func (g *Guard) Release() {
	if g.unlock != nil {
		g.unlock()
	}
	g.key, g.unlock = "", nil
}
