package gates

import (
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Label with the value "true" asks for the gate of a pod.
	Label = "loadbalancer.openstack.org/readiness-gate"
	// Condition is the type of the condition that the gate requires.
	Condition = v1.PodConditionType("loadbalancer.openstack.org/ready")
)

// settle is how long a pod counts as ready after its gate was opened: the kubelet and the controller
// of EndpointSlices take some seconds.
const settle = 30 * time.Second

// Pod is a pod with the gate and with ready containers.
type Pod struct {
	UID       types.UID
	Labels    labels.Set
	Addresses []netip.Addr
	// Until is the end of the time in which the pod counts as ready, zero while its gate is closed.
	Until time.Time
}

// Waits reports whether the gate is closed.
func (p Pod) Waits() bool { return p.Until.IsZero() }

// Read returns a pod if it counts as ready at a time, although EndpointSlices may not have it as
// ready: its containers are ready, all other gates are open, and its gate is closed, or was opened
// within settle. Otherwise it returns nil.
func Read(from *v1.Pod, now time.Time) *Pod {
	gate := v1.PodReadinessGate{ConditionType: Condition}
	if from.DeletionTimestamp != nil || !isTrue(from, v1.ContainersReady) || !slices.Contains(from.Spec.ReadinessGates, gate) {
		return nil
	}
	pod := &Pod{UID: from.UID, Labels: from.Labels}
	for _, other := range from.Spec.ReadinessGates {
		if other != gate && !isTrue(from, other.ConditionType) {
			return nil
		}
	}
	if isTrue(from, Condition) {
		pod.Until = conditionOf(from, Condition).LastTransitionTime.Add(settle)
		if !now.Before(pod.Until) {
			return nil
		}
	}
	for _, ip := range from.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			pod.Addresses = append(pod.Addresses, address.Unmap())
		}
	}
	return pod
}

func conditionOf(pod *v1.Pod, of v1.PodConditionType) *v1.PodCondition {
	at := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == of })
	if at < 0 {
		return nil
	}
	return &pod.Status.Conditions[at]
}

func isTrue(pod *v1.Pod, of v1.PodConditionType) bool {
	condition := conditionOf(pod, of)
	return condition != nil && condition.Status == v1.ConditionTrue
}

// trim implements cache.TransformFunc: it leaves the parts of a pod that Read uses.
func trim(object any) (any, error) {
	from, is := object.(*v1.Pod)
	if !is {
		return object, nil
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: from.Namespace, Name: from.Name, UID: from.UID, ResourceVersion: from.ResourceVersion, Labels: from.Labels, DeletionTimestamp: from.DeletionTimestamp,
		},
		Spec:   v1.PodSpec{ReadinessGates: from.Spec.ReadinessGates},
		Status: v1.PodStatus{PodIPs: from.Status.PodIPs},
	}
	for _, c := range from.Status.Conditions {
		if c.Type == v1.ContainersReady || slices.Contains(from.Spec.ReadinessGates, v1.PodReadinessGate{ConditionType: c.Type}) {
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	return pod, nil
}
