package apply

import (
	"context"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/wait"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// operation is what a cloud is waited for.
type operation string

const (
	creating operation = "create"
	updating operation = "update"
	deleting operation = "delete"
)

// kind is what takes about the same time each time.
type kind struct {
	provider  string
	operation operation
}

// experience is how long things took lately. Its zero value is ready.
type experience struct {
	mu    sync.Mutex
	usual map[kind]time.Duration
}

// note adds how long something took: the new usual time is a mean in which older
// times count less and less.
func (e *experience) note(k kind, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.usual == nil {
		e.usual = map[kind]time.Duration{}
	}
	if before, ok := e.usual[k]; ok {
		took = (3*before + took) / 4
	}
	e.usual[k] = took
}

// longest is the longest time until the first look, however long a thing usually
// takes: it could fail early.
const longest = 45 * time.Second

// pace makes the first look come shortly before a thing is usually done, and the
// next ones after tenths of that time. It never comes sooner than with the pace that
// is given.
func (e *experience) pace(k kind, given wait.Pace) wait.Pace {
	e.mu.Lock()
	defer e.mu.Unlock()
	usual, ok := e.usual[k]
	if !ok {
		return given
	}
	given.First = max(given.First, min(usual*8/10, longest))
	given.Step = max(given.Step, min(usual/10, given.Cap))
	return given
}

// wait parks until a load balancer is settled, at a pace learnt from the last ones.
func (a *Applier) wait(ctx context.Context, id string, k kind) (wait.Token, error) {
	pace := a.Pace(k.provider)
	given := map[operation]wait.Pace{creating: pace.Create, updating: pace.Update, deleting: pace.Delete}[k.operation]
	given.Pending = map[operation]string{
		creating: openstack.StatusPendingCreate, updating: openstack.StatusPendingUpdate, deleting: openstack.StatusPendingDelete,
	}[k.operation]
	began := a.Clock.Now()
	token, err := a.Watcher.Settled(ctx, id, a.experience.pace(k, given))
	if err == nil {
		a.experience.note(k, a.Clock.Since(began))
	}
	return token, err
}
