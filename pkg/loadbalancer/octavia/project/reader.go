package project

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	observe.Octavia
	AllListeners(ctx context.Context) ([]octavia.Listener, error)
	AllMonitors(ctx context.Context) ([]octavia.HealthMonitor, error)
}

// Reader reads the project. Concurrent callers share one read.
type Reader struct {
	octavia Octavia
	neutron observe.Neutron
	clock   clock.WithDelayedExecution

	snapshots   async.Recent[*Snapshot]
	lists       async.Recent[*Lists]
	floatingIPs async.Flight[*FloatingIPs]

	mu               sync.Mutex
	firstFloatingIPs *FloatingIPs
}

// New returns a Reader.
func New(octaviaAPI Octavia, neutronAPI observe.Neutron, clk clock.WithDelayedExecution) *Reader {
	return &Reader{octavia: octaviaAPI, neutron: neutronAPI, clock: clk}
}

// Snapshot returns a snapshot up to a maximum age, and takes one if necessary.
func (r *Reader) Snapshot(ctx context.Context, age time.Duration) (*Snapshot, error) {
	return r.snapshots.Get(ctx, r.clock, age, r.take)
}

// Last returns the last snapshot, nil before the first.
func (r *Reader) Last() *Snapshot { return r.snapshots.Last() }

// Lists returns Lists up to a maximum age, and reads them if necessary. They are kept only for that
// age: after a takeover the process does not need their memory.
func (r *Reader) Lists(ctx context.Context, age time.Duration) (*Lists, error) {
	return r.lists.Get(ctx, r.clock, age, func(ctx context.Context, began time.Time) (*Lists, error) {
		lists, err := r.list(ctx, began)
		if err == nil {
			r.clock.AfterFunc(age, func() { r.lists.Drop(began) })
		}
		return lists, err
	})
}

// FirstFloatingIPs returns the floating IPs of the first snapshot of this process, or, if there is
// none yet, those of the first call.
func (r *Reader) FirstFloatingIPs(ctx context.Context) (*FloatingIPs, error) {
	r.mu.Lock()
	first := r.firstFloatingIPs
	r.mu.Unlock()
	if first != nil {
		return first, nil
	}
	return r.floatingIPs.Do(ctx, "", func(ctx context.Context) (*FloatingIPs, error) {
		all, err := r.listFloatingIPs(ctx)
		if err != nil {
			return nil, err
		}
		return r.keepFirst(all), nil
	})
}

// keepFirst keeps floating IPs unless there are earlier ones, and returns those that are kept.
func (r *Reader) keepFirst(all []FloatingIP) *FloatingIPs {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.firstFloatingIPs == nil {
		r.firstFloatingIPs = newFloatingIPs(all)
	}
	return r.firstFloatingIPs
}

// Wait returns when no shared read is pending. One continues after its callers have gone.
func (r *Reader) Wait() {
	r.snapshots.Wait()
	r.lists.Wait()
	r.floatingIPs.Wait()
}
