package datapath

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Statistics are a listener's, as Octavia counts them.
type Statistics struct {
	// ActiveConnections are open now; for UDP, clients.
	ActiveConnections int64
	// TotalConnections, BytesIn and BytesOut count from when the listener was first served.
	// Bytes are those that clients sent and received, in TLS where they do.
	TotalConnections, BytesIn, BytesOut int64
}

// Statistics returns the statistics of a listener, zeros for one that is not served.
func (p *Plane) Statistics(listenerID string) Statistics { return p.meters.read(listenerID) }

// meters are the meters of all listeners.
type meters struct {
	mu   sync.Mutex
	byID map[string]*meter
}

func newMeters() *meters { return &meters{byID: map[string]*meter{}} }

// of returns a listener's meter, a new one for a new listener.
func (m *meters) of(listenerID string) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID[listenerID] == nil {
		m.byID[listenerID] = &meter{}
	}
	return m.byID[listenerID]
}

// keep forgets all listeners but these.
func (m *meters) keep(listenerIDs map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.byID, func(id string, _ *meter) bool { return !listenerIDs[id] })
}

func (m *meters) read(listenerID string) Statistics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.byID[listenerID]; known != nil {
		return known.read()
	}
	return Statistics{}
}

// meter counts what a listener carries.
type meter struct{ active, total, in, out atomic.Int64 }

func (m *meter) read() Statistics {
	return Statistics{
		ActiveConnections: m.active.Load(),
		TotalConnections:  m.total.Load(),
		BytesIn:           m.in.Load(),
		BytesOut:          m.out.Load(),
	}
}

// begin counts a connection; ended must be called when it ends.
func (m *meter) begin() (ended func()) {
	m.active.Add(1)
	m.total.Add(1)
	return func() { m.active.Add(-1) }
}

// metered is a client's connection with counted bytes.
type metered struct {
	duplex
	meter *meter
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.duplex.Read(p)
	c.meter.in.Add(int64(n))
	return n, err
}

func (c *metered) Write(p []byte) (int, error) {
	n, err := c.duplex.Write(p)
	c.meter.out.Add(int64(n))
	return n, err
}
