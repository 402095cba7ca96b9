package reading

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Reader reads the load balancers of Services. It has no state of its own.
type Reader struct {
	Octavia  Octavia
	Observer *observe.Observer
	Watcher  *watcher.Watcher
	Settler  Settler
	Drivers  *driver.Registry
	// Locks are of load balancers, which Services share.
	Locks *async.Locks
	Clock clock.WithTickerAndDelayedExecution
}

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error)
}

// Settler waits for PENDING children.
type Settler interface {
	Settle(ctx context.Context, s *apply.Settling) (*model.LoadBalancer, error)
}

// Scope selects the contents to read. The zero value reads all, and waits for a load balancer with
// a batch in progress.
type Scope struct {
	// Leaving reads only the contents that a deletion needs. With Cascade, a deletion as a whole, those
	// are foreign parts; Known are the known contents, nil for none.
	Leaving, Cascade bool
	Known            *model.LoadBalancer
}

// Search is the progress of Read between two calls. The zero value starts.
type Search struct {
	found *observe.Found
	// locked is set once the load balancer is locked, and confirmed to be as found.
	waited, locked bool
	serving        Progress
	replaced       Progress
}

// Result has the load balancers of a Service, without floating IPs.
type Result struct {
	*model.Observed
	// As is the Service's identity on the load balancer.
	As ownership.Identity
	// ID is the first load balancer that was found; "" for none.
	ID string
}

// Read finds the load balancers of a Service, locks the one that serves it, and reads its contents
// once it is not PENDING.
func (r Reader) Read(ctx context.Context, id ownership.Identity, hints observe.Hints, scope Scope, lock *async.Guard, at *Search) (Result, error) {
	result, err := r.read(ctx, id, hints, scope, lock, at)
	if !async.IsWaiting(err) {
		*at = Search{}
	}
	return result, err
}

func (r Reader) read(ctx context.Context, id ownership.Identity, hints observe.Hints, scope Scope, lock *async.Guard, at *Search) (Result, error) {
	nothing := Result{Observed: &model.Observed{}, As: id}
	if at.found == nil {
		found, err := r.Observer.Find(ctx, id, hints)
		if err != nil {
			return Result{}, err
		}
		at.found = &found
	}
	found, all := at.found, at.found.LoadBalancers
	if len(all) == 0 {
		return nothing, nil
	}
	switch there, err := r.lock(ctx, lock, at); {
	case err != nil:
		return Result{}, err
	case !there:
		return nothing, nil
	}
	observed, err := r.Contents(ctx, observe.Found{LoadBalancers: all[:1], As: found.As}, scope, &at.serving)
	if err != nil {
		return Result{}, err
	}
	rest := all[1:]
	if found.Replaces {
		if observed, err = r.readReplaced(ctx, observe.Found{LoadBalancers: rest[:1], As: found.As}, scope, &at.replaced, *observed); err != nil {
			return Result{}, err
		}
		rest = rest[1:]
	}
	if err := r.readDuplicates(ctx, id, *found, rest, observed); err != nil {
		return Result{}, err
	}
	return Result{Observed: observed, As: found.As, ID: all[0].ID}, nil
}

// lock locks the load balancer that was found first. After a wait for the lock it reads the load
// balancer again, because Services may have joined or left it. There is false if the load balancer
// is gone.
func (r Reader) lock(ctx context.Context, lock *async.Guard, at *Search) (there bool, err error) {
	first := &at.found.LoadBalancers[0]
	waited, err := lock.Acquire(ctx, r.Locks, first.ID)
	at.waited = at.waited || waited
	if err != nil || at.locked || !at.waited {
		return true, err
	}
	again, err := r.again(ctx, first.ID)
	if err != nil || again == nil {
		return false, err
	}
	*first, at.locked = *again, true
	return true, nil
}

// readReplaced reads the load balancer that another one replaces. It stays if the other one is
// gone.
func (r Reader) readReplaced(ctx context.Context, found observe.Found, scope Scope, at *Progress, observed model.Observed) (*model.Observed, error) {
	there, err := r.Contents(ctx, found, scope, at)
	if err != nil {
		return nil, err
	}
	if observed.LoadBalancer == nil {
		observed.LoadBalancer = there.LoadBalancer
	} else {
		observed.Outgoing = there.LoadBalancer
	}
	return &observed, nil
}

// readDuplicates reads further load balancers of the Service, as far as a deletion needs them.
func (r Reader) readDuplicates(ctx context.Context, id ownership.Identity, found observe.Found, all []octavia.LoadBalancer, observed *model.Observed) error {
	for _, lb := range all {
		duplicate, err := r.Observer.Outline(ctx, id, lb, nil)
		if err != nil {
			return err
		}
		found.Attach(duplicate)
		observed.Duplicates = append(observed.Duplicates, *duplicate)
	}
	return nil
}

// Listed reads the attributes of a load balancer. The result is empty if the load balancer is gone.
func (r Reader) Listed(ctx context.Context, id string, as ownership.Identity) ([]observe.Found, error) {
	again, err := r.again(ctx, id)
	if err != nil || again == nil {
		return nil, err
	}
	return []observe.Found{{LoadBalancers: []octavia.LoadBalancer{*again}, As: as}}, nil
}

// again returns nil for a load balancer that is gone.
func (r Reader) again(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	again, err := r.Octavia.LoadBalancer(ctx, id)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return again, err
}
