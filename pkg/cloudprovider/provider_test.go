package cloudprovider

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
)

// engine is a LoadBalancers that notes its calls.
type engine struct {
	mu       sync.Mutex
	calls    []string
	services []*v1.Service
	closed   bool
	watches  int
	err      error
	// entered and release hold a call up, when set.
	entered chan struct{}
}

func (e *engine) note(ctx context.Context, call string, service *v1.Service) error {
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
	return &v1.LoadBalancerStatus{}, e.note(ctx, "ensure", s)
}

func (e *engine) Get(ctx context.Context, s *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	return &v1.LoadBalancerStatus{}, true, e.note(ctx, "get", s)
}

func (e *engine) Delete(ctx context.Context, s *v1.Service) error { return e.note(ctx, "delete", s) }

func (e *engine) Name(s *v1.Service) string {
	return "kube_service_kubernetes_" + s.Namespace + "_" + s.Name
}

func (e *engine) SelectsNodes(s *v1.Service) bool { return s.Annotations["selects"] != "" }

func (e *engine) Watch(ctx context.Context, _ func(types.NamespacedName)) {
	e.mu.Lock()
	e.watches++
	e.mu.Unlock()
	<-ctx.Done()
}

func (e *engine) WriteDown(ctx context.Context, _ func(context.Context, types.NamespacedName, types.UID, loadbalancer.Written) error) {
	<-ctx.Done()
}

func (e *engine) Repair(ctx context.Context, s *v1.Service, _ []*v1.Node, _ func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	return &s.Status.LoadBalancer, e.note(ctx, "repair", s)
}

func (e *engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}

// servers are InstancesV2 that say whether their context ends.
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

// started gives a provider as upstream has it when its controllers run.
func started(t *testing.T, e *engine, objects ...runtime.Object) *Provider {
	t.Helper()
	client := fake.NewClientset(append(objects, kubeSystem())...)
	p := New(t.Context(), Options{
		Instances:        servers{},
		Client:           client,
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
		Stop:             func(err error) { t.Errorf("stopped: %v", err) },
	})
	stop := make(chan struct{})
	p.Initialize(nil, stop)
	factory := informers.NewSharedInformerFactory(client, 0)
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

func TestWhatTheProviderOffers(t *testing.T) {
	t.Parallel()
	p := started(t, &engine{})
	if p.ProviderName() != "openstack" || !p.HasClusterID() {
		t.Errorf("name %q, cluster ID %v", p.ProviderName(), p.HasClusterID())
	}
	offers := map[string]bool{}
	_, offers["load balancers"] = p.LoadBalancer()
	_, offers["instances v2"] = p.InstancesV2()
	_, offers["routes"] = p.Routes()
	_, offers["instances v1"] = p.Instances()
	_, offers["zones"] = p.Zones()
	_, offers["clusters"] = p.Clusters()
	for what, offered := range offers {
		if want := what == "load balancers" || what == "instances v2"; offered != want {
			t.Errorf("%s: %v, want %v", what, offered, want)
		}
	}
}

func TestEachCallReachesTheEngine(t *testing.T) {
	t.Parallel()
	e := &engine{}
	lb := balancer(t, started(t, e))
	svc := service("web")
	_, errEnsure := lb.EnsureLoadBalancer(t.Context(), "other-name", svc, nil)
	errUpdate := lb.UpdateLoadBalancer(t.Context(), "other-name", svc, nil)
	_, exists, errGet := lb.GetLoadBalancer(t.Context(), "other-name", svc)
	errDelete := lb.EnsureLoadBalancerDeleted(t.Context(), "other-name", svc)
	if err := errors.Join(errEnsure, errUpdate, errGet, errDelete); err != nil || !exists {
		t.Errorf("error %v, exists %v", err, exists)
	}
	if !slices.Equal(e.calls, []string{"ensure", "get", "delete"}) {
		t.Errorf("calls %v", e.calls)
	}
	if got := lb.GetLoadBalancerName(t.Context(), "other-name", svc); got != "kube_service_kubernetes_default_web" {
		t.Errorf("the name is %q, not the engine's", got)
	}
}

func TestErrorsOfTheEngineStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	lb := balancer(t, started(t, &engine{err: broken}))
	if _, err := lb.EnsureLoadBalancer(t.Context(), "", service("web"), nil); err != broken {
		t.Errorf("got %v", err)
	}
}

// endless is a context that nobody ends: whoever calls us may give such a one.
func endless(t *testing.T) context.Context {
	t.Helper()
	return context.WithoutCancel(t.Context())
}

//proves:75
func TestShutdownEndsCallsThatCameWithAnEndlessContext(t *testing.T) {
	t.Parallel()
	e := &engine{entered: make(chan struct{})}
	p := started(t, e)
	lb := balancer(t, p)
	instances, _ := p.InstancesV2()
	errs := make(chan error, 2)
	go func() { errs <- lb.EnsureLoadBalancerDeleted(endless(t), "", service("web")) }()
	go func() {
		_, err := instances.InstanceMetadata(endless(t), &v1.Node{})
		errs <- err
	}()
	<-e.entered
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) && !errors.Is(err, ErrStopping) {
			t.Errorf("call ended with %v", err)
		}
	}
	if !e.closed {
		t.Error("the engine is not closed")
	}
}

func TestAfterShutdownNothingIsBegun(t *testing.T) {
	t.Parallel()
	e := &engine{}
	p := started(t, e)
	lb := balancer(t, p)
	instances, _ := p.InstancesV2()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, errEnsure := lb.EnsureLoadBalancer(t.Context(), "", service("web"), nil)
	_, errExists := instances.InstanceExists(t.Context(), &v1.Node{})
	_, errShutdown := instances.InstanceShutdown(t.Context(), &v1.Node{})
	_, errMetadata := instances.InstanceMetadata(t.Context(), &v1.Node{})
	for _, err := range []error{errEnsure, errExists, errShutdown, errMetadata} {
		if !errors.Is(err, ErrStopping) {
			t.Errorf("got %v, want ErrStopping", err)
		}
	}
	if len(e.calls) != 0 {
		t.Errorf("the engine was called: %v", e.calls)
	}
}

// A call that says "the node is gone" while the process ends would delete it.
func TestStoppingIsNeverAnAnswerAboutANode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := New(ctx, Options{Instances: servers{}})
	cancel()
	instances, _ := p.InstancesV2()
	if exists, err := instances.InstanceExists(endless(t), &v1.Node{}); err == nil {
		t.Errorf("got %v without an error", exists)
	}
}

// stubborn ignores the end of its context until it is released.
type stubborn struct {
	engine
	release chan struct{}
}

func (s *stubborn) Delete(context.Context, *v1.Service) error {
	s.entered <- struct{}{}
	<-s.release
	return nil
}

func TestShutdownSaysThatCallsAreStillRunning(t *testing.T) {
	t.Parallel()
	s := &stubborn{engine: engine{entered: make(chan struct{})}, release: make(chan struct{})}
	p := New(t.Context(), Options{
		Client:           fake.NewClientset(kubeSystem()),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return s, nil },
	})
	p.Initialize(nil, t.Context().Done())
	lb := balancer(t, p)
	returned := make(chan error)
	go func() { returned <- lb.EnsureLoadBalancerDeleted(endless(t), "", service("web")) }()
	<-s.entered
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
	close(s.release)
	if err := <-returned; err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("once the call returned: %v", err)
	}
}

// A creation that is cut off may come true later, unknown to the next leader, which
// makes another one.
func TestWhatIsBeingCreatedEndsBeforeTheCallsDo(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *Provider, process context.CancelFunc, stop chan struct{}){
		"shutdown":        func(p *Provider, _ context.CancelFunc, _ chan struct{}) { go func() { _ = p.Shutdown(t.Context()) }() },
		"a signal":        func(_ *Provider, process context.CancelFunc, _ chan struct{}) { process() },
		"upstream's stop": func(_ *Provider, _ context.CancelFunc, stop chan struct{}) { close(stop) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draining, drained := make(chan struct{}), make(chan struct{})
			e := &engine{entered: make(chan struct{})}
			ctx, process := context.WithCancel(t.Context())
			defer process()
			p := New(ctx, Options{
				Client:           fake.NewClientset(kubeSystem()),
				NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
				Drain: func(context.Context) error {
					close(draining)
					<-drained
					return nil
				},
			})
			stop := make(chan struct{})
			p.Initialize(nil, stop)
			lb := balancer(t, p)
			returned := make(chan error)
			go func() { returned <- lb.EnsureLoadBalancerDeleted(endless(t), "", service("web")) }()
			<-e.entered
			end(p, process, stop)
			<-draining
			select {
			case err := <-returned:
				t.Fatalf("the call ended with %v while something was being created", err)
			default:
			}
			if _, _, err := lb.GetLoadBalancer(endless(t), "", service("other")); !errors.Is(err, ErrStopping) {
				t.Errorf("a new call: %v", err)
			}
			close(drained)
			if err := <-returned; !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v", err)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpstreamsStopEndsCalls(t *testing.T) {
	t.Parallel()
	e := &engine{entered: make(chan struct{})}
	p := New(t.Context(), Options{
		Client:           fake.NewClientset(kubeSystem()),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return e, nil },
	})
	stop := make(chan struct{})
	p.Initialize(nil, stop)
	lb := balancer(t, p)
	returned := make(chan error)
	go func() { returned <- lb.EnsureLoadBalancerDeleted(endless(t), "", service("web")) }()
	<-e.entered
	close(stop)
	if err := <-returned; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAProviderThatCannotStartEndsTheProcess(t *testing.T) {
	t.Parallel()
	var stopped error
	p := New(t.Context(), Options{
		Client:           fake.NewClientset(kubeSystem()),
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return nil, errors.New("bad node-selector") },
		Stop:             func(err error) { stopped = err },
	})
	p.Initialize(nil, t.Context().Done())
	if stopped == nil || !strings.Contains(stopped.Error(), "bad node-selector") {
		t.Errorf("stopped with %v", stopped)
	}
	if _, ok := p.LoadBalancer(); ok {
		t.Error("load balancers are offered all the same")
	}
}

func TestWithoutLoadBalancersNobodyAsksForTheIdentity(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	led := false
	p := New(t.Context(), Options{Client: client, Leading: func(context.Context) { led = true }})
	p.Initialize(nil, t.Context().Done())
	if _, ok := p.LoadBalancer(); ok {
		t.Error("load balancers are offered")
	}
	if len(client.Actions()) != 0 || !led {
		t.Errorf("requests %v, told that we lead: %v", client.Actions(), led)
	}
}

// With upstream's service controller switched off, Services are somebody else's, such
// as MetalLB's, and upstream does not ask for our load balancers.
func TestServicesAreLeftAloneWhereUpstreamsControllerIsOff(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"off": false, "on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{}
			p := started(t, e, publishedService("web"), syncNode("node-1", "10.0.0.1"))
			if asked {
				balancer(t, p)
			}
			if err := p.Shutdown(t.Context()); err != nil { // waits for what was begun
				t.Fatal(err)
			}
			if got := e.watches > 0; got != asked {
				t.Errorf("somebody works on Services: %v, want %v", got, asked)
			}
		})
	}
}

// Leader migration starts us once for either half of upstream's controllers.
func TestASecondStartMakesNoSecondEngine(t *testing.T) {
	t.Parallel()
	e, made, led := &engine{}, 0, 0
	client := fake.NewClientset(kubeSystem())
	p := New(t.Context(), Options{
		Client:  client,
		Leading: func(context.Context) { led++ },
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) {
			made++
			return e, nil
		},
	})
	stop := make(chan struct{})
	first := informers.NewSharedInformerFactory(client, 0)
	var once, again cloudprovider.LoadBalancer
	for _, lb := range []*cloudprovider.LoadBalancer{&once, &again} {
		p.Initialize(nil, stop)
		p.SetInformers(first)
		*lb = balancer(t, p)
	}
	first.Start(stop)
	first.WaitForCacheSync(stop)
	close(stop)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Shutdown()
	if made != 1 || led != 1 || e.watches != 1 || once != again {
		t.Errorf("%d engines, told %d times that we lead, %d watches, one load balancer: %v", made, led, e.watches, once == again)
	}
}
