package apply

import (
	"slices"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
)

// operation is what a load balancer is waited for.
type operation string

const (
	creating operation = "create"
	updating operation = "update"
	deleting operation = "delete"
	// failingOver ends with new virtual machines, as creating does.
	failingOver operation = "failover"
)

// latest is the longest time until the first look, however long things took lately:
// they may be quicker again.
func (o operation) latest() time.Duration {
	if o == creating || o == failingOver {
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

// durations are how long operations took lately. Its zero value is ready.
type durations struct {
	mu     sync.Mutex
	lately map[kind][]sample // the newest last
}

// samples is how many are kept of a kind.
const samples = 9

// observe adds how long something took.
func (d *durations) observe(k kind, s sample) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lately == nil {
		d.lately = map[kind][]sample{}
	}
	all := append(d.lately[k], s)
	d.lately[k] = all[max(0, len(all)-samples):]
}

// intervals makes the first poll come when the quickest of the last ones was nearly done, as
// far as that was seen: so few polls are in vain, and none is late because some load
// balancer was stuck. Where a first poll finds it done, the time of that is not known: the
// next one comes after half the time. It never comes sooner than with the intervals that
// are given; the second one does: halfway to when the quickest was seen done.
func (d *durations) intervals(k kind, given watcher.Pace) watcher.Pace {
	d.mu.Lock()
	defer d.mu.Unlock()
	if all := d.lately[k]; len(all) > 0 {
		nearly, done := nearlyDone(all, k.operation.latest())
		first := max(given.First, nearly)
		given.First, given.Step = first, min(given.Step, max(given.Step/2, first/10), max((done-first)/2, first/30))
	}
	return given
}

// nearlyDone returns the longest time after which something was seen at work that is
// shorter than any after which it was seen done, or than the latest; and the shortest of the
// times after which it was seen done.
func nearlyDone(all []sample, latest time.Duration) (nearly, done time.Duration) {
	quickest := latest
	for _, s := range all {
		quickest = min(quickest, s.done)
	}
	newest := all[len(all)-1]
	if newest.pending == 0 {
		return min(newest.done, latest) / 2, newest.done
	}
	for _, s := range all {
		if s.pending < quickest {
			nearly = max(nearly, s.pending)
		}
	}
	return max(nearly, quickest/2), quickest
}

// estimate returns how long something usually takes: the median of the last ones, or a
// guess before there was any.
func (d *durations) estimate(k kind) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.lately[k])
	if len(all) == 0 {
		return map[operation]time.Duration{creating: 30 * time.Second, updating: 3 * time.Second, deleting: 5 * time.Second, failingOver: time.Minute}[k.operation]
	}
	slices.SortFunc(all, func(a, b sample) int { return int(a.done - b.done) })
	return all[len(all)/2].done
}

// EstimateCreation returns how long the creation of a load balancer usually takes once
// Octavia has accepted it.
func (a *Applier) EstimateCreation(provider string) time.Duration {
	return a.durations.estimate(kind{provider, creating})
}

// EstimateChange returns how long a change of one part of a load balancer usually takes.
func (a *Applier) EstimateChange(provider string) time.Duration {
	return a.durations.estimate(kind{provider, updating})
}

// EstimateDeletion returns how long a deletion usually takes.
func (a *Applier) EstimateDeletion() time.Duration {
	return a.durations.estimate(kind{operation: deleting})
}
