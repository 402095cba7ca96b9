package resync

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// endpointTable has the endpoints of all Services: their nodes, addresses and conditions, some 90 bytes
// each. It stores them for Services of other types too, because a type can change. Its methods may
// be called from many goroutines.
type endpointTable struct {
	clock clock.Clock
	// changed is called for a Service with its changes, restated when the answers for all Services may be other ones. Both
	// are called by the goroutine of the watch.
	changed  func(service types.NamespacedName, changes endpointChanges)
	restated func(watch settings.Watch)
	// ready has the addresses of a Service that count as ready: see gates.Gates.Ready.
	ready func(service types.NamespacedName) []netip.Addr
	// stay returns how long members of a Service stay after their endpoints began to terminate.
	stay func(service types.NamespacedName) model.Stay

	mu       sync.Mutex
	services map[types.NamespacedName]*serviceEndpoints
	owners   map[types.NamespacedName]string // the Service of each slice
	watch    watchState
}

// serviceEndpoints are the slices of a Service by their names, and the times of the last change of each of
// members.Changes.
type serviceEndpoints struct {
	slices               map[string]members.Slice
	nodes, weighed, pods lastChange
	// ends are those of the endpoints that terminate and still serve, by their addresses.
	ends map[netip.Addr]end
}

// end is the end of the endpoints at an address: the time at which this process first saw that one terminates, which a
// restart makes later than it was, whether their members leave or have left, and the number of these endpoints.
type end struct {
	began     time.Time
	leaving   bool
	endpoints int
}

type lastChange struct{ at time.Time }

// endpointChange is a change, and the time since the one before.
type endpointChange struct {
	members.Change
	quiet time.Duration
}

// endpointChanges are the members.Changes.
type endpointChanges struct{ nodes, weighed, pods endpointChange }

// add records a change, if it is one.
func (l *lastChange) add(change members.Change, now time.Time) endpointChange {
	quiet := now.Sub(l.at)
	if change.Members {
		l.at = now
	}
	return endpointChange{change, quiet}
}

func newEndpointTable(clk clock.Clock) *endpointTable {
	return &endpointTable{
		clock: clk, watch: watchState{began: clk.Now()}, services: map[types.NamespacedName]*serviceEndpoints{}, owners: map[types.NamespacedName]string{},
		ready: (*gates.Gates)(nil).Ready, stay: func(types.NamespacedName) model.Stay { return model.Stay{} },
	}
}

// of returns the endpoints of a Service. While they are not known, and the right to read them is not
// known to be missing, there are none, after endpointPatience; before, pending is set.
func (t *endpointTable) of(service types.NamespacedName) (endpoints members.Endpoints, state settings.Watch, pending bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, pending = t.watch.at(t.clock.Now())
	if state == settings.Forbidden || !t.watch.synced {
		return nil, state, pending
	}
	return t.all(service).WithStopping(t.stopping(service)), state, false
}

// all returns all endpoints of a Service; none is Stopping, so that the end of each is a change. The caller
// holds the lock.
func (t *endpointTable) all(service types.NamespacedName) members.Endpoints {
	of := t.services[service]
	if of == nil {
		return nil
	}
	all := make(members.Endpoints, 0, len(of.slices))
	for _, slice := range of.slices {
		all = append(all, slice)
	}
	return all.WithReady(t.ready(service))
}

// placed is a slice with its Service; an empty one removes the slice.
type placed struct {
	service string
	slice   members.Slice
}

// set stores slices.
func (t *endpointTable) set(slices map[types.NamespacedName]placed) {
	t.mu.Lock()
	var services []types.NamespacedName
	for key, to := range slices {
		for _, service := range []string{t.owners[key], to.service} {
			if service != "" {
				services = append(services, types.NamespacedName{Namespace: key.Namespace, Name: service})
			}
		}
	}
	t.update(services, func() {
		for key, to := range slices {
			t.put(key, to)
		}
	})
}

// recount calls change, which changes what counts as ready of Services.
func (t *endpointTable) recount(services []types.NamespacedName, change func()) {
	t.mu.Lock()
	t.update(services, change)
}

// update calls do, and reports the change of each Service once, however many of its slices have changed:
// not before all slices are known. The caller holds the lock, which update releases.
func (t *endpointTable) update(services []types.NamespacedName, do func()) {
	before := map[types.NamespacedName]members.Endpoints{}
	for _, service := range services {
		if _, seen := before[service]; !seen {
			before[service] = t.all(service)
		}
	}
	do()
	var changes []func()
	for service, was := range before {
		if report := t.change(service, was); report != nil {
			changes = append(changes, report)
		}
	}
	t.mu.Unlock()
	for _, report := range changes {
		report()
	}
}

// put stores a slice, or removes it. The caller holds the lock.
func (t *endpointTable) put(key types.NamespacedName, to placed) {
	owner := types.NamespacedName{Namespace: key.Namespace, Name: t.owners[key]}
	if of := t.services[owner]; of != nil {
		if delete(of.slices, key.Name); len(of.slices) == 0 && owner.Name != to.service {
			delete(t.services, owner)
		}
		if owner.Name != to.service {
			of.note(t.clock.Now())
		}
	}
	if to.service == "" {
		delete(t.owners, key)
		return
	}
	t.owners[key], owner.Name = to.service, to.service
	if t.services[owner] == nil {
		t.services[owner] = &serviceEndpoints{slices: map[string]members.Slice{}}
	}
	t.services[owner].slices[key.Name] = to.slice
	t.services[owner].note(t.clock.Now())
}

// change returns the call that reports a change of a Service, nil for none. The caller holds the lock.
func (t *endpointTable) change(service types.NamespacedName, before members.Endpoints) func() {
	if !t.watch.synced {
		return nil
	}
	found, now := members.ChangeOf(before, t.all(service)), t.clock.Now()
	if !found.Weighed.Members && !found.Pods.Members {
		return nil
	}
	of := t.services[service]
	if of == nil {
		of = &serviceEndpoints{} // its last slice is gone
	}
	changes := endpointChanges{of.nodes.add(found.Nodes, now), of.weighed.add(found.Weighed, now), of.pods.add(found.Pods, now)}
	return func() { t.changed(service, changes) }
}
