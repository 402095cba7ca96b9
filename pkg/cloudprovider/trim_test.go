package cloudprovider

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestInformers_KeepWhatIsRead(t *testing.T) {
	t.Parallel()
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes([]byte(`{"f:spec":{}}`))
	written := []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: fields}}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "z"}, ManagedFields: written},
		Status: corev1.NodeStatus{
			Images:    []corev1.ContainerImage{{Names: []string{"registry.example/image"}}},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
		},
	}
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ManagedFields: written}, Spec: corev1.ServiceSpec{ClusterIP: "10.1.0.1"}}
	client := fake.NewClientset(kubeSystem(), node, svc)
	p := New(t.Context(), Options{
		Client:           client,
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return &engine{}, nil },
	})
	p.Initialize(nil, t.Context().Done())
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())

	kept, err := factory.Core().V1().Nodes().Lister().Get("a")
	if err != nil || kept.ManagedFields != nil || kept.Status.Images != nil || kept.Labels["zone"] != "z" || len(kept.Status.Addresses) != 1 {
		t.Errorf("Node %+v, %v", kept, err)
	}
	keptService, err := factory.Core().V1().Services().Lister().Services("default").Get("web")
	if err != nil || keptService.ManagedFields != nil || keptService.Spec.ClusterIP != "10.1.0.1" {
		t.Errorf("Service %+v, %v", keptService, err)
	}
}
