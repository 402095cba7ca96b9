// Package octavia is the load balancer service of the simulated cloud. It implements the v2 API of
// a selected release with the same fields and nulls, error texts, locks, state machine and known
// bugs. It has amphora, ovn and no-op providers; the test sets the duration of their work.
package octavia

import (
	"errors"
	"fmt"
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

// Delays has the duration of a provider's work for each kind of request. Zero means
// that the work has ended before the next request.
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
	// Members is what each member of a batch takes after the first. Only ovn works on them
	// one by one (ovn-octavia-provider 3.0), and reports load balancer, pool and listeners
	// ACTIVE with each. With Quirks.QueuedOVN it is what each item of the queue takes for
	// the load balancer, and again for each pool and listener of it.
	Members time.Duration
}

// Quirks are defects of real deployments that a test can switch on.
type Quirks struct {
	// ChildrenStayPending leaves all children of a full create in
	// PENDING_CREATE under an ACTIVE load balancer for ever, as some builds of
	// Octavia 11.0 do.
	ChildrenStayPending bool
	// MonitorsStayPending does so with the health monitors alone, of every
	// provider.
	MonitorsStayPending bool
	// AllowedCIDRsFail answers 500 to every full create with allowed_cidrs
	// (12.0.0, 13.0.0, 14.0.0).
	AllowedCIDRsFail bool
	// OldOVN makes the provider ovn the driver of Zed (ovn-octavia-provider 3.0):
	// monitors of a full create stay PENDING_CREATE; a new, changed or deleted
	// monitor, and a changed pool, leave listeners in PENDING_UPDATE until they
	// are changed; a listener made beside a monitor of its protocol, and a change
	// of a monitor that a full create brought, leave the load balancer in
	// PENDING_UPDATE for ever; additional VIPs are not made. It is on in the
	// release zed unless OVNWorks.
	OldOVN bool
	// OVNWorks switches that, and QueuedOVN, off also where the release has it.
	OVNWorks bool
	// QueuedOVN makes the provider ovn the driver of 2025.1 (ovn-octavia-provider 8.0),
	// which works on members one by one and reports what it has not done yet as ACTIVE:
	// ovn_queue.go has what it does. It is on in the release 2025.1 unless OVNWorks.
	QueuedOVN bool
	// SecondResolution cuts created_at and updated_at to whole seconds, as
	// MySQL stores them.
	SecondResolution bool
}

// Options configures New. The zero value is a 2026.1 Octavia on the real
// clock with amphora and ovn, both without delays, and without Neutron.
type Options struct {
	// Release is a key of Releases, "2026.1" when empty.
	Release string
	// Providers are the enabled ones, the first being the default. Nil means
	// amphora, octavia and ovn.
	Providers []string
	// Delays by provider name; the entry "" applies to all others.
	Delays map[string]Delays
	Quirks Quirks
	// APIProcesses is how many processes Octavia's API has; 1 when 0. With Quirks.QueuedOVN
	// each of them has a queue.
	APIProcesses int
	// Descriptions of the providers by name; absent ones have a usual text.
	Descriptions map[string]string
	// Vendors are what providers can do that are neither amphora nor ovn, by
	// name. An enabled provider of another name can do everything.
	Vendors map[string]Vendor
	// Quota by class ("loadbalancer", "listener", "pool", "member",
	// "healthmonitor", "l7policy", "l7rule") for each project that has no quota
	// of its own; absent or negative means unlimited.
	Quota map[string]int
	// VIPPortDelay is how long Neutron takes to make a VIP port. Meanwhile the
	// project's quota row is locked: no other object of the project can be
	// created.
	VIPPortDelay time.Duration
	// ProjectLockTimeout is how long a create waits for that lock before it is
	// refused with 503; 50 seconds when 0, as InnoDB's lock wait timeout.
	ProjectLockTimeout time.Duration
	// Timeouts are those that the operator has configured for listeners, in
	// milliseconds; nil means Octavia's own.
	Timeouts *Timeouts
	// Certificates returns an error if a TLS container cannot be read, and ErrUnreadableBundle if it can,
	// but is no bundle; nil means that all are good.
	Certificates func(ref string) error
	// Statistics counts the traffic of a listener; nil means none.
	Statistics func(listenerID string) Statistics
	// NewID makes the ID of an object of a kind ("loadbalancer", "listener",
	// "port" …) from what its caller gave for it, or returns "" to have one made
	// up; nil always does.
	NewID func(kind string, given map[string]any) string
	// Clock drives all delays and timestamps; nil means the real one.
	Clock clock.WithDelayedExecution
	// Network makes and removes VIP ports. It may be nil when every load
	// balancer has provider noop_driver.
	Network Network
	// OnPending is called each time that a load balancer enters a PENDING
	// state. It is called with the lock held and must not call methods of Octavia.
	OnPending func(loadBalancerID string)
	// PageLimit is pagination_max_limit: 1000 when 0, UnlimitedPages for -1.
	PageLimit int
}

// UnlimitedPages is the pagination_max_limit -1. Lists are not cut then, and
// their links lead nowhere.
const UnlimitedPages = -1

// Statistics is the traffic of a listener.
type Statistics struct {
	BytesIn, BytesOut, ActiveConnections, TotalConnections, RequestErrors int64
}

// Octavia is the service. Its methods are safe for concurrent use.
type Octavia struct {
	options Options
	release Release
	clock   clock.WithDelayedExecution

	mu         sync.RWMutex
	balancers  []*LoadBalancer // in order of creation
	index      map[string]entry
	catalogue  catalogue
	quotas     map[string]map[string]int // by project and class
	quotaOrder []string                  // projects, in order of their first quota
	tables     map[string]*table
	jobs       jobs
	failures   map[Operation]int // still to come
	// removedTwice are IDs of members that were removed again during their removal.
	removedTwice []string
	// openFailover: see OpenFailover.
	openFailover bool
	sequence     int
	idle         []time.Time // by process of the API: when its queue is done
	requests     int         // that went into a queue
	finished     time.Time   // when the last work of a provider ended
	dirty        bool        // something changed since the subscribers were last notified
	closed       bool
	timers       map[int]clock.Timer
	subscribers  map[int]func()
	wakes        sync.WaitGroup

	rows rowLocks
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
		index:       map[string]entry{},
		quotas:      map[string]map[string]int{},
		tables:      release.tables(),
		failures:    map[Operation]int{},
		timers:      map[int]clock.Timer{},
		subscribers: map[int]func(){},
	}
	if o.clock == nil {
		o.clock = clock.RealClock{}
	}
	if release.OldOVN && !options.Quirks.OVNWorks {
		o.options.Quirks.OldOVN = true
	}
	if release.QueuedOVN && !options.Quirks.OVNWorks {
		o.options.Quirks.QueuedOVN = true
	}
	o.idle = make([]time.Time, max(1, options.APIProcesses))
	return o
}

// CheckRelease finds out whether New knows a release.
func CheckRelease(name string) error {
	if _, known := Releases()[name]; !known && name != "" {
		return fmt.Errorf("%w: %q", ErrUnknownRelease, name)
	}
	return nil
}

// ErrUnknownRelease is about a release that Releases does not have.
var ErrUnknownRelease = errors.New("the release is unknown to the simulated Octavia")

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

// locked finishes due work, runs f with the lock held, finishes due work again, and then
// notifies the subscribers of any change.
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

// reading runs f, which changes nothing, concurrently with other readers. Due work is
// finished before.
func (o *Octavia) reading(f func()) {
	o.mu.RLock()
	due := o.jobs.due(o.clock.Now())
	o.mu.RUnlock()
	if due {
		o.Settle()
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	f()
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
