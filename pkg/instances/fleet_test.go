package instances

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// lister has these nodes.
func lister(t *testing.T, nodes ...*v1.Node) (corelisters.NodeLister, clientcache.Indexer) {
	t.Helper()
	indexer := clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc, nil)
	for _, node := range nodes {
		if err := indexer.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	return corelisters.NewNodeLister(indexer), indexer
}

// numbered is the n-th node, which is ready, and its server.
func numbered(n int) (*v1.Node, nova.Server) {
	name, id := fmt.Sprintf("node-%d", n), fmt.Sprintf("0c6ae4c2-93a7-4d1c-8a5f-%012d", n)
	node := nodeNamed(name)
	node.UID, node.Spec.ProviderID = types.UID("uid-"+name), "openstack:///"+id
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return node, active(id, name)
}

func fail(node *v1.Node) { node.Status.Conditions[0].Status = v1.ConditionUnknown }

// manyNodes is a cluster of so many nodes and servers, of which the first are not ready.
func manyNodes(t *testing.T, nodes, notReady int) (*servers, []*v1.Node, corelisters.NodeLister, clientcache.Indexer) {
	t.Helper()
	cloud := &servers{}
	var all []*v1.Node
	for n := range nodes {
		node, server := numbered(n)
		if n < notReady {
			fail(node)
		}
		all, cloud.all = append(all, node), append(cloud.all, server)
	}
	listed, indexer := lister(t, all...)
	return cloud, all, listed, indexer
}

// monitor asks what the node lifecycle controller asks in a round about these nodes.
func monitor(t *testing.T, instances *Instances, nodes []*v1.Node) (gone, off, failed int) {
	t.Helper()
	for _, node := range nodes {
		exists, err := instances.InstanceExists(t.Context(), node)
		if err != nil {
			failed++
			continue
		}
		if !exists {
			gone++
			continue
		}
		shutdown, err := instances.InstanceShutdown(t.Context(), node)
		if err != nil {
			t.Error(err)
		}
		if shutdown {
			off++
		}
	}
	return gone, off, failed
}

// A list is no proof, so that each of those that seem gone is asked for.
func TestMonitor_CostsOneListAndRequestForEachNodeThatSeemsGone(t *testing.T) {
	t.Parallel()
	cloud, nodes, listed, _ := manyNodes(t, 1000, 500)
	instances, clock := newInstances(t, cloud)
	instances.UseNodes(listed)
	cloud.all[1].Status = nova.ServerShutoff
	cloud.hidden = map[string]bool{cloud.all[2].ID: true} // there, and in no list
	cloud.all[3].Status = nova.ServerSoftDeleted
	cloud.all = append(cloud.all[:4:4], cloud.all[7:]...) // nodes 4, 5 and 6
	for round := 1; round <= 3; round++ {
		gone, off, failed := monitor(t, instances, nodes[:500])
		if gone != 4 || off != 1 || failed != 0 {
			t.Errorf("%d are gone, %d are off, %d are left open", gone, off, failed)
		}
		if got, want := cloud.asked(), round*(1+5); got != want {
			t.Errorf("%d requests after round %d, want %d", got, round, want)
		}
		clock.SetTime(clock.Now().Add(DefaultCacheAge + time.Second))
	}
}

// A list of thousands of servers is no cheaper than a few requests.
func TestMonitor_ListsOnlyWhereManyNodesAreNotReady(t *testing.T) {
	t.Parallel()
	for notReady, lists := range map[int]int{1: 0, fewNodes: 0, fewNodes + 1: 1, 500: 3} {
		cloud, nodes, listed, _ := manyNodes(t, 1000, notReady)
		instances, clock := newInstances(t, cloud)
		instances.UseNodes(listed)
		for range 3 {
			if gone, _, failed := monitor(t, instances, nodes[:notReady]); gone+failed != 0 {
				t.Errorf("%d are gone, %d left open", gone, failed)
			}
			clock.SetTime(clock.Now().Add(DefaultCacheAge))
		}
		if cloud.lists != lists { // with 11, only the first: by then the size is known
			t.Errorf("%d lists with %d nodes that are not ready, want %d", cloud.lists, notReady, lists)
		}
	}
}

// A round may take long, because each node that is deleted or tainted costs requests.
func TestMonitor_BelievesListForHalfAMinuteAtMost(t *testing.T) {
	t.Parallel()
	cloud, nodes, listed, _ := manyNodes(t, 100, 100)
	instances, clock := newInstances(t, cloud)
	instances.UseNodes(listed)
	for n, node := range nodes {
		monitor(t, instances, []*v1.Node{node})
		clock.SetTime(clock.Now().Add(time.Second))
		if want := 1 + n/30; cloud.lists != want {
			t.Fatalf("%d lists after %d s of a round, want %d", cloud.lists, n, want)
		}
	}
	cloud.set(func() { cloud.all = nil })
	if gone, _, _ := monitor(t, instances, nodes[99:]); gone != 0 {
		t.Error("a server that was asked for a second ago is asked for again")
	}
	clock.SetTime(clock.Now().Add(DefaultCacheAge))
	if gone, _, _ := monitor(t, instances, nodes[99:]); gone != 1 {
		t.Error("the next round does not see that the server is gone")
	}
}

func TestMonitor_LeavesNodesOpenWhileServersCannotBeListed(t *testing.T) {
	t.Parallel()
	cloud, nodes, listed, _ := manyNodes(t, 100, 100)
	instances, clock := newInstances(t, cloud)
	instances.UseNodes(listed)
	cloud.listErr = errors.New("503")
	if gone, _, failed := monitor(t, instances, nodes); gone != 0 || failed != 100 || cloud.asked() != 1 {
		t.Errorf("%d are gone, %d left open, %d requests; want one request for all", gone, failed, cloud.asked())
	}
	cloud.set(func() { cloud.listErr = nil })
	clock.SetTime(clock.Now().Add(DefaultCacheAge))
	if gone, _, failed := monitor(t, instances, nodes); gone+failed != 0 {
		t.Errorf("once Nova answers: %d are gone, %d left open", gone, failed)
	}
}

// describe asks what the node controller asks in a round about these nodes.
func describe(t *testing.T, instances *Instances, nodes []*v1.Node) {
	t.Helper()
	for n, node := range nodes {
		found, err := instances.InstanceMetadata(t.Context(), node)
		if err != nil || found.ProviderID != node.Spec.ProviderID {
			t.Errorf("node %d is described as %v, %v", n, found, err)
		}
	}
}

func TestInstanceMetadata_CostsOneListForAllInitializedNodes(t *testing.T) {
	t.Parallel()
	for nodes, requests := range map[int]int{1: 3, fewNodes: 3 * fewNodes, fewNodes + 1: 3, 1000: 3} {
		cloud, all, listed, _ := manyNodes(t, nodes, 0)
		instances, clock := newInstances(t, cloud)
		instances.UseNodes(listed)
		for range 3 {
			describe(t, instances, all)
			clock.SetTime(clock.Now().Add(5 * time.Minute))
		}
		if cloud.asked() != requests {
			t.Errorf("%d requests for three rounds of %d nodes, want %d", cloud.asked(), nodes, requests)
		}
	}
}

// Policy may allow to read each server and to list none.
func TestInstanceMetadata_AsksForServersThatListDoesNotShow(t *testing.T) {
	t.Parallel()
	cloud, nodes, listed, _ := manyNodes(t, 100, 0)
	instances, clock := newInstances(t, cloud)
	instances.UseNodes(listed)
	cloud.hidden = map[string]bool{cloud.all[2].ID: true}
	describe(t, instances, nodes)
	if cloud.asked() != 2 {
		t.Errorf("%d requests, want a list and one server", cloud.asked())
	}
	clock.SetTime(clock.Now().Add(5 * time.Minute))
	cloud.set(func() { cloud.listErr = errors.New("403") })
	describe(t, instances, nodes)
	if want := 2 + 1 + 100; cloud.asked() != want {
		t.Errorf("%d requests, want %d", cloud.asked(), want)
	}
}

func TestInstanceMetadata_OfNodeThatJoinsIsNeverFromList(t *testing.T) {
	t.Parallel()
	cloud, nodes, listed, _ := manyNodes(t, 100, 0)
	instances, _ := newInstances(t, cloud)
	instances.UseNodes(listed)
	joins := nodes[99].DeepCopy()
	joins.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	describe(t, instances, nodes[:99])
	moved := "10.9.9.9"
	cloud.set(func() { cloud.all[99].Addresses = nova.ServerAddresses{{Network: "net", Address: moved}} })
	found, err := instances.InstanceMetadata(t.Context(), joins)
	if err != nil || found.NodeAddresses[0].Address != moved {
		t.Errorf("the node has %v, %v, want %s", found, err, moved)
	}
}
