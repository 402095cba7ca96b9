package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// operation is what a cloud is waited for.
type operation string

const (
	creating operation = "create"
	updating operation = "update"
	deleting operation = "delete"
)

// latest is the longest time until the first look, however long things took lately:
// they may be quicker again.
func (o operation) latest() time.Duration {
	if o == creating {
		return 45 * time.Second
	}
	return 10 * time.Second
}

// kind is what takes about the same time each time.
type kind struct {
	provider  string
	operation operation
}

// sample is how long something took: it was seen at work after a time, and was seen
// done after another.
type sample struct{ pending, done time.Duration }

// experience is how long things took lately. Its zero value is ready.
type experience struct {
	mu     sync.Mutex
	lately map[kind][]sample // the newest last
}

// samples is how many are kept of a kind.
const samples = 9

// note adds how long something took.
func (e *experience) note(k kind, s sample) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lately == nil {
		e.lately = map[kind][]sample{}
	}
	all := append(e.lately[k], s)
	e.lately[k] = all[max(0, len(all)-samples):]
}

// pace makes the first look come when the quickest of the last ones was nearly done, as
// far as that was seen: so few looks are in vain, and none is late because some load
// balancer was stuck. When a first look finds it done, when that was nobody knows: the
// next one comes after half the time. It never comes sooner than with the pace that is
// given; the second one does, as it may be near.
func (e *experience) pace(k kind, given watcher.Pace) watcher.Pace {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all := e.lately[k]; len(all) > 0 {
		first := max(given.First, nearlyDone(all, k.operation.latest()))
		given.First, given.Step = first, min(given.Step, max(given.Step/2, first/10))
	}
	return given
}

// nearlyDone gives the longest time after which something was seen at work that is
// shorter than any after which it was seen done, or than the latest.
func nearlyDone(all []sample, latest time.Duration) time.Duration {
	quickest := latest
	for _, s := range all {
		quickest = min(quickest, s.done)
	}
	newest, nearly := all[len(all)-1], time.Duration(0)
	if newest.pending == 0 {
		return min(newest.done, latest) / 2
	}
	for _, s := range all {
		if s.pending < quickest {
			nearly = max(nearly, s.pending)
		}
	}
	return max(nearly, quickest/2)
}

// expect gives how long something usually takes, or a guess before it was seen.
func (e *experience) expect(k kind) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Clone(e.lately[k])
	if len(all) == 0 {
		return map[operation]time.Duration{creating: 30 * time.Second, updating: 3 * time.Second, deleting: 5 * time.Second}[k.operation]
	}
	slices.SortFunc(all, func(a, b sample) int { return int(a.done - b.done) })
	return all[len(all)/2].done
}

// wait parks until a load balancer is settled, at a pace that follows from the last
// ones.
func (a *Applier) wait(ctx context.Context, id string, k kind) (watcher.Token, error) {
	timing := a.Drivers.Timing(k.provider)
	given := watcher.Every(map[operation]driver.PollInterval{creating: timing.Create, updating: timing.Update, deleting: timing.Delete}[k.operation])
	given.Pending = map[operation]string{
		creating: octavia.StatusPendingCreate, updating: octavia.StatusPendingUpdate, deleting: octavia.StatusPendingDelete,
	}[k.operation]
	began := a.Clock.Now()
	token, err := a.Watcher.Settled(ctx, id, a.experience.pace(k, given))
	if err == nil && !token.Status.Failed() {
		s := sample{done: a.Clock.Since(began)}
		if !token.PendingAt.IsZero() {
			s.pending = token.PendingAt.Sub(began)
		}
		a.experience.note(k, s)
	}
	return token, err
}
