package gates

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// Options are the dependencies of Gates.
type Options struct {
	// Client reads pods and patches their status.
	Client   kubernetes.Interface
	Services corelisters.ServiceLister
	// Holds reports whether pods wait for the load balancer of a Service.
	Holds func(*v1.Service) bool
	// Change calls change, which changes Ready of Services, and has those synced that get other
	// members by it.
	Change func(services []types.NamespacedName, change func())
	// Sync has a Service synced soon.
	Sync  func(types.NamespacedName)
	Clock clock.Clock
}

// Gates opens the gates of pods. Its methods may be called from many goroutines. A nil one has no pods.
type Gates struct {
	options Options
	pods    cache.Controller
	began   time.Time
	// wake has an element if a gate may be due.
	wake chan struct{}

	mu sync.Mutex
	// by has the pods that count as ready, by namespace and name.
	by map[string]map[string]*known
}

// known is a pod with its history since only its gate was closed.
type known struct {
	Pod
	since time.Time
	// served has the Services with a round that has followed the pod, false for one that has failed.
	served map[types.NamespacedName]bool
	// again is the earliest time of the next attempt to open the gate.
	again time.Time
}

// New returns Gates that do nothing before Run.
func New(options Options) *Gates {
	g := &Gates{options: options, began: options.Clock.Now(), wake: make(chan struct{}, 1), by: map[string]map[string]*known{}}
	g.pods = g.newInformer()
	return g
}

// Pending reports whether the pods will be known soon.
func (g *Gates) Pending() bool {
	const most = 10 * time.Second
	return g != nil && !g.pods.HasSynced() && g.options.Clock.Since(g.began) < most
}

// Ready returns the addresses of a Service's pods that count as ready, although EndpointSlices may
// not have them as ready.
func (g *Gates) Ready(service types.NamespacedName) []netip.Addr { return addresses(g.of(service)) }

func addresses(pods []*known) (all []netip.Addr) {
	for _, pod := range pods {
		all = append(all, pod.Addresses...)
	}
	return all
}

// ReadReady is Ready for a command, which lists the pods once. Without the right to list them there are none.
func ReadReady(ctx context.Context, client kubernetes.Interface, service *v1.Service, now time.Time) []netip.Addr {
	if len(service.Spec.Selector) == 0 {
		return nil
	}
	selector := labels.Merge(service.Spec.Selector, labels.Set{Label: "true"})
	found, err := client.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot list the pods with readiness gates", "service", klog.KObj(service), "err", err)
		return nil
	}
	var all []*known
	for i := range found.Items {
		if pod := Read(&found.Items[i], now); pod != nil {
			all = append(all, &known{Pod: *pod})
		}
	}
	return addresses(all)
}

// of returns the pods that a Service selects.
func (g *Gates) of(service types.NamespacedName) []*known {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	all := slices.Collect(maps.Values(g.by[service.Namespace]))
	g.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	svc, err := g.options.Services.Services(service.Namespace).Get(service.Name)
	if err != nil {
		return nil // it is gone
	}
	return slices.DeleteFunc(all, func(pod *known) bool { return !selects(svc, pod.Labels) })
}

// Begin is called when a round of a Service begins, and the result at its end. Has reports whether
// the Service has an endpoint at an address.
func (g *Gates) Begin(service types.NamespacedName, has func(netip.Addr) bool) (ended func(error)) {
	with := slices.DeleteFunc(g.of(service), func(pod *known) bool { return !pod.Waits() || !slices.ContainsFunc(pod.Addresses, has) })
	return func(err error) {
		all := g.of(service)
		if len(with)+len(all) == 0 {
			return
		}
		now := g.options.Clock.Now()
		g.mu.Lock()
		for _, pod := range with {
			pod.served[service] = err == nil
		}
		late := slices.ContainsFunc(all, func(pod *known) bool {
			_, served := pod.served[service]
			return pod.Waits() && !served && now.Sub(pod.since) < patience
		})
		g.mu.Unlock()
		if late { // its endpoint has come after the beginning
			g.options.Sync(service)
		}
		g.wakeUp()
	}
}

// set records a pod, nil for one that does not count as ready.
func (g *Gates) set(key types.NamespacedName, now *Pod) {
	g.mu.Lock()
	before := g.by[key.Namespace][key.Name]
	g.mu.Unlock()
	if before == nil && now == nil || before != nil && now != nil && before.same(*now) {
		return
	}
	var services []*v1.Service
	if before != nil {
		services = g.selecting(key.Namespace, before.Labels)
	}
	if now != nil {
		services = append(services, g.selecting(key.Namespace, now.Labels)...)
	}
	keys := map[types.NamespacedName]bool{}
	for _, svc := range services {
		keys[cluster.Key(svc)] = g.options.Holds(svc)
	}
	g.options.Change(slices.Collect(maps.Keys(keys)), func() { g.put(key, now) })
	if now == nil || !now.Waits() {
		return
	}
	for service, holds := range keys {
		if holds {
			g.options.Sync(service)
		}
	}
	g.wakeUp()
}

// put stores a pod. One that still waits keeps its history.
func (g *Gates) put(key types.NamespacedName, now *Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in := g.by[key.Namespace]
	if now == nil {
		g.drop(key)
		return
	}
	if in == nil {
		in = map[string]*known{}
		g.by[key.Namespace] = in
	}
	pod := &known{Pod: *now, since: g.options.Clock.Now(), served: map[types.NamespacedName]bool{}}
	if before := in[key.Name]; before != nil && before.UID == now.UID && before.Waits() && now.Waits() {
		pod.since, pod.again = before.since, before.again
	}
	in[key.Name] = pod
}

// drop removes a pod. The caller holds the mutex.
func (g *Gates) drop(key types.NamespacedName) {
	in := g.by[key.Namespace]
	if delete(in, key.Name); len(in) == 0 {
		delete(g.by, key.Namespace)
	}
}

// same reports whether nothing has changed.
func (k *known) same(now Pod) bool {
	return k.UID == now.UID && k.Until.Equal(now.Until) && maps.Equal(k.Labels, now.Labels) && slices.Equal(k.Addresses, now.Addresses)
}

// selecting returns the Services that select pods with some labels.
func (g *Gates) selecting(namespace string, pod labels.Set) []*v1.Service {
	all, err := g.options.Services.Services(namespace).List(labels.Everything())
	if err != nil {
		return nil // a lister of an informer has no errors
	}
	return slices.DeleteFunc(slices.Clone(all), func(svc *v1.Service) bool { return !selects(svc, pod) })
}

func selects(svc *v1.Service, pod labels.Set) bool {
	return len(svc.Spec.Selector) > 0 && labels.Set(svc.Spec.Selector).AsSelectorPreValidated().Matches(pod)
}

// wakeUp has the gates looked at that may be due.
func (g *Gates) wakeUp() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
