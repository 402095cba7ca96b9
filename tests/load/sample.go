package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// sample has the figures of the controller at one time.
type sample struct {
	// At is in seconds since the first sample.
	At float64 `json:"at_s"`
	// RSS is its memory; CPU is in processors, since the previous sample.
	RSS float64 `json:"rss_mib"`
	CPU float64 `json:"cpu"`
	// Heap, Goroutines and Requests, which are per second, are its own metrics. Not every sample
	// has new values.
	Heap       float64 `json:"heap_mib"`
	Goroutines int     `json:"goroutines"`
	Requests   float64 `json:"requests_per_s"`
}

// mark has the beginning and the end of a phase, in seconds since the first sample.
type mark struct {
	Name string  `json:"name"`
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
}

// sampler takes samples until its context ends.
type sampler struct {
	env   *environment
	begin time.Time

	mutex   sync.Mutex
	samples []sample
	marks   []mark

	// of the previous sample
	pid      int
	cpu      time.Duration
	at       time.Time
	requests float64
	readAt   time.Time
}

// metricsEvery is the number of samples per reading of metrics, which cost the controller some
// milliseconds: they are read twice as often as Prometheus does by default.
const metricsEvery = 30

// startSampler takes samples until stop is called.
func startSampler(ctx context.Context, w *environment, pause time.Duration) (s *sampler, stop func()) {
	s = &sampler{env: w, begin: time.Now()}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for i := 0; ; i++ {
			s.take(ctx, i%metricsEvery == 0)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return s, func() { cancel(); running.Wait() }
}

// take adds a sample. There is none while a controller is being restarted.
func (s *sampler) take(ctx context.Context, metrics bool) {
	running := s.env.ccm.Load()
	usage, err := process.UsageOf(running.PID())
	if err != nil || usage.RSS == 0 {
		return
	}
	now := time.Now()
	next := s.last()
	next.At, next.RSS, next.CPU = rounded(now.Sub(s.begin).Seconds()), rounded(float64(usage.RSS)/mib), 0
	again := running.PID() != s.pid
	if elapsed := now.Sub(s.at); !again && elapsed > 0 {
		next.CPU = rounded((usage.CPU - s.cpu).Seconds() / elapsed.Seconds())
	}
	s.pid, s.cpu, s.at = running.PID(), usage.CPU, now
	if metrics {
		s.ask(ctx, &next, again)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.samples = append(s.samples, next)
}

// ask reads the controller's own metrics. If it does not answer in time, the sample repeats the
// previous values.
func (s *sampler) ask(ctx context.Context, next *sample, again bool) {
	found, err := s.env.metrics(ctx)
	if err != nil {
		return
	}
	now := time.Now()
	next.Heap, next.Goroutines = rounded(found.heap), found.goroutines
	if elapsed := now.Sub(s.readAt).Seconds(); !again && found.requests >= s.requests && elapsed > 0 {
		next.Requests = rounded((found.requests - s.requests) / elapsed)
	}
	s.requests, s.readAt = found.requests, now
}

func (s *sampler) last() sample {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.samples) == 0 {
		return sample{}
	}
	return s.samples[len(s.samples)-1]
}

// mark records a phase that ends now.
func (s *sampler) mark(name string, began time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.marks = append(s.marks, mark{Name: name, From: rounded(began.Sub(s.begin).Seconds()), To: rounded(time.Since(s.begin).Seconds())})
}

// series returns all samples and marks so far.
func (s *sampler) series() ([]sample, []mark) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.samples, s.marks
}

// ownMetrics has the controller's own metrics.
type ownMetrics struct {
	heap       float64 // in MiB
	goroutines int
	requests   float64 // to the cloud, since the start
}

func (w *environment) metrics(ctx context.Context) (ownMetrics, error) {
	counts, err := w.ccm.Load().Metrics(ctx)
	if err != nil {
		return ownMetrics{}, err
	}
	sum := func(name string) float64 {
		total := 0.0
		for _, sample := range counts[name] {
			total += float64(sample.Value)
		}
		return total
	}
	return ownMetrics{
		heap: sum("go_memstats_heap_alloc_bytes") / mib, goroutines: int(sum("go_goroutines")),
		requests: sum("openstack_api_requests_total"),
	}, nil
}

// machineTime returns the busy time and the total time of this machine's processors since its
// start; zero if the system does not report them.
func machineTime() (worked, could float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	const idle, wait = 3, 4
	for i, field := range strings.Fields(strings.TrimPrefix(first, "cpu")) {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0
		}
		could += ticks
		if i != idle && i != wait {
			worked += ticks
		}
	}
	return worked, could
}
