package loadbalancer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// fakeServices are the Services of the cluster.
type fakeServices struct {
	mu  sync.Mutex
	all map[types.UID]*v1.Service
}

func (f *fakeServices) source() goal.Services {
	if f == nil {
		return nil
	}
	return func(_ context.Context, namespace string) ([]*v1.Service, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		found := []*v1.Service{}
		for _, svc := range f.all {
			if namespace == v1.NamespaceAll || svc.Namespace == namespace {
				found = append(found, svc)
			}
		}
		return found, nil
	}
}

// apply creates or changes Services.
func (f *fakeServices) apply(services ...*v1.Service) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[types.UID]*v1.Service{}
	}
	for _, svc := range services {
		f.all[svc.UID] = svc.DeepCopy()
	}
}

func (f *fakeServices) remove(svc *v1.Service) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, svc.UID)
}

// newSharing returns an environment for Services that share load balancers by name, at most three.
func newSharing(t *testing.T) *environment {
	t.Helper()
	return newEnvironment(t, environmentOptions{services: &fakeServices{}, keys: map[string]string{"max-shared-lb": "3"}})
}

// sharing returns a Service with one port that shares a load balancer by name. The first one is the
// oldest.
func sharing(name, share string, age, number int) *v1.Service {
	svc := service(name, 0)
	svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, number)}
	svc.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, age, 0, 0, time.UTC))
	if share != "" {
		svc.Annotations[annotation.Share] = share
	}
	return svc
}

// served ensures a Service, and writes its status and its annotations as the controller does.
func (env *environment) served(svc *v1.Service, nodes []*v1.Node) string {
	env.T.Helper()
	env.options.services.apply(svc)
	env.ensure(svc, nodes)
	env.written(svc)
	return svc.Status.LoadBalancer.Ingress[0].IP
}

// written writes the annotations of a Service, and its status.
func (env *environment) written(svc *v1.Service) {
	env.T.Helper()
	writeRecord(svc, env.conditions.record(svc.UID))
	env.options.services.apply(svc)
}

// together ensures Services at the same time.
func (env *environment) together(nodes []*v1.Node, services ...*v1.Service) {
	env.T.Helper()
	env.options.services.apply(services...)
	var all sync.WaitGroup
	for _, svc := range services {
		all.Go(func() {
			status, err := env.engine.Ensure(env.ctx, svc.DeepCopy(), nodes)
			if err != nil {
				env.T.Errorf("Ensure of %s: %v", svc.Name, err)
				return
			}
			svc.Status.LoadBalancer = *status
		})
	}
	all.Wait()
	if env.T.Failed() {
		env.T.FailNow()
	}
	for _, svc := range services {
		env.written(svc)
	}
}

// leaves deletes a Service.
func (env *environment) leaves(svc *v1.Service) {
	env.T.Helper()
	now := metav1.Now()
	svc.DeletionTimestamp = &now
	env.options.services.apply(svc)
	env.delete(svc)
	env.options.services.remove(svc)
}

// noticeAll waits until the controller reports that another client has changed each Service.
func (env *environment) noticeAll(services ...*v1.Service) {
	env.T.Helper()
	found := make(chan types.NamespacedName, 100)
	defer env.watchDrift(env.ctx, func(name types.NamespacedName) { found <- name })()
	for noticed := map[string]bool{}; len(noticed) < len(services); {
		select {
		case name := <-found:
			noticed[name.Name] = true
		case <-env.ctx.Done():
			env.T.Fatal("nobody noticed")
		}
	}
}

// rest fails if the Services cause a write, by this controller or by a new one.
func (env *environment) rest(nodes []*v1.Node, services ...*v1.Service) {
	env.T.Helper()
	for _, svc := range services {
		env.unchanged(svc, nodes)
	}
}

// serves returns the names of the Services with listeners on a load balancer.
func serves(lb simoctavia.LoadBalancer) string {
	var names []string
	for _, l := range lb.Listeners {
		names = append(names, l.Name[strings.LastIndex(l.Name, "_")+1:])
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

//proves:60
func TestShare_HasOneLoadBalancerFromFirstServiceToLast(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(2)
	a, b, c := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81), sharing("c", "edge", 2, 82)
	address := env.served(a, nodes)
	env.Cloud.RequestLog.Reset()
	if got := env.served(b, nodes); got != address {
		t.Errorf("b publishes %s, not %s", got, address)
	}
	env.writes(3) // pool, members, listener
	env.floatingIPs(1)
	if _, named := b.Annotations[annotation.LoadBalancerID]; named {
		t.Errorf("load-balancer-id of b is written: it could not leave")
	}
	env.rest(nodes, a, b)
	env.leaves(a)
	if got := serves(env.loadBalancer()); got != "b" {
		t.Errorf("it serves %q", got)
	}
	env.rest(nodes, b)
	if got := env.served(c, nodes); got != address {
		t.Errorf("c publishes %s, not %s", got, address)
	}
	env.leaves(b)
	env.rest(nodes, c)
	env.leaves(c)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

//proves:60
func TestShare_OfServicesThatComeTogetherCreatesOneLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	all := []*v1.Service{sharing("c", "edge", 0, 80), sharing("b", "edge", 0, 81), sharing("a", "edge", 0, 82)}
	env.together(nodes, all...)
	if created := env.Cloud.RequestLog.Count(http.MethodPost, lbRoute); created != 1 {
		t.Errorf("%d load balancers were created", created)
	}
	if got := serves(env.loadBalancer()); got != "a b c" {
		t.Errorf("it serves %q", got)
	}
	env.rest(nodes, all...)
}

//proves:60
func TestShare_RefusesTakenPortOfLaterService(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 1, 80), sharing("b", "edge", 0, 80)
	env.served(a, nodes)
	env.options.services.apply(b)
	env.Cloud.RequestLog.Reset()
	env.refused(b, nodes, " of default/a: choose another port")
	env.writes(0)
	env.rest(nodes, a)
	b.Spec.Ports[0] = port(v1.ProtocolTCP, 81)
	env.served(b, nodes)
	if got := serves(env.loadBalancer()); got != "a b" {
		t.Errorf("it serves %q", got)
	}
}

//proves:60
func TestShare_LimitsServicesAndNamesItsAnnotation(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	for i, name := range []string{"a", "b", "c"} {
		env.served(sharing(name, "edge", i, 80+i), nodes)
	}
	d := sharing("d", "edge", 3, 90)
	env.options.services.apply(d)
	env.refused(d, nodes, "metadata.annotations[loadbalancer.openstack.org/share]: Forbidden: the load balancer cannot be shared: it serves 3 others")
	env.loadBalancers(1)
}

// The older Service of two that had load balancers of their own joins, and leaves again.
//
//proves:60
func TestShare_LetsServicesMoveInAndOutWithoutTouchingOthers(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "", 1, 80), sharing("b", "", 0, 81)
	address, own := env.served(a, nodes), env.served(b, nodes)
	a.Annotations[annotation.Share] = "edge"
	env.Cloud.RequestLog.Reset()
	env.served(a, nodes)
	env.writes(0)
	env.restart()
	b.Annotations[annotation.Share] = "edge"
	env.options.services.apply(b)
	if got := env.served(a, nodes); got != address {
		t.Errorf("a has moved to %s", got)
	}
	if got := env.served(b, nodes); got != address {
		t.Errorf("b publishes %s, not %s, was at %s", got, address, own)
	}
	before := env.loadBalancer()
	env.floatingIPs(1)
	env.rest(nodes, a, b)
	delete(b.Annotations, annotation.Share)
	delete(b.Annotations, annotation.LoadBalancerID) // of its own load balancer, which is gone
	if got := env.served(b, nodes); got == address {
		t.Errorf("b still publishes %s", got)
	}
	for _, lb := range env.loadBalancers(2) {
		want := "b"
		if lb.ID == before.ID {
			want = "a"
		}
		if got := serves(lb); got != want {
			t.Errorf("it serves %q, want %q", got, want)
		}
	}
	env.rest(nodes, a, b)
}

//proves:60
func TestShare_OfAnotherNameTakesOnlyTheServiceThatChanges(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	env.served(a, nodes)
	env.served(b, nodes)
	shared := env.loadBalancer().ID
	b.Annotations[annotation.Share] = "other"
	env.served(b, nodes)
	for _, lb := range env.loadBalancers(2) {
		want := "b"
		if lb.ID == shared {
			want = "a"
		}
		if got := serves(lb); got != want {
			t.Errorf("it serves %q, want %q", got, want)
		}
	}
	env.rest(nodes, a, b)
}

//proves:60
func TestShare_GetsOneLoadBalancerAfterAnotherClientDeletedIt(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted ", restarted), func(t *testing.T) {
			t.Parallel()
			env := newSharing(t)
			nodes := env.nodes(1)
			a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
			env.served(a, nodes)
			env.served(b, nodes)
			if err := octaviaAsSomebodyElse(t, env).Octavia().DeleteLoadBalancer(env.ctx, env.loadBalancer().ID, true); err != nil {
				t.Fatal(err)
			}
			env.loadBalancers(0)
			if restarted {
				env.restart()
			} else {
				env.noticeAll(a, b)
			}
			env.together(nodes, a, b)
			if got := serves(env.loadBalancer()); got != "a b" {
				t.Errorf("it serves %q", got)
			}
			env.rest(nodes, a, b)
			env.leaves(a)
			env.leaves(b)
			env.loadBalancers(0)
			env.floatingIPs(0)
		})
	}
}

// A process ends before it has recorded what it has created.
//
//proves:60
func TestShare_UsesWhatEndedProcessCreated(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	env.options.services.apply(a, b)
	env.ensure(a.DeepCopy(), nodes)
	first := env.loadBalancer().ID
	env.restart()
	env.together(nodes, a, b)
	if lb := env.loadBalancer(); lb.ID != first || serves(lb) != "a b" {
		t.Errorf("%s serves %q, want %s", lb.ID, serves(lb), first)
	}
}

// A process ends while a Service joins, which is then deleted.
//
//proves:60
func TestShare_KeepsNothingOfServiceWhoseJoinWasInterrupted(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	b.Spec.Ports = append(b.Spec.Ports, port(v1.ProtocolTCP, 82))
	env.served(a, nodes)
	env.options.services.apply(b)
	fault := faultOn(http.MethodPost, "/load-balancer/v2.0/lbaas/listeners", http.StatusInternalServerError)
	fault.From = 2
	env.Cloud.Faults.Add(fault)
	if _, err := env.engine.Ensure(env.ctx, b, nodes); err == nil {
		t.Fatal("it has joined")
	}
	env.Cloud.Faults.Clear()
	env.restart()
	b.CreationTimestamp = metav1.Time{} // else the deletion waits for a creation of the ended process
	env.leaves(b)
	lb := env.loadBalancer()
	if got := serves(lb); got != "a" || len(lb.Pools) != 1 {
		t.Errorf("it serves %q and has %d pools", got, len(lb.Pools))
	}
	env.rest(nodes, a)
}

//proves:60
func TestShare_DoesNotWaitForServiceThatIsRefused(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	a.Annotations[annotation.MaxMembers] = "many"
	env.options.services.apply(a, b)
	env.refused(a, nodes, "max-members")
	address := env.served(b, nodes)
	delete(a.Annotations, annotation.MaxMembers)
	if got := env.served(a, nodes); got != address {
		t.Errorf("a publishes %s, not %s", got, address)
	}
	env.loadBalancer()
}

//proves:60
func TestShare_IsOnlyWithinNamespace(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	b.Namespace = "other"
	env.served(a, nodes)
	env.served(b, nodes)
	env.loadBalancers(2)
}

// The Service for which the load balancer is created is unmanaged later; another waits, and leaves.
//
//proves:60
func TestShare_ThatWaitsEndsWithTheServiceWishing(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	env.options.services.apply(a, b) // no round of a runs
	waiting := b.DeepCopy()
	ended := make(chan error)
	go func() {
		_, err := env.engine.Ensure(env.ctx, waiting, nodes)
		ended <- err
	}()
	for working, _ := env.engine.Actors(); working == 0; working, _ = env.engine.Actors() {
		time.Sleep(time.Millisecond)
	}
	delete(b.Annotations, annotation.Share)
	env.options.services.apply(b)
	if err := <-ended; err == nil {
		t.Fatal("it has a load balancer")
	}
	env.loadBalancers(0)
	env.served(b, nodes)
	if got := serves(env.loadBalancer()); got != "b" {
		t.Errorf("it serves %q", got)
	}
}
