package watcher

import (
	"cmp"
	"slices"
	"time"
)

// Operation is the operation that a wait is for.
type Operation string

// The operations of Octavia. Like Creating, FailingOver creates virtual machines.
const (
	Creating    Operation = "create"
	Updating    Operation = "update"
	Deleting    Operation = "delete"
	FailingOver Operation = "failover"
	// ChangingMembers is a change of the members of a pool until the driver has finished all of it, perhaps after
	// the load balancer is ACTIVE. The watcher does not wait for it: see Record.
	ChangingMembers Operation = "members"
)

// latest is the longest time before the first poll, even if recent operations took longer: later
// ones may be faster.
func (o Operation) latest() time.Duration {
	if o == Creating || o == FailingOver {
		return 45 * time.Second
	}
	return 10 * time.Second
}

// leeway is how late one of many may be polled, given the time of its first poll. Operations with
// virtual machines take so long that a fifteenth more does not matter; changes of nodes wait for
// each other.
func (o Operation) leeway(first time.Duration) time.Duration {
	if o == Creating || o == FailingOver {
		return first / 15
	}
	return 0
}

// Kind is a kind of operation with a typical duration.
type Kind struct {
	Provider  string
	Operation Operation
}

// sample is an observed duration: the last time at which the operation was pending, and the first
// at which it was done.
type sample struct{ pending, done time.Duration }

// durations are the recent durations of operations, the newest last.
type durations map[Kind][]sample

// samples is the number of durations kept for each kind.
const samples = 9

// observe adds a duration.
func (d durations) observe(k Kind, s sample) {
	all := append(d[k], s)
	d[k] = all[max(0, len(all)-samples):]
}

// median returns the time of the middle of the recent operations of a kind, false if there was none.
func (d durations) median(k Kind) (time.Duration, bool) {
	all := slices.SortedFunc(slices.Values(d[k]), func(a, b sample) int { return cmp.Compare(a.done, b.done) })
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)/2].done, true
}

// intervals returns the pace for a kind. The first poll comes shortly before the fastest recent
// operation was done, as far as that was observed: so few polls are wasted, and one stuck load
// balancer delays none. If a first poll finds an operation done, its duration is unknown, and the
// next first poll comes after half the time. The first poll is never earlier than in given; the
// second may be: halfway to the fastest duration. known is false, and the pace is given, until an
// operation of the kind was observed.
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

// nearlyDone returns the longest time at which an operation was pending that is shorter than all
// times at which one was done, and than latest; and the shortest time at which one was done.
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

// quickest returns the shortest time at which an operation was done.
func quickest(all []sample) time.Duration {
	return slices.MinFunc(all, func(a, b sample) int { return cmp.Compare(a.done, b.done) }).done
}
