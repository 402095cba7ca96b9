package main

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func TestServiceInformers_ListNodesWithoutEventsAndServicesWithTheirs(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	silent := serviceInformers{factory, &serviceCalls{}}.Core().V1()
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
	<-others // the new node, of which the silent handler would have an event now or soon
	select {
	case name := <-events:
		t.Errorf("the service controller is told of %s", name)
	default:
	}
	if !silent.Nodes().Informer().HasSynced() {
		t.Error("the informer of nodes has not synced")
	}
}

func TestAnyNode_IsListedAsLongAsAnyCanBeMember(t *testing.T) {
	t.Parallel()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	all := anyNode{NodeLister: corelisters.NewNodeLister(indexer)}
	node := func(name, excluded string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelNodeExcludeBalancers: excluded}}}
	}
	for _, step := range []struct {
		what string
		do   func(any) error
		node *v1.Node
		want int
	}{
		{"one that is excluded", indexer.Add, node("a", "true"), 0},
		{"one that is not", indexer.Add, node("b", "false"), 1},
		{"another one", indexer.Add, node("c", "false"), 1},
		{"the second is excluded", indexer.Update, node("b", "true"), 1},
		{"the third goes", indexer.Delete, node("c", "false"), 0},
		{"the first is excluded no more", indexer.Update, node("a", "false"), 1},
	} {
		if err := step.do(step.node); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			listed, err := all.List(labels.Everything())
			if err != nil || len(listed) != step.want {
				t.Errorf("%s: %v, %v, want %d", step.what, listed, err, step.want)
			}
		}
	}
}
