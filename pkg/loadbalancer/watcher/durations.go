package watcher

import (
	"cmp"
	"slices"
	"time"
)

// Operation is what a load balancer is waited for.
type Operation string

// What Octavia does with a load balancer. FailingOver ends with new virtual machines, as Creating does.
const (
	Creating    Operation = "create"
	Updating    Operation = "update"
	Deleting    Operation = "delete"
	FailingOver Operation = "failover"
)

// latest is the longest time until the first look, however long things took lately:
// they may be quicker again.
func (o Operation) latest() time.Duration {
	if o == Creating || o == FailingOver {
		return 45 * time.Second
	}
	return 10 * time.Second
}

// leeway is how much later than it is due one of many can be asked for, where the first look comes after
// a time. Virtual machines take so long that a fifteenth more is no matter; changes of nodes wait for
// each other.
func (o Operation) leeway(first time.Duration) time.Duration {
	if o == Creating || o == FailingOver {
		return first / 15
	}
	return 0
}

// Kind is what takes about the same time each time.
type Kind struct {
	Provider  string
	Operation Operation
}

// sample is how long something took: it was seen at work after a time, and was seen
// done after another.
type sample struct{ pending, done time.Duration }

// durations are how long operations took lately, the newest last.
type durations map[Kind][]sample

// samples is how many are kept of a kind.
const samples = 9

// observe adds how long something took.
func (d durations) observe(k Kind, s sample) {
	all := append(d[k], s)
	d[k] = all[max(0, len(all)-samples):]
}

// stillPending notes that one of a kind is still at work after a time. What was seen done last was so too
// then, as far as one tells of another: when it was looked at does not tell that as closely.
func (d durations) stillPending(k Kind, after time.Duration) {
	if all := d[k]; len(all) > 0 && after < quickest(all) {
		newest := &all[len(all)-1]
		newest.pending = max(newest.pending, after)
	}
}

// intervals makes the first poll come when the quickest of the last ones was nearly done, as
// far as that was seen: so few polls are in vain, and none is late because some load
// balancer was stuck. Where a first poll finds it done, the time of that is not known: the
// next one comes after half the time. It never comes sooner than with the intervals that
// are given; the second one does: halfway to when the quickest was seen done. Known is false, and the
// intervals are those that are given, before any of the kind was seen done.
func (d durations) intervals(given Pace) (pace Pace, known bool) {
	all := d[given.Kind]
	if len(all) == 0 {
		return given, false
	}
	nearly, done := nearlyDone(all, given.Kind.Operation.latest())
	first := max(given.First, nearly)
	given.First, given.Step = first, min(given.Step, max(given.Step/2, first/10), max((done-first)/2, first/30))
	return given, true
}

// nearlyDone returns the longest time after which something was seen at work that is
// shorter than any after which it was seen done, or than the latest; and the shortest of the
// times after which it was seen done.
func nearlyDone(all []sample, latest time.Duration) (nearly, done time.Duration) {
	quickest := min(quickest(all), latest)
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

// quickest returns the shortest of the times after which something was seen done.
func quickest(all []sample) time.Duration {
	return slices.MinFunc(all, func(a, b sample) int { return cmp.Compare(a.done, b.done) }).done
}

// usual returns how long something usually takes: the median of the last ones, or a
// guess before there was any.
func (d durations) usual(k Kind) time.Duration {
	all := slices.Clone(d[k])
	if len(all) == 0 {
		return map[Operation]time.Duration{Creating: 30 * time.Second, Updating: 3 * time.Second, Deleting: 5 * time.Second, FailingOver: time.Minute}[k.Operation]
	}
	slices.SortFunc(all, func(a, b sample) int { return int(a.done - b.done) })
	return all[len(all)/2].done
}
