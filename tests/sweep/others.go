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
	"github.com/openstack-ccm/openstack-ccm/tests/world"
)

// inheritance is what cloud-provider-openstack left in a real OpenStack.
const inheritance = "../../pkg/loadbalancer/testdata/peer-state"

// adoptions begin with what cloud-provider-openstack left.
func adoptions() []Scenario {
	nothing := func(context.Context, *world.World) error { return nil }
	all := []Scenario{
		{Name: "adopt", Act: nothing},
		{Name: "adopt while a node goes", Act: func(_ context.Context, w *world.World) error {
			w.Cluster.DeleteNode(w.Cluster.Nodes()[0].Name)
			return nil
		}},
		{Name: "adopt while a port changes", Act: func(_ context.Context, w *world.World) error {
			w.Cluster.Edit(key("web-1"), func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 32001 })
			return nil
		}},
		{Name: "adopt and delete", Act: func(_ context.Context, w *world.World) error {
			for _, svc := range w.Cluster.Services() {
				w.Cluster.Delete(world.KeyOf(svc))
			}
			return nil
		}},
	}
	for i := range all {
		all[i].Cold, all[i].Before = true, inherit
		all[i].Options = world.Options{Simulator: simulator.Options{Release: "zed"}, ClusterName: "rig", ClusterUID: inheritedCluster().ClusterUID}
	}
	return all
}

// recorded is how long after the first moment of a bubble the state was recorded.
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

// inherit fills a world with it.
func inherit(w *world.World) error {
	time.Sleep(time.Until(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Add(recorded))) // what is to come looks new to a replica that lags behind
	state, err := os.ReadFile(filepath.Join(inheritance, "openstack.json"))
	if err != nil {
		return err
	}
	if err := w.Cloud.Restore(state); err != nil {
		return err
	}
	conf, err := os.ReadFile(filepath.Join(inheritance, "cloud.conf"))
	if err != nil {
		return err
	}
	_, keys, _ := strings.Cut(string(conf), "[LoadBalancer]")
	credentials, _, _ := strings.Cut(w.Cloud.CloudConf(), "[LoadBalancer]")
	if err := w.ConfigureText(credentials + "[LoadBalancer]" + keys); err != nil {
		return err
	}
	cluster := inheritedCluster()
	for _, node := range cluster.Nodes {
		w.Cluster.SetNode(node)
	}
	for _, svc := range cluster.Services {
		w.Cluster.Restore(svc)
	}
	return nil
}

// nodes are scenarios of the controllers of nodes and of routes.
func nodes() []Scenario {
	some := func(w *world.World) error { return addNodes(w, 3) }
	all := []Scenario{
		{Name: "node joins", Act: func(_ context.Context, w *world.World) error { return w.AddJoiningNode("node-9", "127.100.1.9") }},
		{Name: "server deleted", Act: func(_ context.Context, w *world.World) error {
			w.Cloud.Nova.DeleteServer(serverOf(w, "node-1"))
			w.SetReady("node-1", false)
			return nil
		}, Check: gone("node-1")},
		{Name: "server shut off", Act: func(_ context.Context, w *world.World) error {
			w.Cloud.Nova.SetStatus(serverOf(w, "node-1"), "SHUTOFF")
			w.SetReady("node-1", false)
			return nil
		}, Check: gone()},
		{Name: "nodes not ready", Act: func(_ context.Context, w *world.World) error {
			for _, node := range w.Cluster.Nodes() {
				w.SetReady(node.Name, false)
			}
			return nil
		}, Check: gone()},
	}
	for i := range all {
		all[i].Before, all[i].Options = some, world.Options{Instances: true}
	}
	return append(all, routes()...)
}

func serverOf(w *world.World, node string) string {
	return strings.TrimPrefix(w.Cluster.Node(node).Spec.ProviderID, "openstack:///")
}

// gone checks which Nodes were deleted.
func gone(want ...string) func(*world.World) []string {
	return func(w *world.World) []string {
		if got := w.GoneNodes(); !slices.Equal(got, append([]string(nil), want...)) {
			return []string{fmt.Sprintf("the Nodes %q were deleted, not %q", got, want)}
		}
		return nil
	}
}

func routes() []Scenario {
	routed := func(w *world.World, from, to int) error {
		for i := from; i < to; i++ {
			name, address := fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", i)
			if _, err := w.AddNode(name, address, fmt.Sprintf("10.244.%d.0/24", i)); err != nil {
				return err
			}
		}
		return nil
	}
	all := []Scenario{
		{Name: "routes created", Act: func(_ context.Context, w *world.World) error { return routed(w, 3, 5) }},
		{Name: "route deleted", Act: func(_ context.Context, w *world.World) error {
			w.Cluster.DeleteNode("node-1")
			return nil
		}},
		{Name: "routes replaced", Act: func(_ context.Context, w *world.World) error {
			w.Cluster.DeleteNode("node-1")
			return routed(w, 3, 4)
		}},
	}
	for i := range all {
		all[i].Before, all[i].Options = func(w *world.World) error { return routed(w, 1, 3) }, world.Options{Routes: true}
	}
	return all
}
