package resync

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// recreated returns a new Service with the name of one that is gone.
func recreated(name string) *v1.Service {
	s := newService(name)
	s.UID = "another"
	return s
}

func deleting(name string) *v1.Service {
	s := newService(name)
	s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return s
}

func TestNewest_ReturnsWhatTheInformersHave(t *testing.T) {
	t.Parallel()
	changed := newService("web")
	changed.Annotations = map[string]string{"seen": "newest"}
	excludedNode := newNode("c", "10.0.0.3")
	excludedNode.Labels[v1.LabelNodeExcludeBalancers] = ""
	run(t, &fakeEngine{}, append(objects(changed, recreated("recreated")), excludedNode), func(f *fixture) {
		got, nodes := f.controller.Newest(newService("web"))
		if got == nil || got.Annotations["seen"] != "newest" || len(nodes) != 3 {
			t.Errorf("got %v with nodes %v", got, nodes)
		}
		for _, name := range []string{"recreated", "deleted"} {
			if got, _ := f.controller.Newest(newService(name)); got != nil {
				t.Errorf("%s: got %v", name, got)
			}
		}
	})
}

func TestNewest_GivesOneListOfNodesUntilOneChanges(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web"), newService("mail")), func(f *fixture) {
		list := func(service string) (nodes []*v1.Node, names string) {
			_, nodes = f.controller.Newest(newService(service))
			for _, node := range nodes {
				names += node.Name
			}
			return nodes, names
		}
		before, _ := list("web")
		for _, change := range []struct {
			what, want string
			change     func()
		}{
			{"added", "abc", func() { f.addNode(newNode("c", "10.0.0.3")) }},
			{"another address", "abc", func() {
				f.changeNode(newNode("a", "10.0.0.1"), func(n *v1.Node) { n.Status.Addresses[0].Address = "10.0.0.9" })
			}},
			{"excluded", "abc", func() {
				f.changeNode(newNode("a", "10.0.0.9"), func(n *v1.Node) { n.Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""} })
			}},
			{"deleted", "ab", func() { f.deleteNode("c") }},
		} {
			change.change()
			f.advance(0)
			now, names := list("web")
			if names != change.want || &now[0] == &before[0] {
				t.Errorf("%s: nodes %q, the list of before: %t, want %q in another", change.what, names, &now[0] == &before[0], change.want)
			}
			if again, _ := list("mail"); &again[0] != &now[0] {
				t.Errorf("%s: another list for another Service", change.what)
			}
			before = now
		}
	})
}

func TestServices_AreThoseOfTheNamespace(t *testing.T) {
	t.Parallel()
	other := newService("web")
	other.Namespace = "other"
	run(t, &fakeEngine{}, objects(newService("web"), newService("mail"), other), func(f *fixture) {
		for name, services := range map[string]func(context.Context) ([]*v1.Service, error){
			"of the informer":   func(context.Context) ([]*v1.Service, error) { return f.controller.Services("default") },
			"of the API server": func(ctx context.Context) ([]*v1.Service, error) { return ReadServices(ctx, f.client, "default") },
		} {
			got, err := services(t.Context())
			var names []string
			for _, svc := range got {
				names = append(names, svc.Namespace+"/"+svc.Name)
			}
			slices.Sort(names)
			if want := []string{"default/mail", "default/web"}; err != nil || !slices.Equal(names, want) {
				t.Errorf("%s: %v, %v, want %v", name, names, err, want)
			}
		}
		f.client.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
		if got, err := ReadServices(t.Context(), f.client, "default"); err == nil {
			t.Errorf("no error, and %v", got)
		}
		if got, err := f.controller.Services("empty"); got == nil || err != nil {
			t.Errorf("a namespace without Services: %v, %v; nil means unknown", got, err)
		}
		f.controller.synced = func() bool { return false }
		if got, err := f.controller.Services("default"); got != nil || err != nil {
			t.Errorf("before the informer has them: %v, %v", got, err)
		}
	})
}

func TestEnqueue_IgnoresServiceThatIsGoneThoughItsNameIsThere(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web"), recreated("recreated")), func(f *fixture) {
		f.controller.Enqueue(newService("recreated"))
		f.controller.Enqueue(newService("web"))
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b")
	})
}

// Only the API server knows whether that very Service still exists.
func TestExists_OnlyForTheSameService(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web"), deleting("deleting"), newService("other"), recreated("recreated")), func(f *fixture) {
		for name, want := range map[string]bool{"web": true, "deleting": false, "recreated": false, "deleted": false} {
			if got, err := f.controller.api.exists(f.t.Context(), newService(name)); got != want || err != nil {
				t.Errorf("%s: exists %v, error %v, want %v", name, got, err, want)
			}
		}
	})
}

// The role of cloud-provider-openstack permits to list and watch Services, but not to get
// them.
func TestExists_GoesByTheCacheWithoutTheRightToGetServices(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(newService("web"), deleting("deleting"), recreated("recreated")), func(f *fixture) {
		for refusal, served := range map[error]bool{
			apierrors.NewForbidden(v1.Resource("services"), "x", errors.New("no")): true,
			errors.New("broken"): false,
		} {
			f.client.PrependReactor("get", "services", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
			for name, want := range map[string]bool{"web": true, "deleting": false, "recreated": false, "deleted": false} {
				if got, err := f.controller.api.exists(f.t.Context(), newService(name)); got != (want && served) || (err == nil) != served {
					t.Errorf("%v, %s: exists %v, error %v, want %v", refusal, name, got, err, want)
				}
			}
		}
	})
}

func TestLive_HasAllServices(t *testing.T) {
	t.Parallel()
	other := unmanaged("other")
	run(t, &fakeEngine{}, objects(newService("web"), other), func(f *fixture) {
		if live := f.controller.Live(); len(live) != 2 || !live["uid-web"] || !live["uid-other"] {
			t.Errorf("%v", live)
		}
	})
}

// A Service is ensured for the first time, and its finalizer has not reached the informer when
// cloud.conf changes.
//
//proves:94
func TestEnqueueAll_TakesServiceThatIsManagedByThen(t *testing.T) {
	t.Parallel()
	internal := unmanaged("internal")
	internal.Spec.Type = v1.ServiceTypeClusterIP
	run(t, &fakeEngine{}, objects(newService("web"), unmanaged("new"), unmanaged("other"), internal), func(f *fixture) {
		f.controller.EnqueueAll()
		if _, err := f.client.CoreV1().Services("default").Update(f.t.Context(), newService("new"), metav1.UpdateOptions{}); err != nil {
			f.t.Fatal(err)
		}
		f.advance(batchPeriod)
		f.assertRepaired("new:a,b", "web:a,b")
	})
}
