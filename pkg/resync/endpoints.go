package resync

import (
	"context"
	"net/netip"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

const (
	// endpointPatience is how long the endpoints are pending after the start, and how long this
	// process must have lacked the right to read EndpointSlices before it counts as lacking it: an
	// API server that starts refuses requests for some moments.
	endpointPatience = 10 * time.Second
	// The watch of EndpointSlices is retried after forbiddenDelay while it is refused for good, else
	// after a delay that doubles from the first to the last.
	forbiddenDelay                        = time.Minute
	firstEndpointDelay, lastEndpointDelay = time.Second, 30 * time.Second
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
	// stay returns how long a member of a Service stays after its endpoints began to terminate, 0 if until
	// they have ended.
	stay func(service types.NamespacedName) time.Duration

	mu       sync.Mutex
	services map[types.NamespacedName]*serviceEndpoints
	owners   map[types.NamespacedName]string // the Service of each slice
	// synced is set once all slices are known; began is the time of the start, refused that of the
	// first of the present refusals, zero if there is none.
	synced         bool
	began, refused time.Time
	// last is the last reported state: Watched, Forbidden, or Unwatched before the first.
	last settings.Watch
}

// serviceEndpoints are the slices of a Service by their names, and the times of the last change of each of
// members.Changes.
type serviceEndpoints struct {
	slices               map[string]members.Slice
	nodes, weighed, pods lastChange
	// ends are those of the endpoints that terminate and still serve, by their addresses.
	ends map[netip.Addr]end
}

// end is the end of an endpoint: the time at which this process first saw that it terminates, which a restart makes later
// than it was, and whether its member leaves or has left.
type end struct {
	began   time.Time
	leaving bool
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
		clock: clk, began: clk.Now(), services: map[types.NamespacedName]*serviceEndpoints{}, owners: map[types.NamespacedName]string{},
		ready: (*gates.Gates)(nil).Ready, stay: func(types.NamespacedName) time.Duration { return 0 },
	}
}

// of returns the endpoints of a Service. While they are not known, and the right to read them is not
// known to be missing, there are none, after endpointPatience; before, pending is set.
func (t *endpointTable) of(service types.NamespacedName) (endpoints members.Endpoints, state settings.Watch, pending bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch state = t.state(); {
	case state == settings.Forbidden:
		return nil, state, false
	case !t.synced:
		return nil, state, t.clock.Since(t.began) < endpointPatience
	}
	return t.all(service).WithStopping(t.stopping(service)), state, false
}

// state returns whether endpoints are watched. Once all slices are known, one refusal is no reason to
// give them up: the next attempt is refused, too (see failed), or succeeds. The caller holds the lock.
func (t *endpointTable) state() settings.Watch {
	if t.last == settings.Forbidden || !t.synced && t.refusedForLong() {
		return settings.Forbidden
	}
	return settings.Watched
}

// refusedForLong reports whether all attempts for endpointPatience were refused. The caller holds the
// lock.
func (t *endpointTable) refusedForLong() bool {
	return !t.refused.IsZero() && t.clock.Since(t.refused) >= endpointPatience
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
	if !t.synced {
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

// Add implements cache.ReflectorStore.
func (t *endpointTable) Add(object any) error {
	if key, service, slice, ok := parseSlice(object); ok {
		t.set(map[types.NamespacedName]placed{key: {service, slice}})
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (t *endpointTable) Update(object any) error { return t.Add(object) }

// Delete implements cache.ReflectorStore.
func (t *endpointTable) Delete(object any) error {
	if key, _, _, ok := parseSlice(object); ok {
		t.set(map[types.NamespacedName]placed{key: {}})
	}
	return nil
}

// Replace implements cache.ReflectorStore: it stores all slices that exist.
func (t *endpointTable) Replace(objects []any, _ string) error {
	there := make(map[types.NamespacedName]placed, len(objects))
	for _, object := range objects {
		if key, service, slice, ok := parseSlice(object); ok {
			there[key] = placed{service, slice}
		}
	}
	t.mu.Lock()
	for key := range t.owners {
		if _, is := there[key]; !is {
			there[key] = placed{}
		}
	}
	t.mu.Unlock()
	t.set(there)
	t.answered()
	return nil
}

// Resync implements cache.ReflectorStore.
func (t *endpointTable) Resync() error { return nil }

// answered records that all slices are known. If Services have been served without them, they are
// served again.
func (t *endpointTable) answered() {
	t.mu.Lock()
	late := !t.synced && t.clock.Since(t.began) >= endpointPatience || t.last == settings.Forbidden
	t.synced, t.refused, t.last = true, time.Time{}, settings.Watched
	t.mu.Unlock()
	if late {
		t.restated(settings.Watched)
	}
}

// failed records the end of a watch, and returns whether this process lacks the right to it.
func (t *endpointTable) failed(ctx context.Context, err error) (forbidden bool) {
	t.mu.Lock()
	if !apierrors.IsForbidden(err) {
		if t.last != settings.Forbidden {
			t.refused = time.Time{}
		}
		t.mu.Unlock()
		return false
	}
	if t.refused.IsZero() {
		t.refused = t.clock.Now()
	}
	begins := t.refusedForLong() && t.last != settings.Forbidden
	if begins {
		t.last = settings.Forbidden
	}
	forbidden = t.last == settings.Forbidden
	t.mu.Unlock()
	if begins {
		klog.FromContext(ctx).Info("May not list and watch EndpointSlices: all nodes are members of Services that could follow their endpoints; grant the role of the "+
			"cloud-controller-manager list and watch for endpointslices", "err", err)
		t.restated(settings.Forbidden)
	}
	return forbidden
}

// run calls read, which fills the table until its watch ends, again and again until the context
// ends.
func (t *endpointTable) run(ctx context.Context, read func(context.Context) error) {
	backoff := func() *wait.Backoff {
		return &wait.Backoff{Duration: firstEndpointDelay, Factor: 2, Jitter: 0.1, Steps: 10, Cap: lastEndpointDelay}
	}
	retry := backoff()
	for ctx.Err() == nil {
		begun := t.clock.Now()
		err := read(ctx)
		delay := forbiddenDelay
		if !t.failed(ctx, err) {
			if t.clock.Since(begun) > time.Minute {
				retry = backoff()
			}
			if err != nil {
				klog.FromContext(ctx).V(2).Info("The watch of EndpointSlices has failed, trying again", "err", err)
			}
			delay = retry.Step()
		}
		select {
		case <-ctx.Done():
		case <-t.clock.After(delay):
		}
	}
}

// Transformer implements cache.TransformingStore: while the watch reads the first list, it has only
// what parseSlice needs of the much larger objects. What it returns may be transformed again.
func (t *endpointTable) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		from, is := object.(*discovery.EndpointSlice)
		if !is {
			return object, nil
		}
		trimmed := &discovery.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: from.Namespace, Name: from.Name, UID: from.UID, ResourceVersion: from.ResourceVersion,
				Labels: map[string]string{discovery.LabelServiceName: from.Labels[discovery.LabelServiceName]},
			},
			AddressType: from.AddressType, Ports: from.Ports,
		}
		for _, e := range from.Endpoints {
			trimmed.Endpoints = append(trimmed.Endpoints, discovery.Endpoint{
				Addresses: e.Addresses[:min(len(e.Addresses), 1)], Conditions: e.Conditions, NodeName: e.NodeName, TargetRef: podOf(e),
			})
		}
		return trimmed, nil
	}
}

// ReadEndpoints returns the endpoints of a Service, read from the API server. If that fails for
// another reason than a missing right, they are Unreadable.
func ReadEndpoints(ctx context.Context, client kubernetes.Interface, service *v1.Service, now time.Time) (members.Endpoints, settings.Watch) {
	selector := labels.Set{discovery.LabelServiceName: service.Name}.String()
	found, err := client.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		return nil, settings.Forbidden
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot read the endpoints of a Service", "service", klog.KObj(service))
		return nil, settings.Unreadable
	}
	endpoints := Endpoints(found.Items)
	if endpoints.AllReady() {
		return endpoints, settings.Watched
	}
	return endpoints.WithReady(gates.ReadReady(ctx, client, service, now)), settings.Watched
}

// Endpoints returns the endpoints in the EndpointSlices of one Service.
func Endpoints(slices []discovery.EndpointSlice) members.Endpoints {
	var endpoints members.Endpoints
	for i := range slices {
		if _, _, slice, ok := parseSlice(&slices[i]); ok {
			endpoints = append(endpoints, slice)
		}
	}
	return endpoints
}

// listerOf returns the reader of EndpointSlices. Those of headless Services, which no load balancer
// serves, are left out.
func listerOf(client kubernetes.Interface) cache.ListerWatcher {
	return cluster.Labelled(client, client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll), "!"+v1.IsHeadlessService)
}

// parseSlice returns the key, the Service and the endpoints of an EndpointSlice, and false for
// another object. A slice of no Service has an empty one.
func parseSlice(object any) (key types.NamespacedName, service string, slice members.Slice, ok bool) {
	from, is := object.(*discovery.EndpointSlice)
	if !is {
		return key, "", slice, false
	}
	slice = members.Slice{Family: v1.IPFamily(from.AddressType), Endpoints: make([]members.Endpoint, 0, len(from.Endpoints))}
	for _, port := range from.Ports {
		slice.Ports = append(slice.Ports, ptr.Deref(port.Name, ""))
		slice.Numbers = append(slice.Numbers, int(ptr.Deref(port.Port, 0)))
	}
	for _, e := range from.Endpoints {
		ready := e.Conditions.Ready == nil || *e.Conditions.Ready
		endpoint := members.Endpoint{Ready: ready, Serving: ready, Terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating}
		if e.Conditions.Serving != nil {
			endpoint.Serving = *e.Conditions.Serving
		}
		if endpoint.Node = ptr.Deref(e.NodeName, ""); len(e.Addresses) > 0 {
			endpoint.Address = addressOf(e.Addresses[0]) // no other one has a meaning
		}
		slice.Endpoints = append(slice.Endpoints, endpoint)
		if pod := podOf(e); pod != nil && slice.Pod == "" {
			slice.Pod = pod.Name
		}
	}
	return types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, from.Labels[discovery.LabelServiceName], slice, true
}

// podOf returns the name of an endpoint's pod, nil for none.
func podOf(e discovery.Endpoint) *v1.ObjectReference {
	if e.TargetRef == nil || e.TargetRef.Kind != "Pod" {
		return nil
	}
	return &v1.ObjectReference{Kind: e.TargetRef.Kind, Name: e.TargetRef.Name}
}

// addressOf parses the address of an endpoint; one that is a name or has a zone is invalid.
func addressOf(text string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}
	}
	return address.Unmap()
}
