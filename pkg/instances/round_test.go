package instances_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// A thousand servers fill a page of Nova, which another one follows.
func TestMonitor_CostsTwoRequestsForFiveHundredNodesThatAreNotReady(t *testing.T) {
	t.Parallel()
	const all, down, gone = 1000, 500, 20
	cloud, conf := simulated.Cloud(t, simulator.Options{})
	session := simulated.SignIn(t, conf, openstack.SessionOptions{})
	servers, err := instances.New(instances.Options{Servers: session.Nova(), Region: session.Region(), CacheAge: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	var nodes []*v1.Node
	for n := range all {
		server, err := cloud.Nova.AddServer(nova.ServerSpec{Name: fmt.Sprintf("node-%d", n), ProjectID: cloud.Account.ProjectID})
		if err != nil {
			t.Fatal(err)
		}
		node := notReady(server.Name, "openstack:///"+server.ID)
		if n >= down {
			node.Status.Conditions[0].Status = v1.ConditionTrue
		}
		if err := indexer.Add(node); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	servers.UseNodes(corelisters.NewNodeLister(indexer))
	deletions := instances.NewDeletions(instances.DeletionOptions{Instances: servers, Node: config.Node{MaxGonePercent: 50}})
	round := func() (deleted, requests int) {
		before := len(cloud.RequestLog.Requests(requestlog.Method("GET")))
		for _, node := range nodes[:down] {
			exists, err := servers.InstanceExists(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			if !exists && deletions.Allow(t.Context(), node) == nil {
				deleted++
			}
		}
		return deleted, len(cloud.RequestLog.Requests(requestlog.Method("GET"))) - before
	}
	if deleted, requests := round(); deleted != 0 || requests > 2 {
		t.Errorf("%d were deleted with %d requests, want none with two", deleted, requests)
	}
	for n := range gone {
		cloud.Nova.DeleteServer(strings.TrimPrefix(nodes[n].Spec.ProviderID, "openstack:///"))
	}
	if deleted, requests := round(); deleted != gone || requests > 2+gone {
		t.Errorf("%d were deleted with %d requests, want %d with a request for each, and two", deleted, requests, gone)
	}
}
