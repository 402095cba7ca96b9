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
// heap was gone with it, in MiB.
type Life struct {
	Until int
	Held  float64
}

const mib = 1 << 20

// heap is what is alive, in MiB. What pools keep goes with the second collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mib
}

// sample takes one, after what the world has kept of the hour is forgotten.
func (r *run) sample() {
	log := r.w.Cloud.RequestLog
	s := Sample{Requests: log.Len(), Writes: log.Total(requestlog.Writes()).Count, Changes: r.changes, Connections: r.w.Cloud.Connections()}
	r.changes = 0
	r.w.Forget()
	s.Heap, s.Goroutines = heap(), runtime.NumGoroutine()
	r.report.Samples = append(r.report.Samples, s)
}

// figure is one that has to be level. The slack is how much more of it is nothing, beside a
// tenth.
type figure struct {
	name  string
	slack float64
	of    func(Sample) float64
}

func figures() []figure {
	per := func(n, changes int) float64 { return float64(n) / float64(max(1, changes)) }
	return []figure{
		{"heap in MiB", 1, func(s Sample) float64 { return s.Heap }},
		{"goroutines", 20, func(s Sample) float64 { return float64(s.Goroutines) }},
		{"open connections", 5, func(s Sample) float64 { return float64(s.Connections) }},
		{"requests for each change", 2, func(s Sample) float64 { return per(s.Requests, s.Changes) }},
		{"writes for each change", 1, func(s Sample) float64 { return per(s.Writes, s.Changes) }},
	}
}

// Growing returns what was more in the last day than in the second, each by its median: more
// than a tenth and a small constant. Of less than three days it compares the second quarter
// with the last.
func (r Report) Growing() []string {
	day := 24
	if len(r.Samples) < 3*day {
		day = len(r.Samples) / 4
	}
	if day == 0 {
		return []string{fmt.Sprintf("%d hours are too few to tell", len(r.Samples))}
	}
	var wrong []string
	for _, f := range figures() {
		early, late := median(r.Samples[day:2*day], f.of), median(r.Samples[len(r.Samples)-day:], f.of)
		if late > early*1.1+f.slack {
			wrong = append(wrong, fmt.Sprintf("%s: %.1f in hours %d to %d, %.1f in the last %d", f.name, early, day+1, 2*day, late, day))
		}
	}
	return wrong
}

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
