package cloudprovider

import (
	"context"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// engine is a LoadBalancers that records its calls.
type engine struct {
	mu       sync.Mutex
	calls    []string
	services []*v1.Service
	closed   bool
	watches  int
	// configurations has all configurations that it got, in order.
	configurations []*config.Config
	err            error
	// found is the result of Preview.
	found loadbalancer.Preview
	// ending, when set, is called at the end of PersistRecords.
	ending func()
	// entered, when set, makes calls wait for the end of their context.
	entered chan struct{}
}

func (e *engine) record(ctx context.Context, call string, service *v1.Service) error {
	e.mu.Lock()
	e.calls = append(e.calls, call)
	e.services = append(e.services, service)
	entered, err := e.entered, e.err
	e.mu.Unlock()
	if entered != nil {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (e *engine) Ensure(ctx context.Context, s *v1.Service, _ []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return &v1.LoadBalancerStatus{}, e.record(ctx, "ensure", s)
}

func (e *engine) Get(ctx context.Context, s *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	return &v1.LoadBalancerStatus{}, true, e.record(ctx, "get", s)
}

func (e *engine) Delete(ctx context.Context, s *v1.Service) error { return e.record(ctx, "delete", s) }

func (e *engine) Preview(ctx context.Context, s *v1.Service, _ []*v1.Node) (loadbalancer.Preview, error) {
	err := e.record(ctx, "preview", s)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.found, err
}

func (e *engine) Name(s *v1.Service) string {
	return "kube_service_kubernetes_" + s.Namespace + "_" + s.Name
}

func (e *engine) Untouched(types.UID) bool { return false }

func (e *engine) DropAllBut(map[types.UID]bool) {}

func (e *engine) IsWritten(*v1.Service, *v1.Service) bool { return false }

func (e *engine) SelectsNodes(s *v1.Service) bool { return s.Annotations["selects"] != "" }

func (e *engine) FollowsEndpoints(*v1.Service) bool { return false }

func (e *engine) FollowsPods(*v1.Service) bool { return false }

func (e *engine) WeighsNodes(*v1.Service) bool { return false }

func (e *engine) Stay(*v1.Service) model.Stay { return model.Stay{} }

func (e *engine) IsRefused(*v1.Service) bool { return false }

func (e *engine) WatchDrift(ctx context.Context, _ func(types.NamespacedName)) {
	e.mu.Lock()
	e.watches++
	e.mu.Unlock()
	<-ctx.Done()
}

func (e *engine) CollectGarbage(ctx context.Context, _ garbage.Cluster) { <-ctx.Done() }

func (e *engine) WatchQuotas(ctx context.Context) { <-ctx.Done() }

func (e *engine) PersistRecords(ctx context.Context, _ func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	<-ctx.Done()
	if e.ending != nil {
		e.ending()
	}
}

func (e *engine) StartRepair(ctx context.Context, s *v1.Service, _ func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	ended(&s.Status.LoadBalancer, e.record(ctx, "repair", s))
}

// repaired returns the result of a repair.
func repaired(ctx context.Context, of *loadBalancers, s *v1.Service) (*v1.LoadBalancerStatus, error) {
	type result struct {
		status *v1.LoadBalancerStatus
		err    error
	}
	results := make(chan result, 1)
	resyncEngine{of}.Repair(ctx, s, nil, func(status *v1.LoadBalancerStatus, err error) { results <- result{status, err} })
	got := <-results
	return got.status, got.err
}

func (e *engine) Reconfigure(conf *config.Config) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.configurations = append(e.configurations, conf)
	return nil
}

func (e *engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// servers are InstancesV2 that report whether their context ends.
type servers struct{}

func (servers) InstanceExists(ctx context.Context, _ *v1.Node) (bool, error) {
	return ctx.Done() != nil, nil
}

func (servers) InstanceShutdown(ctx context.Context, _ *v1.Node) (bool, error) {
	return ctx.Done() != nil, nil
}

func (servers) InstanceMetadata(ctx context.Context, _ *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func kubeSystem() *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster-uid"}}
}

func service(name string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
}

func node(name, address string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
}

func publishedService(name string) *v1.Service {
	s := service(name)
	s.Finalizers = []string{servicehelpers.LoadBalancerCleanupFinalizer}
	s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return s
}

// started returns a provider in the state that it has when the controllers of the controller
// manager run.
func started(t *testing.T, e LoadBalancers, objects ...runtime.Object) *Provider {
	t.Helper()
	return startedWith(t, Options{
		Client:           fake.NewClientset(append(objects, kubeSystem())...),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
	})
}

// startedWith returns one with these options, and with servers. If the provider stops the process,
// the test fails.
func startedWith(t *testing.T, options Options) *Provider {
	t.Helper()
	options.Instances, options.Stop = servers{}, func(err error) { t.Errorf("stopped: %v", err) }
	p := New(t.Context(), options)
	stop := make(chan struct{})
	p.Initialize(nil, stop)
	factory := informers.NewSharedInformerFactory(options.Client, 0)
	p.SetInformers(factory)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	return p
}

func balancer(t *testing.T, p *Provider) cloudprovider.LoadBalancer {
	t.Helper()
	lb, ok := p.LoadBalancer()
	if !ok {
		t.Fatal("there are no load balancers")
	}
	return lb
}

// followWith returns an Options.Follow that stores the function that applies a configuration.
func followWith(apply *func(*config.Config) error, following chan struct{}) func(context.Context, func(*config.Config) error) {
	return func(ctx context.Context, given func(*config.Config) error) {
		*apply = given
		close(following)
		<-ctx.Done()
	}
}
