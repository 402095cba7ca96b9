package resync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// gated returns a pod of the Service web with ready containers and a closed gate.
func gated(name, address string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web", gates.Label: "true"}},
		Spec:       v1.PodSpec{ReadinessGates: []v1.PodReadinessGate{{ConditionType: gates.Condition}}},
		Status: v1.PodStatus{
			PodIPs:     []v1.PodIP{{IP: address}},
			Conditions: []v1.PodCondition{{Type: v1.ContainersReady, Status: v1.ConditionTrue}},
		},
	}
}

// selecting returns a Service that has the pods of gated as members.
func selecting() *v1.Service {
	web := follower("web")
	web.Annotations["follows"] = "pods"
	web.Spec.Selector = map[string]string{"app": "web"}
	return web
}

// unreadySlice returns the slice of a Service with endpoints that are not ready, on node b.
func unreadySlice(addresses ...string) *discovery.EndpointSlice {
	s := newSlice("web-1", "web")
	s.Ports[0].Port = ptr.To(int32(8080))
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{
			Addresses: []string{address}, NodeName: ptr.To("b"), Conditions: discovery.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false)},
		})
	}
	return s
}

// gate returns the reason of a pod's open gate, "" for a closed one.
func (f *fixture) gate(name string) string {
	f.t.Helper()
	pod, err := f.client.CoreV1().Pods("default").Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == gates.Condition && c.Status == v1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

func (f *fixture) assertGate(name, want string) {
	f.t.Helper()
	if got := f.gate(name); got != want {
		f.t.Errorf("the gate of %s is open for %q, want %q", name, got, want)
	}
}

func (f *fixture) addPod(pod *v1.Pod) {
	f.t.Helper()
	if _, err := f.client.CoreV1().Pods(pod.Namespace).Create(f.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// podPatches counts the patches of pods.
func (f *fixture) podPatches() (n int) {
	for _, action := range f.client.Actions() {
		if action.GetVerb() == "patch" && action.GetResource().Resource == "pods" {
			n++
		}
	}
	return n
}

// A pod that only waits for its gate becomes a member, and the gate opens at the end of that round,
// with one patch. The pod stays a member until its slice has it as ready.
//
//proves:132
func TestGates_OpenAfterLoadBalancerHasFollowed(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{gates: true}
	run(t, engine, append(objects(selecting()), unreadySlice()), func(f *fixture) {
		done := make(chan struct{})
		engine.serve = func(context.Context, *v1.Service) error {
			<-done
			return nil
		}
		f.advance(2 * quietPeriod)
		f.addPod(gated("new", "10.1.0.9"))
		f.advance(quietPeriod)
		f.assertEndpoints("web", "", settings.Watched) // the slice comes later than the pod is ready
		f.assertGate("new", "")
		close(done)
		done = make(chan struct{})
		f.changeSlice(unreadySlice("10.1.0.9", "10.1.0.10"))
		f.advance(batchPeriod)
		f.assertEndpoints("web", "b", settings.Watched)
		f.advance(quietPeriod)
		f.assertGate("new", "") // the round goes on
		close(done)
		f.advance(time.Second)
		f.assertGate("new", "Followed")
		f.advance(10 * time.Second)
		f.assertEndpoints("web", "b", settings.Watched)
		repaired := len(engine.repaired)
		ready := unreadySlice("10.1.0.9", "10.1.0.10")
		ready.Endpoints[0].Conditions = discovery.EndpointConditions{}
		f.changeSlice(ready)
		f.advance(2 * quietPeriod)
		f.assertEndpoints("web", "b", settings.Watched)
		if len(engine.repaired) != repaired || f.podPatches() != 1 {
			t.Errorf("%d rounds more, and %d patches", len(engine.repaired)-repaired, f.podPatches())
		}
	})
}

// A pod with an open gate that is not ready for another reason is no member for long.
//
//proves:132
func TestGates_CountPodAsReadyForSomeTimeOnly(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{gates: true}, append(objects(selecting()), unreadySlice("10.1.0.9"), gated("new", "10.1.0.9")), func(f *fixture) {
		f.advance(2 * batchPeriod)
		f.assertGate("new", "Followed")
		f.assertEndpoints("web", "b", settings.Watched)
		f.advance(quietPeriod)
		f.assertEndpoints("web", "", settings.Watched)
	})
}

// A gate opens at once if no load balancer is the reason to wait.
//
//proves:132
func TestGates_OpenWithoutLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1.Service){
		"another type":      func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP },
		"another selector":  func(s *v1.Service) { s.Spec.Selector["app"] = "other" },
		"no selector":       func(s *v1.Service) { s.Spec.Selector = nil },
		"nodes as members":  func(s *v1.Service) { s.Annotations = nil },
		"not published yet": func(s *v1.Service) { s.Status.LoadBalancer.Ingress = nil },
		"being deleted":     func(s *v1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
	} {
		web := selecting()
		change(web)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, &fakeEngine{gates: true}, append(objects(web), unreadySlice("10.1.0.9")), func(f *fixture) {
				f.addPod(gated("new", "10.1.0.9"))
				f.advance(promptBatchPeriod)
				f.assertGate("new", "NotAwaited")
			})
		})
	}
}

// A gate opens if the load balancer cannot follow, is stuck, or goes: a rollout does not wait for
// it.
//
//proves:132
func TestGates_OpenAfterFailures(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{gates: true}
	run(t, engine, append(objects(selecting()), unreadySlice("10.1.0.9", "10.1.0.10", "10.1.0.11")), func(f *fixture) {
		stuck := make(chan struct{})
		engine.serve = func(context.Context, *v1.Service) error { return errors.New("Octavia is away") }
		f.addPod(gated("first", "10.1.0.9"))
		f.advance(2 * batchPeriod)
		f.assertGate("first", "Failed")
		engine.serve = func(context.Context, *v1.Service) error {
			<-stuck
			return nil
		}
		f.addPod(gated("second", "10.1.0.10"))
		f.advance(4 * time.Minute)
		f.assertGate("second", "")
		f.advance(2 * time.Minute)
		f.assertGate("second", "TimedOut")
		f.addPod(gated("third", "10.1.0.11"))
		f.advance(2 * batchPeriod)
		f.assertGate("third", "")
		if err := f.client.CoreV1().Services("default").Delete(f.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(2 * time.Second)
		f.assertGate("third", "NotAwaited")
		close(stuck)
	})
}

// Without the right to patch pods nothing is tried too often, and the gates open when it has come.
//
//proves:132
func TestGates_AreTriedAgainSeldom(t *testing.T) {
	t.Parallel()
	var allowed atomic.Bool
	client := func() *fake.Clientset {
		client := fake.NewClientset(append(objects(), gated("new", "10.1.0.9"))...)
		client.PrependReactor("patch", "pods", func(kubetesting.Action) (bool, runtime.Object, error) { return !allowed.Load(), nil, forbidden() })
		return client
	}
	runOn(t, &fakeEngine{gates: true}, client, func(f *fixture) {
		f.advance(10 * time.Minute)
		if n := f.podPatches(); n < 10 || n > 25 {
			t.Errorf("%d patches in ten minutes", n)
		}
		allowed.Store(true)
		f.advance(quietPeriod)
		f.assertGate("new", "NotAwaited")
	})
}

// Without the flag no pod is read. With it, all pods of a rollout cost a round and a patch each at most.
//
//proves:132
func TestGates_OpenOfManyPodsAfterOneRound(t *testing.T) {
	t.Parallel()
	const pods = 100
	var addresses []string
	for i := range pods {
		addresses = append(addresses, fmt.Sprintf("10.1.1.%d", i))
	}
	for _, on := range []bool{false, true} {
		engine := &fakeEngine{gates: on}
		run(t, engine, append(objects(selecting()), unreadySlice(addresses...)), func(f *fixture) {
			f.advance(2 * quietPeriod)
			for i, address := range addresses {
				f.addPod(gated(fmt.Sprintf("new-%d", i), address))
			}
			f.advance(2 * batchPeriod)
			repairs, patches, reads := 0, 0, 0
			if on {
				repairs, patches, reads = 2, pods, 2
			}
			got := 0
			for _, action := range f.client.Actions() {
				if action.GetResource().Resource == "pods" && (action.GetVerb() == "list" || action.GetVerb() == "watch") {
					got++
				}
			}
			if len(engine.repaired) > repairs || f.podPatches() != patches || got > reads {
				t.Errorf("gates %v: %d rounds, %d patches, %d reads", on, len(engine.repaired), f.podPatches(), got)
			}
		})
	}
}
