package datapath

import (
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// idle ends something that was silent for too long although it was its turn.
type idle struct {
	clock clock.Clock
	limit time.Duration

	mu sync.Mutex
	// waiting is above 0 while one side must send; earlier time does not count.
	waiting int
	since   time.Time
}

func newIdle(clock clock.Clock, limit time.Duration) *idle {
	return &idle{clock: clock, limit: limit, since: clock.Now()}
}

// touch notes that something was heard.
func (i *idle) touch() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.since = i.clock.Now()
}

// expect starts the wait for one side, until relax is called as often.
func (i *idle) expect() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting++; i.waiting == 1 {
		i.since = i.clock.Now()
	}
}

func (i *idle) relax() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting--
}

// left is how much longer the silence may last.
func (i *idle) left() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting <= 0 {
		return i.limit
	}
	return i.limit - i.clock.Since(i.since)
}

// watch calls expired once when the silence has lasted for too long, unless done is closed
// before. A limit of 0 or below never expires.
func (i *idle) watch(done <-chan struct{}, expired func()) {
	if i.limit <= 0 {
		return
	}
	for {
		left := i.left()
		if left <= 0 {
			expired()
			return
		}
		timer := i.clock.NewTimer(left)
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// duplex is a connection of which one direction can be ended: TCP, or TLS over it.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// listened is a connection that reports its traffic of both directions to an idle.
type listened struct {
	duplex
	idle *idle
}

func (l *listened) Read(p []byte) (int, error) {
	n, err := l.duplex.Read(p)
	l.idle.touch()
	return n, err
}

func (l *listened) Write(p []byte) (int, error) {
	n, err := l.duplex.Write(p)
	l.idle.touch()
	return n, err
}
