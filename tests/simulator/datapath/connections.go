package datapath

import (
	"io"
	"sync"
)

// connections knows every open connection by the address that it came in by, so that it can
// be cut when that address goes away.
type connections struct {
	mu sync.Mutex
	// alive are the owners that may have connections.
	alive map[owner]bool
	open  map[owner]map[io.Closer]struct{}
}

func newConnections() *connections {
	return &connections{open: map[owner]map[io.Closer]struct{}{}}
}

// add registers a connection until remove is called. When the owner is gone it closes the
// connection at once.
func (c *connections) add(owner owner, connection io.Closer) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.alive[owner] {
		_ = connection.Close()
		return func() {}
	}
	if c.open[owner] == nil {
		c.open[owner] = map[io.Closer]struct{}{}
	}
	c.open[owner][connection] = struct{}{}
	return func() { c.remove(owner, connection) }
}

func (c *connections) remove(owner owner, connection io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open[owner], connection)
	if len(c.open[owner]) == 0 {
		delete(c.open, owner)
	}
}

// keep cuts the connections of all owners but these, and those that such owners would still
// add.
func (c *connections) keep(owners map[owner]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive = owners
	for owner, open := range c.open {
		if owners[owner] {
			continue
		}
		for connection := range open {
			_ = connection.Close()
		}
		delete(c.open, owner)
	}
}
