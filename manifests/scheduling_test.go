package manifests_test

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

const role = "node-role.kubernetes.io/"

func taint(key, value string, effect v1.TaintEffect) v1.Taint {
	return v1.Taint{Key: key, Value: value, Effect: effect}
}

// Every distribution has labels and taints of its own for its control plane. The pod
// runs on all of those nodes, before anything else does, and on no other.
//
//proves:98
func TestPod_RunsOnEveryControlPlaneAndNowhereElse(t *testing.T) {
	t.Parallel()
	pod := only[*appsv1.DaemonSet](t).Spec.Template.Spec
	for name, test := range map[string]struct {
		labels map[string]string
		taints []v1.Taint
		runs   bool
	}{
		"kubeadm":      {map[string]string{role + "control-plane": ""}, []v1.Taint{taint(role+"control-plane", "", v1.TaintEffectNoSchedule)}, true},
		"RKE2 and k3s": {map[string]string{role + "control-plane": "true", role + "etcd": "true", role + "master": "true"}, nil, true},
		"RKE2, as its documentation taints servers": {map[string]string{role + "control-plane": "true"},
			[]v1.Taint{taint("CriticalAddonsOnly", "true", v1.TaintEffectNoExecute)}, true},
		"RKE2, made by Rancher": {map[string]string{role + "control-plane": "true", role + "etcd": "true"},
			[]v1.Taint{taint(role+"control-plane", "", v1.TaintEffectNoSchedule), taint(role+"etcd", "", v1.TaintEffectNoExecute)}, true},
		"RKE1": {map[string]string{role + "controlplane": "true", role + "etcd": "true"},
			[]v1.Taint{taint(role+"controlplane", "true", v1.TaintEffectNoSchedule), taint(role+"etcd", "true", v1.TaintEffectNoExecute)}, true},
		"a worker":                   {map[string]string{role + "worker": "true"}, nil, false},
		"a control plane for others": {map[string]string{role + "control-plane": ""}, []v1.Taint{taint("dedicated", "database", v1.TaintEffectNoSchedule)}, false},
	} {
		labels := maps.Clone(test.labels)
		labels["kubernetes.io/os"] = "linux"
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
		node.Spec.Taints = append(test.taints, taint("node.cloudprovider.kubernetes.io/uninitialized", "true", v1.TaintEffectNoSchedule),
			taint("node.kubernetes.io/not-ready", "", v1.TaintEffectNoSchedule))
		fits, err := nodeaffinity.GetRequiredNodeAffinity(&v1.Pod{Spec: pod}).Match(node)
		if err != nil {
			t.Fatal(err)
		}
		untolerated, found := scheduling.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Tolerations, nil, false)
		if got := fits && !found; got != test.runs {
			t.Errorf("%s: the pod runs there: %v, want %v (affinity %v, taint %v)", name, got, test.runs, fits, untolerated)
		}
	}
}
