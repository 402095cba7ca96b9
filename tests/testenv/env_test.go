package testenv_test

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
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
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

// live runs an environment with two nodes and its controller.
func live(t *testing.T, options testenv.Options, f func(t *testing.T, env *testenv.Env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if testing.Verbose() {
			options.Log = os.Stderr
		}
		env, err := testenv.New(options)
		if err != nil {
			t.Fatal(err)
		}
		defer env.Close()
		for name, address := range map[string]string{"node-1": "127.100.1.1", "node-2": "127.100.1.2"} {
			if _, err := env.AddNode(name, address); err != nil {
				t.Fatal(err)
			}
		}
		env.Start(t.Context())
		f(t, env)
	})
}

func settle(t *testing.T, env *testenv.Env) {
	t.Helper()
	if err := env.Settle(t.Context(), 2*testenv.DriftInterval, time.Hour); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(env.Events(), "\n"))
	}
}

func TestEnv_LivesThroughLifeOfServiceWithinMoments(t *testing.T) {
	t.Parallel()
	live(t, testenv.Options{}, func(t *testing.T, env *testenv.Env) {
		empty := env.Books()
		env.Cluster.Apply(service("web", 80, 81))
		settle(t, env)
		if address := env.Addresses()[testenv.Key{Namespace: "default", Name: "web"}]; address == "" {
			t.Errorf("no address: %v", env.Events())
		}
		if e := env.Exposure(); len(e.Listeners) != 2 || len(e.Members) != 2 {
			t.Errorf("exposure %+v", e)
		}
		if leaks := env.Leaks(); len(leaks) > 0 {
			t.Errorf("leaks %q", leaks)
		}
		env.Cluster.Delete(testenv.Key{Namespace: "default", Name: "web"})
		settle(t, env)
		if diff := empty.Diff(env.Books()); len(diff) > 0 {
			t.Errorf("left:\n%s", strings.Join(diff, "\n"))
		}
	})
}

func TestEnv_GoesOnWhereKilledProcessLeftOff(t *testing.T) {
	t.Parallel()
	live(t, testenv.Options{}, func(t *testing.T, env *testenv.Env) {
		env.Cluster.Apply(service("web", 80))
		settle(t, env)
		env.Kill()
		env.Cluster.Edit(testenv.Key{Namespace: "default", Name: "web"}, func(svc *v1.Service) { svc.Spec.Ports[0].Port = 443 })
		settle(t, env)
		if _, is := env.Exposure().Listeners["kube_service_kubernetes_default_web TCP/443"]; !is || env.Restarts() == 0 {
			t.Errorf("exposure %+v after %d restarts", env.Exposure(), env.Restarts())
		}
	})
}

// A change of a Node during a read of its server is not reverted after the read.
func TestEnv_KeepsWhatHappensToNodeWhileItsServerIsAskedFor(t *testing.T) {
	t.Parallel()
	live(t, testenv.Options{Instances: true}, func(t *testing.T, env *testenv.Env) {
		env.Cloud.Faults.Plant(faults.Rule{Route: "/compute/v2.1/servers/{id}", AnswerDelay: 2 * time.Second, Count: 2})
		time.Sleep(time.Second)
		env.Cloud.Nova.DeleteServer(strings.TrimPrefix(env.Cluster.Node("node-1").Spec.ProviderID, "openstack:///"))
		env.SetReady("node-1", false)
		time.Sleep(time.Minute)
		if env.Cluster.Node("node-1") != nil || env.Cluster.Node("node-2") == nil {
			t.Errorf("there are %v", env.Cluster.Nodes())
		}
	})
}

// An environment can drop its records while it runs.
func TestEnv_GoesOnWhenItForgetsThePast(t *testing.T) {
	t.Parallel()
	live(t, testenv.Options{}, func(t *testing.T, env *testenv.Env) {
		env.Cluster.Apply(service("web", 80))
		settle(t, env)
		env.Forget()
		if n := env.Cloud.RequestLog.Len(); n > 0 || len(env.Events()) > 0 {
			t.Errorf("%d requests, %d events are kept", n, len(env.Events()))
		}
		env.Cluster.Delete(testenv.Key{Namespace: "default", Name: "web"})
		time.Sleep(time.Second)
		if env.Cloud.Connections() == 0 { // A connection closes when it has not been used for a while.
			t.Error("no connection is open")
		}
		settle(t, env)
		if all := env.Cloud.Octavia.Snapshot(); len(all) > 0 {
			t.Errorf("left: %v", all)
		}
	})
}

// A running process takes other credentials, and the next one has them, too.
func TestEnv_TakesOtherCredentialsWhileItRuns(t *testing.T) {
	t.Parallel()
	live(t, testenv.Options{}, func(t *testing.T, env *testenv.Env) {
		time.Sleep(time.Minute)
		other := env.Cloud.AddUser(env.Cloud.Account, "other")
		if err := env.Reload(t.Context(), env.Cloud.CloudConfFor(other, simulator.Config{})); err != nil {
			t.Fatal(err)
		}
		if err := env.Reload(t.Context(), env.Cloud.CloudConfFor(simulator.Account{UserName: "nobody", Password: "x", ProjectName: "k8s"}, simulator.Config{})); err == nil {
			t.Error("nobody may sign in")
		}
		env.Cluster.Apply(service("web", 80))
		settle(t, env)
	})
}
