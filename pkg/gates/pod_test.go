package gates

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var at = time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC)

// newPod returns a pod with the gate and conditions that are true since a minute before at.
func newPod(conditions ...v1.PodConditionType) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "uid", Labels: map[string]string{Label: "true", "app": "web"}},
		Spec:       v1.PodSpec{NodeName: "a", ReadinessGates: []v1.PodReadinessGate{{ConditionType: Condition}}},
		Status:     v1.PodStatus{PodIPs: []v1.PodIP{{IP: "10.1.0.9"}, {IP: "fd00::9"}}},
	}
	for _, of := range conditions {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: of, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(at.Add(-time.Minute))})
	}
	return pod
}

// A pod counts as ready while the gate alone keeps it from being ready, and for some time after.
//
//proves:132
func TestRead_CountsPodsThatOnlyTheGateHolds(t *testing.T) {
	t.Parallel()
	const other = v1.PodConditionType("example.com/other")
	with := func(pod *v1.Pod, change func(*v1.Pod)) *v1.Pod {
		change(pod)
		return pod
	}
	ofOther := func(pod *v1.Pod) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, v1.PodReadinessGate{ConditionType: other})
	}
	openedAt := func(before time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Status.Conditions[1].LastTransitionTime = metav1.NewTime(at.Add(-before))
		}
	}
	for name, c := range map[string]struct {
		pod           *v1.Pod
		counts, waits bool
	}{
		"containers not ready":        {newPod(), false, false},
		"containers ready":            {newPod(v1.ContainersReady), true, true},
		"deleted":                     {with(newPod(v1.ContainersReady), func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: at} }), false, false},
		"no gate":                     {with(newPod(v1.ContainersReady), func(pod *v1.Pod) { pod.Spec.ReadinessGates = nil }), false, false},
		"another gate that is closed": {with(newPod(v1.ContainersReady), ofOther), false, false},
		"another gate that is open":   {with(newPod(v1.ContainersReady, other), ofOther), true, true},
		"gate opened just now":        {with(newPod(v1.ContainersReady, Condition), openedAt(time.Second)), true, false},
		"gate opened long ago":        {with(newPod(v1.ContainersReady, Condition), openedAt(settle)), false, false},
		"gate open, containers not":   {newPod(Condition), false, false},
	} {
		trimmed, err := trim(c.pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []any{c.pod, trimmed} {
			pod, _ := from.(*v1.Pod)
			read := Read(pod, at)
			if (read != nil) != c.counts || read != nil && read.Waits() != c.waits {
				t.Errorf("%s: %+v, want one that counts: %v, and waits: %v", name, read, c.counts, c.waits)
			}
			if read != nil && fmt.Sprint(read.Addresses) != "[10.1.0.9 fd00::9]" {
				t.Errorf("%s: addresses %v", name, read.Addresses)
			}
		}
		if again, _ := trim(trimmed); !reflect.DeepEqual(again, trimmed) {
			t.Errorf("%s: trimmed twice it is %+v", name, again)
		}
	}
}

// A gate waits only for load balancers that may still follow the pod, and not for long.
//
//proves:132
func TestVerdict_OpensGate(t *testing.T) {
	t.Parallel()
	web, dns := types.NamespacedName{Namespace: "default", Name: "web"}, types.NamespacedName{Namespace: "default", Name: "dns"}
	both := []types.NamespacedName{web, dns}
	for name, c := range map[string]struct {
		holding []types.NamespacedName
		served  map[types.NamespacedName]bool
		waited  time.Duration
		want    string
	}{
		"no load balancer":             {nil, nil, 0, "NotAwaited"},
		"none that is left":            {nil, map[types.NamespacedName]bool{web: true}, 0, "NotAwaited"},
		"none has followed":            {both, nil, patience - 1, ""},
		"one has followed":             {both, map[types.NamespacedName]bool{web: true}, 0, ""},
		"both have followed":           {both, map[types.NamespacedName]bool{web: true, dns: true}, 0, "Followed"},
		"one has failed":               {both, map[types.NamespacedName]bool{web: true, dns: false}, 0, "Failed"},
		"one has failed, one may come": {both, map[types.NamespacedName]bool{web: false}, 0, ""},
		"one is stuck":                 {both, map[types.NamespacedName]bool{web: true}, patience, "TimedOut"},
	} {
		condition, open := verdict(c.holding, c.served, c.waited)
		if condition.Reason != c.want || open != (c.want != "") || open && (condition.Type != Condition || condition.Status != v1.ConditionTrue) {
			t.Errorf("%s: %+v %v, want %q", name, condition, open, c.want)
		}
	}
}
