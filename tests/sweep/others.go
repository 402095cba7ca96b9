package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// inheritance is the directory with the state that cloud-provider-openstack left in a real
// OpenStack.
const inheritance = "../../pkg/loadbalancer/testdata/peer-state"

// adoptions returns scenarios that begin with that state.
func adoptions() []Scenario {
	nothing := func(context.Context, *testenv.Env) error { return nil }
	all := []Scenario{
		{Name: "adopt", Act: nothing},
		{Name: "adopt while a node goes", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode(env.Cluster.Nodes()[0].Name)
			return nil
		}},
		{Name: "adopt while a port changes", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.Edit(key("web-1"), func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 32001 })
			return nil
		}},
		{Name: "adopt and delete", Act: func(_ context.Context, env *testenv.Env) error {
			for _, svc := range env.Cluster.Services() {
				env.Cluster.Delete(testenv.KeyOf(svc))
			}
			return nil
		}},
	}
	for i := range all {
		all[i].Cold, all[i].Before = true, inherit
		all[i].Options = testenv.Options{Simulator: simulator.Options{Release: "zed"}, ClusterName: "rig", ClusterUID: inheritedCluster().ClusterUID}
	}
	return all
}

// recorded is the time of the recorded state, from the first moment of a bubble.
const recorded = 27 * 365 * 24 * time.Hour

type inherited struct {
	ClusterUID string        `json:"kube-system-uid"`
	Nodes      []*v1.Node    `json:"nodes"`
	Services   []*v1.Service `json:"services"`
}

func inheritedCluster() (cluster inherited) {
	text, err := os.ReadFile(filepath.Join(inheritance, "kubernetes.json"))
	if err == nil {
		err = json.Unmarshal(text, &cluster)
	}
	if err != nil {
		panic(fmt.Sprintf("the sweep runs in its own directory: %v", err))
	}
	return cluster
}

// inherit creates that state in an environment.
func inherit(env *testenv.Env) error {
	time.Sleep(time.Until(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Add(recorded))) // later objects look new to a replica that lags behind
	state, err := os.ReadFile(filepath.Join(inheritance, "openstack.json"))
	if err != nil {
		return err
	}
	if err := env.Cloud.Restore(state); err != nil {
		return err
	}
	conf, err := os.ReadFile(filepath.Join(inheritance, "cloud.conf"))
	if err != nil {
		return err
	}
	_, keys, _ := strings.Cut(string(conf), "[LoadBalancer]")
	credentials, _, _ := strings.Cut(env.Cloud.CloudConf(), "[LoadBalancer]")
	if err := env.ConfigureText(credentials + "[LoadBalancer]" + keys); err != nil {
		return err
	}
	cluster := inheritedCluster()
	for _, node := range cluster.Nodes {
		env.Cluster.SetNode(node)
	}
	for _, svc := range cluster.Services {
		env.Cluster.Restore(svc)
	}
	return nil
}

// nodes returns scenarios of the controllers of nodes and of routes.
func nodes() []Scenario {
	some := func(env *testenv.Env) error { return addNodes(env, 3) }
	all := []Scenario{
		{Name: "node joins", Act: func(_ context.Context, env *testenv.Env) error { return env.AddJoiningNode("node-9", "127.100.1.9") }},
		{Name: "server deleted", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cloud.Nova.DeleteServer(serverOf(env, "node-1"))
			env.SetReady("node-1", false)
			return nil
		}, Check: gone("node-1")},
		{Name: "server shut off", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cloud.Nova.SetStatus(serverOf(env, "node-1"), "SHUTOFF")
			env.SetReady("node-1", false)
			return nil
		}, Check: gone()},
		{Name: "nodes not ready", Act: func(_ context.Context, env *testenv.Env) error {
			for _, node := range env.Cluster.Nodes() {
				env.SetReady(node.Name, false)
			}
			return nil
		}, Check: gone()},
	}
	for i := range all {
		all[i].Before, all[i].Options = some, testenv.Options{Instances: true}
	}
	return append(all, routes()...)
}

func serverOf(env *testenv.Env, node string) string {
	return strings.TrimPrefix(env.Cluster.Node(node).Spec.ProviderID, "openstack:///")
}

// gone checks which Nodes were deleted.
func gone(want ...string) func(*testenv.Env) []string {
	return func(env *testenv.Env) []string {
		if got := env.GoneNodes(); !slices.Equal(got, append([]string(nil), want...)) {
			return []string{fmt.Sprintf("the Nodes %q were deleted, not %q", got, want)}
		}
		return nil
	}
}

func routes() []Scenario {
	routed := func(env *testenv.Env, from, to int) error {
		for i := from; i < to; i++ {
			name, address := fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", i)
			if _, err := env.AddNode(name, address, fmt.Sprintf("10.244.%d.0/24", i)); err != nil {
				return err
			}
		}
		return nil
	}
	all := []Scenario{
		{Name: "routes created", Act: func(_ context.Context, env *testenv.Env) error { return routed(env, 3, 5) }},
		{Name: "route deleted", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode("node-1")
			return nil
		}},
		{Name: "routes replaced", Act: func(_ context.Context, env *testenv.Env) error {
			env.Cluster.DeleteNode("node-1")
			return routed(env, 3, 4)
		}},
	}
	for i := range all {
		all[i].Before, all[i].Options = func(env *testenv.Env) error { return routed(env, 1, 3) }, testenv.Options{Routes: true}
	}
	return all
}
