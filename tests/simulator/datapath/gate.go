package datapath

import (
	"context"
	"sync"
)

// gate holds a listener to its connection limit, over all addresses that it is reached by.
type gate struct {
	mu    sync.Mutex
	limit int
	open  int
	// changed is closed, and replaced, when there may be room again.
	changed chan struct{}
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// set changes the limit for connections to come; 0 and below mean none.
func (g *gate) set(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit != limit {
		g.limit = limit
		g.wake()
	}
}

// enter waits until there is room for one more connection. It returns false when the context
// ends before. leave must be called when the connection ends.
func (g *gate) enter(ctx context.Context) bool {
	for {
		full := g.tryEnter()
		if full == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-full:
		}
	}
}

// tryEnter returns nil when it took a place, else a channel to wait on.
func (g *gate) tryEnter() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit > 0 && g.open >= g.limit {
		return g.changed
	}
	g.open++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if g.limit > 0 {
		g.wake()
	}
}

func (g *gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}
