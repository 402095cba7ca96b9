package main

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/openstack-ccm/openstack-ccm/tests/await"
)

func TestSilentNodes_AreListedWithoutEventsAndServicesHaveTheirs(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	silent := silentNodes{factory}.Core().V1()
	told := func(events chan<- string) cache.ResourceEventHandlerFuncs {
		return cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
			events <- object.(metav1.Object).GetName()
		}}
	}
	events, others := make(chan string, 10), make(chan string, 10)
	_, nodes := silent.Nodes().Informer().AddEventHandlerWithResyncPeriod(told(events), 0)
	_, services := silent.Services().Informer().AddEventHandlerWithResyncPeriod(told(events), 0)
	_, direct := factory.Core().V1().Nodes().Informer().AddEventHandler(told(others)) // as pkg/resync does
	if err := errors.Join(nodes, services, direct); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if name := <-others; name != "node-1" {
		t.Errorf("others are told of %s", name)
	}
	if name := <-events; name != "web" {
		t.Errorf("the service controller is told of %s, want web only", name)
	}
	added := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), added, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "the new node is listed", func(context.Context) error {
		_, err := silent.Nodes().Lister().Get("node-2")
		return err
	})
	<-others // the new node, which the silent handler would have been told of by now or soon
	select {
	case name := <-events:
		t.Errorf("the service controller is told of %s", name)
	default:
	}
	if !silent.Nodes().Informer().HasSynced() {
		t.Error("the informer of nodes has not synced")
	}
}
