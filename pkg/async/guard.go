package async

import "context"

// Guard holds at most one lock of Locks. To change keys it releases the first lock before it
// acquires the second, so that two Guards never wait for each other. Its zero value holds none; it
// is not for several goroutines.
type Guard struct {
	key    string
	unlock func()
}

// Acquire takes the lock of a key after it releases that of any other key; "" is no key. Waited
// reports that another owner had the lock in between: earlier reads may be outdated. The error is
// the context's.
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

// Release releases the lock, if there is one.
func (g *Guard) Release() {
	if g.unlock != nil {
		g.unlock()
	}
	g.key, g.unlock = "", nil
}
