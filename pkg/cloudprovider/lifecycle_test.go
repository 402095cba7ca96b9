package cloudprovider

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// endless returns a context that never ends, as that of some controllers.
func endless(t *testing.T) context.Context {
	t.Helper()
	return context.WithoutCancel(t.Context())
}

//proves:75
func TestShutdown_EndsCallsWithAnEndlessContext(t *testing.T) {
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

func TestShutdown_RefusesNewCalls(t *testing.T) {
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

// A call that returned "the node is gone" during the end of the process would delete the Node.
func TestInstanceExists_ReturnsAnErrorWhileStopping(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := New(ctx, Options{Instances: servers{}})
	cancel()
	instances, _ := p.InstancesV2()
	if exists, err := instances.InstanceExists(endless(t), &v1.Node{}); err == nil {
		t.Errorf("got %v without an error", exists)
	}
}

// stuckEngine ignores the end of its context until the test releases it.
type stuckEngine struct {
	engine
	release chan struct{}
}

func (s *stuckEngine) Delete(context.Context, *v1.Service) error {
	s.entered <- struct{}{}
	<-s.release
	return nil
}

func TestShutdown_ReturnsAnErrorWhileCallsAreStillRunning(t *testing.T) {
	t.Parallel()
	s := &stuckEngine{engine: engine{entered: make(chan struct{})}, release: make(chan struct{})}
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

// A creation without an answer may still succeed, unknown to the next leader, which would create
// another one.
func TestShutdown_WaitsForWhatIsBeingCreated(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *Provider, process context.CancelFunc, stop chan struct{}){
		"shutdown":       func(p *Provider, _ context.CancelFunc, _ chan struct{}) { go func() { _ = p.Shutdown(t.Context()) }() },
		"a signal":       func(_ *Provider, process context.CancelFunc, _ chan struct{}) { process() },
		"closed channel": func(_ *Provider, _ context.CancelFunc, stop chan struct{}) { close(stop) },
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

func TestInitialize_EndsCallsWhenItsChannelIsClosed(t *testing.T) {
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

func TestInitialize_EndsTheProcessWhenTheEngineCannotStart(t *testing.T) {
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

func TestInitialize_DoesNotReadTheIdentityWithoutLoadBalancers(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	led := false
	p := New(t.Context(), Options{Client: client, Leading: func(context.Context) { led = true }})
	p.Initialize(nil, t.Context().Done())
	if _, ok := p.LoadBalancer(); ok {
		t.Error("load balancers are offered")
	}
	if len(client.Actions()) != 0 || !led {
		t.Errorf("requests %v, leading: %v", client.Actions(), led)
	}
}

// Leader migration starts a provider twice, once for each half of the controllers.
func TestInitialize_MakesOneEngineForTwoStarts(t *testing.T) {
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
		t.Errorf("%d engines, leading %d times, %d watches, one load balancer: %v", made, led, e.watches, once == again)
	}
}

// With the role of cloud-provider-openstack the controller works, and reports the protections that
// it lacks.
func TestInitialize_ReportsMissingRights(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		forbidden []string
		balancers bool
		told      []string
	}{
		"all rights":                         {nil, true, nil},
		"the role of the old controller":     {[]string{"namespaces", "configmaps"}, true, []string{"may not read namespace kube-system", "may not keep ConfigMap openstack-cloud"}},
		"no namespaces":                      {[]string{"namespaces"}, true, []string{"may not read namespace kube-system"}},
		"no ConfigMaps":                      {[]string{"configmaps"}, true, []string{"may not keep ConfigMap openstack-cloud"}},
		"no ConfigMaps, and nodes only":      {[]string{"configmaps"}, false, []string{"may not keep ConfigMap openstack-cloud"}},
		"no namespaces, which nobody misses": {[]string{"namespaces"}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.Enabled = test.balancers })
			client, events := fake.NewClientset(kubeSystem()), record.NewFakeRecorder(100)
			for _, resource := range test.forbidden {
				client.PrependReactor("*", resource, func(k8stesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(v1.Resource(resource), "", nil)
				})
			}
			c.Client, c.Recorder = client, events
			p, err := Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			p.Initialize(nil, t.Context().Done())
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			close(events.Events)
			var got []string
			for event := range events.Events {
				got = append(got, event)
			}
			if len(test.told) == 0 {
				if len(got) > 0 {
					t.Errorf("events %q", got)
				}
				return
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], "Warning RightsMissing ") {
				t.Fatalf("events %q, want one", got)
			}
			for _, words := range append(test.told, "manifests/additional-rights/rbac.yaml") {
				if !strings.Contains(got[0], words) {
					t.Errorf("event %q lacks %q", got[0], words)
				}
			}
			if strings.Count(got[0], "it may not") != len(test.told) {
				t.Errorf("event %q says more", got[0])
			}
		})
	}
}
