package soak

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// Sample has the state at the end of an hour, and the requests of that hour.
type Sample struct {
	// Heap is the live heap of the whole process after a collection, including the simulator, in
	// MiB. Goroutines are those of the whole process, too.
	Heap       float64
	Goroutines int
	// Connections is the number of open connections to the cloud.
	Connections int
	// Requests and Writes were sent in the hour, for Changes by users, including changes of nodes.
	Requests, Writes, Changes int
}

// String implements fmt.Stringer.
func (s Sample) String() string {
	return fmt.Sprintf("heap %.1f MiB, %d goroutines, %d connections, %d requests (%d writes) in the hour for %d changes",
		s.Heap, s.Goroutines, s.Connections, s.Requests, s.Writes, s.Changes)
}

// Life describes a process of the controller: the hour at which it ended, and the heap, in MiB, and
// the goroutines that its end released.
type Life struct {
	Until      int
	Held       float64
	Goroutines int
}

// String implements fmt.Stringer.
func (l Life) String() string { return fmt.Sprintf("%.2f MiB and %d goroutines", l.Held, l.Goroutines) }

const mib = 1 << 20

// heap returns the live heap in MiB. Pools are emptied by the second collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mib
}

// sample takes a sample, after the environment has dropped its logs of the hour.
func (r *run) sample() {
	log := r.env.Cloud.RequestLog
	s := Sample{Requests: log.Len(), Writes: log.Total(requestlog.Writes()).Count, Changes: r.changes, Connections: r.env.Cloud.Connections()}
	r.changes = 0
	r.env.Forget()
	s.Heap, s.Goroutines = heap(), runtime.NumGoroutine()
	r.report.Samples = append(r.report.Samples, s)
}

// figure is one that must not grow: share and slack are the tolerated growth.
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

// stretch is the length in hours of the two compared periods: a day, or a quarter of less than
// three days. They are the second one and the last one.
func stretch(hours int) int {
	if hours < 3*24 {
		return hours / 4
	}
	return 24
}

// Growing returns the figures that were higher in the last day than in the second, each by its
// median, and the memory that the last process still held without Services: the entries of a map
// that are never removed are few next to those in use.
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

// heldSlack is the tolerated difference, in MiB, between the last process without Services and one
// that had as many: a map keeps its former size, after many deletions twice that. goroutinesSlack
// allows for an open connection, which has three.
const heldSlack, goroutinesSlack = 0.15, 5

// Requests is the sum over all hours.
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
