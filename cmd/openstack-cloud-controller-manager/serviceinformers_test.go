package main

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// Of two updates in order, the one of this process is omitted.
func TestServiceInformers_TellOfWhatOthersWrite(t *testing.T) {
	t.Parallel()
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	client := fake.NewClientset(service)
	factory := informers.NewSharedInformerFactory(client, 0)
	told := make(chan *v1.Service, 10)
	calls := &serviceCalls{written: func(before, now *v1.Service) bool {
		return before.Annotations["by"] == "" && now.Annotations["by"] == "us"
	}}
	calls.again(service) // without a handler yet
	services := serviceInformers{factory, calls}.Core().V1().Services()
	_, err := services.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { told <- now.(*v1.Service) },
		UpdateFunc: func(_, now any) { told <- now.(*v1.Service) },
		DeleteFunc: func(before any) { told <- before.(*v1.Service) },
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if now := <-told; len(now.Annotations) > 0 {
		t.Errorf("told of %v, want the new Service", now.Annotations)
	}
	for _, by := range []string{"us", "them"} {
		changed := service.DeepCopy()
		changed.Annotations = map[string]string{"by": by}
		if _, err := client.CoreV1().Services("default").Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if now := <-told; now.Annotations["by"] != "them" {
		t.Errorf("told of an update by %s, want by them only", now.Annotations["by"])
	}
	calls.again(service)
	if now := <-told; now != service {
		t.Errorf("told of %v, want the Service to call for again", now.Annotations)
	}
	if err := client.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := <-told; now.Annotations["by"] != "them" {
		t.Errorf("told of %v, want the deletion", now.Annotations)
	}
}
