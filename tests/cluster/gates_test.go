package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// The policy of manifests/readiness-gates adds the gate to pods that ask for it, and the controller opens it, with the
// rights there, after the load balancer has the pod.
//
//proves:132
func TestReadinessGates_OpenAfterLoadBalancerHasPod(t *testing.T) {
	t.Parallel()
	w := startCrowd(t, 2, octavia.Delays{Create: 100 * time.Millisecond, Update: 10 * time.Millisecond, Delete: 10 * time.Millisecond}, "--pod-readiness-gates")
	w.applyReadinessGates()
	if err := w.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	web, err := w.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{annotation.Members: annotation.MembersEndpointNodes}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetPods(t.Context(), w.Client(), web, map[string]int{"node-0": 1}); err != nil {
		t.Fatal(err)
	}
	w.awaitOnlyMembers(1, "node-0")
	w.eventually("the address", func(ctx context.Context) error {
		now, err := w.Client().CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && len(now.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	w.cloud.RequestLog.Reset()

	pod := w.runGatedPod("new", "node-1", "10.244.2.9")
	endpoints := []discoveryv1.Endpoint{endpointOn("node-0", "10.244.1.2", nil), endpointOn("node-1", "10.244.2.9", nil)}
	endpoints[1].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false)} // as of a pod whose gate is closed
	if err := writeSlice(t.Context(), w.Client(), web, "web-ipv4", discoveryv1.AddressTypeIPv4, endpoints, anyPort); err != nil {
		t.Fatal(err)
	}
	w.eventually("the gate", func(ctx context.Context) error {
		now, err := w.Client().CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.Type == gates.Condition && c.Status == corev1.ConditionTrue && c.Reason == "Followed" {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %+v", now.Status.Conditions)
	})
	w.awaitOnlyMembers(1, "node-0 node-1")
	if writes := w.cloud.RequestLog.Requests(requestlog.Writes(), requestlog.Under("/load-balancer")); len(writes) != 1 {
		t.Errorf("%d writes for a pod, want one", len(writes))
	}
}

// applyReadinessGates applies manifests/readiness-gates, and waits until the policy is in force.
func (w *crowd) applyReadinessGates() {
	w.t.Helper()
	root, err := controlplane.ModuleRoot(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range []string{"policy.yaml", "rbac.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "manifests", "readiness-gates", name))
		if err == nil {
			err = w.plane.Apply(w.t.Context(), string(text))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	other := corev1.PodReadinessGate{ConditionType: "example.com/other"}
	w.eventually("the policy", func(ctx context.Context) error {
		for _, before := range [][]corev1.PodReadinessGate{nil, {other}, {{ConditionType: gates.Condition}}} {
			pod := gatedPod("tried", "node-0")
			pod.Spec.ReadinessGates = before
			created, err := w.Client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				return err
			}
			ours := func(g corev1.PodReadinessGate) bool { return g.ConditionType == gates.Condition }
			want := append(slices.DeleteFunc(slices.Clone(before), ours), corev1.PodReadinessGate{ConditionType: gates.Condition})
			if got := created.Spec.ReadinessGates; !slices.Equal(got, want) {
				return fmt.Errorf("a pod with the gates %v has %v", before, got)
			}
		}
		return nil
	})
	plain := gatedPod("tried", "node-0")
	delete(plain.Labels, gates.Label)
	created, err := w.Client().CoreV1().Pods("default").Create(w.t.Context(), plain, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || len(created.Spec.ReadinessGates) > 0 {
		w.t.Errorf("a pod without the label has the gates %v: %v", created.Spec.ReadinessGates, err)
	}
}

func gatedPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web", gates.Label: "true"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
}

// runGatedPod creates a pod, and writes the status that a kubelet would once its containers are ready.
func (w *crowd) runGatedPod(name, node, address string) *corev1.Pod {
	w.t.Helper()
	pods := w.Client().CoreV1().Pods("default")
	pod, err := pods.Create(w.t.Context(), gatedPod(name, node), metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady"},
	}
	if pod, err = pods.UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return pod
}
