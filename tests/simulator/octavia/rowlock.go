package octavia

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The quota row of a project is locked by everything that creates something in
// it, from the check of the quota to the end of the transaction. With a load
// balancer that includes the making of its VIP port, which takes Neutron a
// while, so that creates of one project wait for one another.

// rowLock is the lock that a call holds, or asks for.
type rowLock struct {
	project string
	slow    bool // a VIP port is made while it is held
	held    bool
}

type rowLocks struct {
	mu   sync.Mutex
	rows map[string]chan struct{}
}

func (l *rowLocks) of(project string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows == nil {
		l.rows = map[string]chan struct{}{}
	}
	if l.rows[project] == nil {
		l.rows[project] = make(chan struct{}, 1)
	}
	return l.rows[project]
}

// needRow is called by a handler before it reads the quota. Without a VIPPortDelay it continues
// at once; else the call is started again with the lock held.
func (o *Octavia) needRow(c *call, project string, slow bool) *apiError {
	if o.options.VIPPortDelay == 0 || c.row != nil && c.row.held {
		return nil
	}
	c.row = &rowLock{project: project, slow: slow}
	return &apiError{waits: true}
}

// serveChange runs a handler that may change something.
func (o *Octavia) serveChange(c *call, r *http.Request, serve handler) (answer response, failure *apiError) {
	o.locked(func() { answer, failure = serve(c) })
	if failure == nil || !failure.waits {
		return answer, failure
	}
	row := o.rows.of(c.row.project)
	if failure := o.lockRow(r.Context(), row); failure != nil {
		return response{}, failure
	}
	defer func() { <-row }()
	if c.row.slow {
		// Neutron works on although the client may be gone.
		<-o.clock.After(o.options.VIPPortDelay)
	}
	c.row.held = true
	o.locked(func() { answer, failure = serve(c) })
	return answer, failure
}

// lockRow waits for the row, but not for ever.
func (o *Octavia) lockRow(ctx context.Context, row chan struct{}) *apiError {
	select {
	case row <- struct{}{}:
		return nil
	default:
	}
	patience := o.clock.NewTimer(o.lockTimeout())
	defer patience.Stop()
	select {
	case row <- struct{}{}:
		return nil
	case <-patience.C():
		return refuse(http.StatusServiceUnavailable, "Project busy.  Unable to lock the project.  Please try again.")
	case <-ctx.Done():
		return crash("The client is gone.")
	}
}

func (o *Octavia) lockTimeout() time.Duration {
	if o.options.ProjectLockTimeout == 0 {
		return 50 * time.Second
	}
	return o.options.ProjectLockTimeout
}
