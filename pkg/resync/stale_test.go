package resync

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// Whatever the informers deliver (old, out of order, twice), each Service is served as last known,
// and a Service that the API server does not have is never taken for an existing one.
func TestController_OutlivesEventsThatAreOldOutOfOrderAndTwice(t *testing.T) {
	t.Parallel()
	var services, nodes *watch.FakeWatcher
	newClient := func() *fake.Clientset {
		client := fake.NewClientset(objects(newService("web"), newService("gone"))...)
		services, nodes = watch.NewFake(), watch.NewFake()
		for resource, feed := range map[string]*watch.FakeWatcher{"services": services, "nodes": nodes} {
			client.PrependWatchReactor(resource, k8stesting.DefaultWatchReactor(feed, nil))
		}
		return client
	}
	runOn(t, &fakeEngine{}, newClient, func(f *fixture) {
		old, now := newService("web"), newService("web")
		old.ResourceVersion, now.ResourceVersion = "5", "9"
		now.Annotations = map[string]string{"seen": "newest"}
		for _, object := range []runtime.Object{now, old, old, now, now} {
			services.Modify(object)
		}
		services.Add(now)
		gone := newService("gone")
		if err := f.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("services"), "default", "gone"); err != nil {
			t.Fatal(err)
		}
		services.Delete(gone)
		services.Delete(gone)
		services.Modify(gone) // a new watch, of an API server that lags behind
		c := newNode("c", "10.0.0.3")
		for range 2 {
			nodes.Add(c)
			nodes.Delete(c)
			nodes.Modify(c)
		}
		f.advance(batchPeriod)
		if got, _ := f.controller.Newest(old); got == nil || got.Annotations["seen"] != "newest" {
			t.Errorf("the newest is %v", got)
		}
		f.engine.mu.Lock()
		defer f.engine.mu.Unlock()
		if len(f.engine.repaired) == 0 {
			t.Error("nothing is repaired")
		}
		for n, repaired := range f.engine.repaired {
			if name, _, _ := strings.Cut(repaired, ":"); f.engine.existed[n] != (name == "web") {
				t.Errorf("repaired %s, which exists: %v", repaired, f.engine.existed[n])
			}
		}
	})
}
