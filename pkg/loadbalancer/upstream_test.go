//go:build !race

// Upstream's service controller has a data race of its own (its node worker reads the cached
// Services that its Service workers write): make test runs these tests once more without the race
// detector.

package loadbalancer_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func init() {
	watch.DefaultChanSize = 10000 // client-go's fake panics when its informers are that far behind
}

// glance is the time between two reads of all Services or load balancers. Each copies up to a
// thousand of them.
const glance = 200 * time.Millisecond

// upstream is a cluster with the service controller of k8s.io/cloud-provider, with the default
// number of workers, and our provider.
type upstream struct {
	*environment
	client *fake.Clientset
}

// run starts the controllers. They end with the test.
func (env *environment) run(services []*v1.Service, nodes []*v1.Node) *upstream {
	env.T.Helper()
	objects := []runtime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: clusterID}}}
	for _, svc := range services {
		objects = append(objects, svc)
	}
	for _, node := range nodes {
		objects = append(objects, node)
	}
	// NewClientset would build a REST mapper of all kinds for each write, 25 of 60 CPU seconds.
	client := fake.NewSimpleClientset(objects...)
	ctx, cancel := context.WithCancel(env.ctx)
	p := cloudprovider.New(ctx, cloudprovider.Options{
		Client: client, Recorder: record.NewFakeRecorder(100000),
		NewLoadBalancers: func(_ string, newest cloudprovider.Newest) (cloudprovider.LoadBalancers, error) {
			env.options.newest, env.options.workers = newest.Newest, cloudprovider.DefaultServiceWorkers
			engine, events := env.controller(env.clusterUID)
			go func() { // unread events would block the controller
				for {
					select {
					case <-events.Events:
					case <-ctx.Done():
						return
					}
				}
			}()
			return engine, nil
		},
		Stop: func(err error) { env.T.Errorf("stopped: %v", err) },
	})
	p.Initialize(nil, ctx.Done())
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	controller, err := servicecontroller.New(p, client, factory.Core().V1().Services(), factory.Core().V1().Nodes(), "kubernetes", featuregate.NewFeatureGate())
	if err != nil {
		env.T.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, cloudprovider.DefaultServiceWorkers, controllersmetrics.NewControllerManagerMetrics("test"))
	}()
	env.T.Cleanup(func() {
		cancel()
		<-ended
		factory.Shutdown()
		if err := p.Shutdown(context.WithoutCancel(ctx)); err != nil {
			env.T.Error(err)
		}
	})
	return &upstream{environment: env, client: client}
}

// members returns the number of members of each load balancer that is not stuck, by the name of its
// Service.
func (u *upstream) members() map[string]int {
	members := map[string]int{}
	for _, lb := range u.Cloud.Octavia.Snapshot() {
		if lb.ProvisioningStatus == octavia.Active && len(lb.Pools) > 0 {
			members[strings.TrimPrefix(lb.Name, "kube_service_kubernetes_default_")] = len(lb.Pools[0].Members)
		}
	}
	return members
}

// await waits until so many load balancers have so many members, and returns the duration.
func (u *upstream) await(what string, many, want int) time.Duration {
	u.T.Helper()
	began := time.Now()
	u.until(what, func() bool {
		n := 0
		for _, members := range u.members() {
			if members == want {
				n++
			}
		}
		if n < many {
			time.Sleep(glance)
		}
		return n >= many
	})
	took := time.Since(began)
	u.T.Logf("%s: after %s", what, took.Round(time.Second/10))
	return took
}

// published returns the names of Services with an address.
func (u *upstream) published(prefix string) (names []string) {
	u.T.Helper()
	list, err := u.client.CoreV1().Services("default").List(u.ctx, metav1.ListOptions{})
	if err != nil {
		u.T.Fatal(err)
	}
	for _, svc := range list.Items {
		if strings.HasPrefix(svc.Name, prefix) && len(svc.Status.LoadBalancer.Ingress) > 0 {
			names = append(names, svc.Name)
		}
	}
	return names
}

func (u *upstream) remove(node *v1.Node) {
	u.T.Helper()
	if err := u.client.CoreV1().Nodes().Delete(u.ctx, node.Name, metav1.DeleteOptions{}); err != nil {
		u.T.Fatal(err)
	}
}

// events returns the messages of upstream's events with a reason, or of all Warnings.
func (u *upstream) events(reason string) (messages []string) {
	u.T.Helper()
	list, err := u.client.CoreV1().Events("").List(u.ctx, metav1.ListOptions{})
	if err != nil {
		u.T.Fatal(err)
	}
	for _, event := range list.Items {
		if event.Reason == reason || reason == "" && event.Type == v1.EventTypeWarning {
			messages = append(messages, event.Reason+": "+event.Message)
		}
	}
	return messages
}

func services(prefix string, n int) []*v1.Service {
	var all []*v1.Service
	for i := range n {
		all = append(all, service(prefix+itoa(i), 1))
	}
	return all
}

// bigCloud completes changes at once, and has room for a thousand load balancers.
func bigCloud(t *testing.T) *environment {
	t.Helper()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Delays: map[string]octavia.Delays{
		octavia.ProviderAmphora: {}, octavia.ProviderOVN: {Create: time.Hour},
	}}})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	env.ctx = ctx
	for _, resource := range []string{"port", "floatingip"} {
		env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, resource, -1)
	}
	return env
}

// Half of a thousand load balancers stay PENDING for ever: the others follow their nodes, and new
// Services are served, as if none were stuck.
func TestServiceController_IsNotHeldUpByStuckLoadBalancers(t *testing.T) {
	t.Parallel()
	const half = 500
	env := bigCloud(t)
	nodes := env.nodes(4)
	u := env.run(append(services("healthy-", half), services("stuck-", half)...), nodes)
	u.await("all are made", 2*half, 4)
	u.until("all are published", func() bool {
		time.Sleep(glance)
		return len(u.published("")) == 2*half
	})
	u.remove(nodes[3])
	usual := u.await("usually, a node that goes is taken out of all", 2*half, 3)

	for _, lb := range env.Cloud.Octavia.Snapshot() {
		if strings.Contains(lb.Name, "_stuck-") {
			if _, err := env.Cloud.Hold(lb.ID, octavia.PendingUpdate, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
	}
	// More stuck load balancers change than upstream has workers.
	for i := range half {
		patch := []byte(`{"metadata":{"annotations":{"` + annotation.ConnLimit + `":"100"}}}`)
		if _, err := u.client.CoreV1().Services("default").Patch(u.ctx, "stuck-"+itoa(i), "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, node := range []*v1.Node{nodes[2], nodes[1]} { // the first change does not block upstream's only worker for nodes
		u.remove(node)
		took := u.await("a node that goes is taken out of the healthy ones", half, 2-i)
		if took > 2*usual+5*time.Second {
			t.Errorf("a node that went stayed a member for %s, usually %s", took, usual)
		}
	}
	const more = 20
	for _, svc := range services("new-", more) {
		if _, err := u.client.CoreV1().Services("default").Create(u.ctx, svc, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	u.until("new ones are served", func() bool {
		time.Sleep(glance)
		return len(u.published("new-")) == more
	})
	if members := u.members(); slices.ContainsFunc(services("stuck-", half), func(s *v1.Service) bool { return members[s.Name] != 0 }) {
		t.Error("those that were stuck are not any more: the test shows nothing")
	}
}

// A normal creation or deletion causes no Warning, even if there are many at once.
func TestServiceController_WarnsOfNothingForTwoHundredServicesAtOnce(t *testing.T) {
	t.Parallel()
	const many = 200
	env := bigCloud(t)
	u := env.run(services("web-", many), env.nodes(2))
	u.until("all are published", func() bool {
		time.Sleep(glance)
		return len(u.published("")) == many
	})
	for i := range many {
		patch := []byte(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`)
		if _, err := u.client.CoreV1().Services("default").Patch(u.ctx, "web-"+itoa(i), "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	u.until("all are gone, and that was emitted", func() bool {
		time.Sleep(glance)
		return len(env.Cloud.Octavia.Snapshot()) == 0 && len(u.events("DeletedLoadBalancer")) > 0
	})
	if warnings := u.events(""); len(warnings) > 0 {
		t.Errorf("%d warnings, the first: %s", len(warnings), warnings[0])
	}
}

// A new Service with a slow load balancer delays the node changes of no other.
func TestServiceController_AppliesNodeChangesBesideSlowNewService(t *testing.T) {
	t.Parallel()
	env := bigCloud(t)
	nodes := env.nodes(4)
	u := env.run(services("old-", 1), nodes)
	u.await("the old one is made", 1, 4)
	u.until("it is published", func() bool { return len(u.published("old-")) == 1 })
	slow := service("new", 1) // it stays in PENDING_CREATE
	slow.Annotations[annotation.Provider] = octavia.ProviderOVN
	if _, err := u.client.CoreV1().Services("default").Create(u.ctx, slow, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	u.until("the new one is being made", func() bool { return len(env.Cloud.Octavia.Snapshot()) == 2 })
	for i, node := range []*v1.Node{nodes[3], nodes[2], nodes[1]} {
		u.remove(node)
		u.await("a node that goes is taken out of the old one", 1, 3-i)
	}
}
