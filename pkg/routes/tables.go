package routes

import "sync"

// Tables has the only Table of each router in this process. It is safe for concurrent use.
type Tables struct {
	// New makes a Table for a router that has none.
	New func(routerID string) *Table

	mu  sync.Mutex
	all map[string]*Table
}

// Of returns the Table of a router.
func (t *Tables) Of(routerID string) *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[routerID] == nil {
		t.setLocked(routerID, t.New(routerID))
	}
	return t.all[routerID]
}

// Set makes a Table that of its router, before the first use of another one.
func (t *Tables) Set(table *Table) *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setLocked(table.routerID, table)
	return table
}

func (t *Tables) setLocked(routerID string, table *Table) {
	if t.all == nil {
		t.all = map[string]*Table{}
	}
	t.all[routerID] = table
}
