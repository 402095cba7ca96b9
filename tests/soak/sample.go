package soak

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Sample is what there is at the end of an hour, and what was asked in it.
type Sample struct {
	// Heap is what is alive after a collection in the whole process, the simulator
	// included, in MiB. Goroutines are those of the whole process, too.
	Heap       float64
	Goroutines int
	// Connections are those to the cloud that are open.
	Connections int
	// Requests and Writes were sent in the hour, for Changes by users, to nodes included.
	Requests, Writes, Changes int
}

// String implements fmt.Stringer.
func (s Sample) String() string {
	return fmt.Sprintf("heap %.1f MiB, %d goroutines, %d connections, %d requests (%d writes) in the hour for %d changes",
		s.Heap, s.Goroutines, s.Connections, s.Requests, s.Writes, s.Changes)
}

// Life is one of a process of the controller: after which hour it ended, and how much of the
// heap, in MiB, and how many goroutines were gone with it.
type Life struct {
	Until      int
	Held       float64
	Goroutines int
}

// String implements fmt.Stringer.
func (l Life) String() string { return fmt.Sprintf("%.2f MiB and %d goroutines", l.Held, l.Goroutines) }

const mib = 1 << 20

// heap is what is alive, in MiB. What pools keep goes with the second collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mib
}

// sample takes one, after what the environment has kept of the hour is forgotten.
func (r *run) sample() {
	log := r.env.Cloud.RequestLog
	s := Sample{Requests: log.Len(), Writes: log.Total(requestlog.Writes()).Count, Changes: r.changes, Connections: r.env.Cloud.Connections()}
	r.changes = 0
	r.env.Forget()
	s.Heap, s.Goroutines = heap(), runtime.NumGoroutine()
	r.report.Samples = append(r.report.Samples, s)
}

// figure is one that has to be level: share and slack are how much more of it is nothing.
type figure struct {
	name         string
	share, slack float64
	of           func(Sample) float64
}

func figures() []figure {
	per := func(n, changes int) float64 { return float64(n) / float64(max(1, changes)) }
	return []figure{
		{"heap in MiB", 0.05, 0.3, func(s Sample) float64 { return s.Heap }},
		{"goroutines", 0.02, 20, func(s Sample) float64 { return float64(s.Goroutines) }},
		{"open connections", 0, 5, func(s Sample) float64 { return float64(s.Connections) }},
		{"requests for each change", 0.1, 2, func(s Sample) float64 { return per(s.Requests, s.Changes) }},
		{"writes for each change", 0.1, 1, func(s Sample) float64 { return per(s.Writes, s.Changes) }},
	}
}

// stretch is how many hours those are that are compared: a day, of less than three days a
// quarter. It is the second one and the last one.
func stretch(hours int) int {
	if hours < 3*24 {
		return hours / 4
	}
	return 24
}

// Growing returns what was more in the last day than in the second, each by its median, and
// what the last process still held when all Services were gone: the entries of a map that
// nothing removes are few beside those that are in use.
func (r Report) Growing() []string {
	day := stretch(len(r.Samples))
	if day == 0 {
		return []string{fmt.Sprintf("%d hours are too few to tell", len(r.Samples))}
	}
	var wrong []string
	for _, f := range figures() {
		early, late := median(r.Samples[day:2*day], f.of), median(r.Samples[len(r.Samples)-day:], f.of)
		if late > early*(1+f.share)+f.slack {
			wrong = append(wrong, fmt.Sprintf("%s: %.1f in hours %d to %d, %.1f in the last %d", f.name, early, day+1, 2*day, late, day))
		}
	}
	if old, fresh := r.EmptiedOld, r.EmptiedNew; old.Held > fresh.Held+heldSlack || old.Goroutines > r.Unused.Goroutines+goroutinesSlack {
		wrong = append(wrong, fmt.Sprintf("without Services: the last process held %s, a new one %s, one that never had any %s", old, fresh, r.Unused))
	}
	return wrong
}

// heldSlack is how many MiB more the last process may hold without Services than one that had
// as many: a map keeps the room that it once had, after many deletions twice that.
// goroutinesSlack allows for a connection that is still open, which has three.
const heldSlack, goroutinesSlack = 0.15, 5

// Requests are those of all hours.
func (r Report) Requests() int {
	sum := 0
	for _, s := range r.Samples {
		sum += s.Requests
	}
	return sum
}

func median(samples []Sample, of func(Sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
