package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

// counted is what the API counts of a load balancer or listener.
func (c *client) counted(t *testing.T, path string) map[string]int {
	t.Helper()
	var answer struct{ Stats map[string]int }
	response, err := c.loadBalancer.Get(t.Context(), c.loadBalancer.ServiceURL("lbaas", path, "stats"), &answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.Stats
}

func TestStatistics_CountConnectionsAndBytes(t *testing.T) {
	t.Parallel()
	c := startSim(t, "--servers=1").client(t)
	vip := c.balance(t, "", "HTTP", web(t, c.servers(t)[0].Address, "hello"), nil)
	lb := c.only(t)
	if before := c.counted(t, "loadbalancers/"+lb.ID); before["total_connections"] != 0 || before["bytes_in"] != 0 {
		t.Errorf("before any traffic: %v", before)
	}
	eventually(t, "an answer", func() error { return answers(vip, "hello") })
	for range 3 {
		if err := answers(vip, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the end of all connections", func() error {
		got := c.counted(t, "listeners/"+lb.Listeners[0].ID)
		if got["total_connections"] < 4 || got["active_connections"] != 0 || got["bytes_in"] == 0 || got["bytes_out"] == 0 {
			return fmt.Errorf("counted %v", got)
		}
		return nil
	})
	whole, listener := c.counted(t, "loadbalancers/"+lb.ID), c.counted(t, "listeners/"+lb.Listeners[0].ID)
	if fmt.Sprint(whole) != fmt.Sprint(listener) {
		t.Errorf("load balancer %v, its only listener %v", whole, listener)
	}
}

func TestStatusTree_ShowsWhatMonitorFinds(t *testing.T) {
	t.Parallel()
	c := startSim(t, "--servers=2").client(t)
	servers := c.servers(t)
	c.balance(t, "", "TCP", web(t, servers[0].Address, "good"), &monitors.CreateOpts{
		Type: monitors.TypeTCP, Delay: 5, Timeout: 5, MaxRetries: 1, MaxRetriesDown: 1,
	})
	lb := c.only(t)
	dead := loopback.FreePort(t)
	if _, err := pools.CreateMember(t.Context(), c.loadBalancer, lb.Pools[0].ID, pools.CreateMemberOpts{
		Address: servers[1].Address, ProtocolPort: dead,
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the dead member to show up the tree", func() error {
		tree, err := loadbalancers.GetStatuses(t.Context(), c.loadBalancer, lb.ID).Extract()
		if err != nil {
			return err
		}
		pool := tree.Loadbalancer.Listeners[0].Pools[0]
		members := map[int]string{}
		for _, member := range pool.Members {
			members[member.ProtocolPort] = member.OperatingStatus
		}
		whole, listener := tree.Loadbalancer.OperatingStatus, tree.Loadbalancer.Listeners[0].OperatingStatus
		if members[dead] != "ERROR" || len(members) != 2 || pool.OperatingStatus != "DEGRADED" || whole != "DEGRADED" || listener != "ONLINE" {
			return fmt.Errorf("members %v, pool %s, listener %s, load balancer %s", members, pool.OperatingStatus, listener, whole)
		}
		return nil
	})
	var list struct {
		LoadBalancers []struct{ OperatingStatus string } `json:"loadbalancers"`
	}
	if code := c.control(t, http.MethodGet, "loadbalancers", "", &list); code != http.StatusOK || len(list.LoadBalancers) != 1 {
		t.Errorf("the control API answers %d with %d load balancers", code, len(list.LoadBalancers))
	}
}

func TestFlags_SetVIPPortDelayOfCloud(t *testing.T) {
	t.Parallel()
	chosen := parse(t, "--vip-port-delay=2s")
	options, err := chosen.cloud()
	if err != nil || options.VIPPortDelay.Seconds() != 2 {
		t.Errorf("the delay is %v, error %v", options.VIPPortDelay, err)
	}
}
