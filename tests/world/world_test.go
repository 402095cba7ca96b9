package world_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/world"
)

func service(name string, ports ...int32) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
		},
	}
	for _, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: port, NodePort: 30000 + port})
	}
	return svc
}

// live runs a world with two nodes and its controller.
func live(t *testing.T, options world.Options, f func(t *testing.T, w *world.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if testing.Verbose() {
			options.Log = os.Stderr
		}
		w, err := world.New(options)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for name, address := range map[string]string{"node-1": "127.100.1.1", "node-2": "127.100.1.2"} {
			if _, err := w.AddNode(name, address); err != nil {
				t.Fatal(err)
			}
		}
		w.Start(t.Context())
		f(t, w)
	})
}

func settle(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.Settle(t.Context(), 2*world.DriftInterval, time.Hour); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(w.Events(), "\n"))
	}
}

func TestWorld_LivesThroughLifeOfServiceWithinMoments(t *testing.T) {
	t.Parallel()
	live(t, world.Options{}, func(t *testing.T, w *world.World) {
		empty := w.Books()
		w.Cluster.Apply(service("web", 80, 81))
		settle(t, w)
		if address := w.Addresses()[world.Key{Namespace: "default", Name: "web"}]; address == "" {
			t.Errorf("no address: %v", w.Events())
		}
		if e := w.Exposure(); len(e.Listeners) != 2 || len(e.Members) != 2 {
			t.Errorf("exposure %+v", e)
		}
		if leaks := w.Leaks(); len(leaks) > 0 {
			t.Errorf("leaks %q", leaks)
		}
		w.Cluster.Delete(world.Key{Namespace: "default", Name: "web"})
		settle(t, w)
		if diff := empty.Diff(w.Books()); len(diff) > 0 {
			t.Errorf("left:\n%s", strings.Join(diff, "\n"))
		}
	})
}

func TestWorld_GoesOnWhereKilledProcessLeftOff(t *testing.T) {
	t.Parallel()
	live(t, world.Options{}, func(t *testing.T, w *world.World) {
		w.Cluster.Apply(service("web", 80))
		settle(t, w)
		w.Kill()
		w.Cluster.Edit(world.Key{Namespace: "default", Name: "web"}, func(svc *v1.Service) { svc.Spec.Ports[0].Port = 443 })
		settle(t, w)
		if _, is := w.Exposure().Listeners["kube_service_kubernetes_default_web TCP/443"]; !is || w.Restarts() == 0 {
			t.Errorf("exposure %+v after %d restarts", w.Exposure(), w.Restarts())
		}
	})
}

// What happens to a Node while the controller asks for its server is not undone by the answer.
func TestWorld_KeepsWhatHappensToNodeWhileItsServerIsAskedFor(t *testing.T) {
	t.Parallel()
	live(t, world.Options{Instances: true}, func(t *testing.T, w *world.World) {
		w.Cloud.Faults.Plant(faults.Rule{Route: "/compute/v2.1/servers/{id}", AnswerDelay: 2 * time.Second, Count: 2})
		time.Sleep(time.Second)
		w.Cloud.Nova.DeleteServer(strings.TrimPrefix(w.Cluster.Node("node-1").Spec.ProviderID, "openstack:///"))
		w.SetReady("node-1", false)
		time.Sleep(time.Minute)
		if w.Cluster.Node("node-1") != nil || w.Cluster.Node("node-2") == nil {
			t.Errorf("there are %v", w.Cluster.Nodes())
		}
	})
}

// What a world keeps of the past can be forgotten while it goes on.
func TestWorld_GoesOnWhenItForgetsThePast(t *testing.T) {
	t.Parallel()
	live(t, world.Options{}, func(t *testing.T, w *world.World) {
		w.Cluster.Apply(service("web", 80))
		settle(t, w)
		w.Forget()
		if n := w.Cloud.RequestLog.Len(); n > 0 || len(w.Events()) > 0 {
			t.Errorf("%d requests, %d events are kept", n, len(w.Events()))
		}
		if w.Cloud.Connections() == 0 {
			t.Error("no connection is open")
		}
		w.Cluster.Delete(world.Key{Namespace: "default", Name: "web"})
		settle(t, w)
		if all := w.Cloud.Octavia.Snapshot(); len(all) > 0 {
			t.Errorf("left: %v", all)
		}
	})
}

// A process takes other credentials while it runs, and the next one has it, too.
func TestWorld_TakesOtherCredentialsWhileItRuns(t *testing.T) {
	t.Parallel()
	live(t, world.Options{}, func(t *testing.T, w *world.World) {
		time.Sleep(time.Minute)
		other := w.Cloud.AddUser(w.Cloud.Account, "other")
		if err := w.Reload(t.Context(), w.Cloud.CloudConfFor(other, simulator.Config{})); err != nil {
			t.Fatal(err)
		}
		if err := w.Reload(t.Context(), w.Cloud.CloudConfFor(simulator.Account{UserName: "nobody", Password: "x", ProjectName: "k8s"}, simulator.Config{})); err == nil {
			t.Error("nobody may sign in")
		}
		w.Cluster.Apply(service("web", 80))
		settle(t, w)
	})
}
