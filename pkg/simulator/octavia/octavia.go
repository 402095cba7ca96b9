// Package octavia is a stateful Octavia that speaks the v2 wire API of a
// chosen release: the same fields and nulls, error texts, locks, state
// machine and known bugs, with amphora, ovn and no-op providers whose work
// takes as long as the test says.
package octavia

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Provider names that the simulator knows.
const (
	ProviderAmphora = "amphora"
	ProviderAlias   = "octavia" // the old name of amphora, kept as given on the load balancer
	ProviderOVN     = "ovn"
	ProviderNoop    = "noop_driver" // makes up VIPs without asking Neutron, as Octavia's own test driver does
)

// Delays says how long a provider works on each kind of request. Zero means
// that the work is done by the time of the next request.
type Delays struct {
	// Create is the time from POST loadbalancers to ACTIVE.
	Create time.Duration
	// Update is the time that any change of an existing load balancer or one
	// of its children takes.
	Update time.Duration
	// Delete is the time from DELETE loadbalancers to 404.
	Delete time.Duration
	// Children is what the children of a full create take longer than the
	// load balancer itself. Only ovn reports the load balancer ACTIVE first.
	Children time.Duration
}

// Quirks are defects of real deployments that a test can switch on.
type Quirks struct {
	// ChildrenStayPending leaves all children of a full create in
	// PENDING_CREATE under an ACTIVE load balancer for ever, as some builds of
	// Octavia 11.0 do.
	ChildrenStayPending bool
	// MonitorsStayPending does so with the health monitors alone, as recorded
	// from Octavia 11.0 with ovn.
	MonitorsStayPending bool
	// AllowedCIDRsFail answers 500 to every full create with allowed_cidrs
	// (12.0.0, 13.0.0, 14.0.0).
	AllowedCIDRsFail bool
	// SecondResolution cuts created_at and updated_at to whole seconds, as
	// MySQL stores them.
	SecondResolution bool
}

// Options configures New. The zero value is a 2026.1 Octavia on the real
// clock with amphora and ovn, whose work takes no time, without Neutron.
type Options struct {
	// Release is a key of Releases, "2026.1" when empty.
	Release string
	// Providers are the enabled ones, the first being the default. Nil means
	// amphora, octavia and ovn.
	Providers []string
	// Delays by provider name; the entry "" applies to all others.
	Delays map[string]Delays
	Quirks Quirks
	// Quota by class ("loadbalancer", "listener", "pool", "member",
	// "healthmonitor") for each project; absent means unlimited.
	Quota map[string]int
	// Clock drives all delays and timestamps; nil means the real one.
	Clock clock.WithDelayedExecution
	// Network makes and removes VIP ports. It may be nil when every load
	// balancer has provider noop_driver.
	Network Network
	// OnPending is told each time that a load balancer enters a PENDING
	// state. It is called with the lock held and must not call back.
	OnPending func(loadBalancerID string)
	// PageLimit is pagination_max_limit: 1000 when 0.
	PageLimit int
}

// Octavia is the service. Its methods are safe for concurrent use.
type Octavia struct {
	options Options
	release Release
	clock   clock.WithDelayedExecution

	mu          sync.Mutex
	balancers   []*LoadBalancer // in order of creation
	jobs        []job
	failures    map[Operation]int // still to come
	sequence    int
	dirty       bool // something changed since the subscribers were last told
	closed      bool
	timers      map[int]clock.Timer
	subscribers map[int]func()
	wakes       sync.WaitGroup
}

// New returns an empty Octavia. It panics when the release is unknown, since
// that is a mistake in the test that asks for it.
func New(options Options) *Octavia {
	if options.Release == "" {
		options.Release = "2026.1"
	}
	release, known := Releases()[options.Release]
	if !known {
		panic("octavia: unknown release " + options.Release)
	}
	if options.Providers == nil {
		options.Providers = []string{ProviderAmphora, ProviderAlias, ProviderOVN}
	}
	if options.PageLimit == 0 {
		options.PageLimit = 1000
	}
	o := &Octavia{
		options:     options,
		release:     release,
		clock:       options.Clock,
		failures:    map[Operation]int{},
		timers:      map[int]clock.Timer{},
		subscribers: map[int]func(){},
	}
	if o.clock == nil {
		o.clock = clock.RealClock{}
	}
	return o
}

// Close stops the timers of unfinished work and waits for those that are
// just firing. Nothing settles by itself afterwards.
func (o *Octavia) Close() {
	o.mu.Lock()
	o.closed = true
	for key, timer := range o.timers {
		if timer.Stop() {
			o.wakes.Done()
		}
		delete(o.timers, key)
	}
	o.mu.Unlock()
	o.wakes.Wait()
}

// Subscribe calls f after every change, whether a request or finished work
// caused it, until cancel is called. f runs without locks held and may call
// any method.
func (o *Octavia) Subscribe(f func()) (cancel func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sequence++
	key := o.sequence
	o.subscribers[key] = f
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.subscribers, key)
	}
}

// locked settles what is due, runs f with the lock held, settles again and
// then tells the subscribers if anything changed.
func (o *Octavia) locked(f func()) {
	o.mu.Lock()
	o.settle()
	f()
	notify := o.notifications()
	o.mu.Unlock()
	for _, call := range notify {
		call()
	}
}

func (o *Octavia) notifications() []func() {
	if !o.dirty {
		return nil
	}
	o.dirty = false
	calls := make([]func(), 0, len(o.subscribers))
	for _, call := range o.subscribers {
		calls = append(calls, call)
	}
	return calls
}

func (o *Octavia) now() time.Time {
	now := o.clock.Now().UTC()
	if o.options.Quirks.SecondResolution {
		return now.Truncate(time.Second)
	}
	return now.Truncate(time.Microsecond)
}
