package gates

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
)

// A pod that counts as ready no longer is replaced by another one of its name while the controller looks at the pods.
// Without an entry, the gate of the new pod would stay closed.
func TestExpire_DropsOnlyThePodThatItWasCalledFor(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]bool{"the same": false, "replaced": true} {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		g := New(Options{
			Client: fake.NewClientset(), Services: corelisters.NewServiceLister(indexer), Clock: testclock.NewFakeClock(at),
			Holds:  func(*v1.Service) bool { return true },
			Change: func(_ []types.NamespacedName, change func()) { change() }, Sync: func(types.NamespacedName) {},
		})
		opened := newPod(v1.ContainersReady, Condition)
		key := keyOf(opened)
		g.set(key, Read(opened, at.Add(-time.Minute)))
		seen, ok := g.all()[key]
		if !ok {
			t.Fatalf("%s: the pod does not count", name)
		}
		if replaced {
			waiting := newPod(v1.ContainersReady)
			waiting.UID = "another"
			g.set(key, Read(waiting, at))
		}
		g.expire(key, seen)
		if pod, ok := g.all()[key]; ok != replaced || ok && pod.UID != "another" {
			t.Errorf("%s: %+v", name, pod)
		}
	}
}
