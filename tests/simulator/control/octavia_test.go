package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// client signs the cloud's tenant in.
func (s *steered) client(t *testing.T) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: s.AuthURL(), Username: s.Account.UserName, Password: s.Account.Password,
		TenantID: s.Account.ProjectID, DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	provider.HTTPClient.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	service, err := openstack.NewLoadBalancerV2(provider, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// balance creates a load balancer with one listener, pool, member and monitor.
func (s *steered) balance(t *testing.T) *loadbalancers.LoadBalancer {
	t.Helper()
	lb, err := loadbalancers.Create(t.Context(), s.client(t), loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: s.Subnet.ID,
		Listeners: []listeners.CreateOpts{{
			Protocol: listeners.ProtocolTCP, ProtocolPort: 80, AllowedCIDRs: []string{"10.0.0.0/8"},
			DefaultPool: &pools.CreateOpts{
				Name: "pool", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: "127.100.0.9", ProtocolPort: 30080}},
				Monitor: &monitors.CreateOpts{Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 1},
			},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lb
}

// status has the common fields of all objects in the answer of GET loadbalancers.
type status struct {
	ID                 string
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
}

type tree struct {
	LoadBalancers []struct {
		status
		Provider   string
		VIPAddress string `json:"vip_address"`
		Listeners  []struct {
			status
			AllowedCIDRs []string `json:"allowed_cidrs"`
			PoolID       string   `json:"default_pool_id"`
		}
		Pools []struct {
			status
			Members []struct {
				status
				Address string
				Port    int `json:"protocol_port"`
			}
			Monitor *struct{ Type string } `json:"healthmonitor"`
		}
	}
}

func (s *steered) tree(t *testing.T) tree {
	t.Helper()
	var tree tree
	s.do(t, "GET", "loadbalancers", "", 200, &tree)
	return tree
}

func TestLoadBalancers_AreShownWithTheirChildren(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	lb := cloud.balance(t)
	tree := cloud.tree(t)
	if len(tree.LoadBalancers) != 1 {
		t.Fatalf("%d load balancers, want 1", len(tree.LoadBalancers))
	}
	shown := tree.LoadBalancers[0]
	if shown.ID != lb.ID || shown.ProvisioningStatus != "ACTIVE" || shown.Provider != "amphora" || shown.VIPAddress != lb.VipAddress {
		t.Errorf("load balancer %+v", shown.status)
	}
	listener, pool := shown.Listeners[0], shown.Pools[0]
	if listener.PoolID != pool.ID || strings.Join(listener.AllowedCIDRs, ",") != "10.0.0.0/8" {
		t.Errorf("listener %+v, want the pool %s and the allowed CIDR", listener, pool.ID)
	}
	if member := pool.Members[0]; member.Address != "127.100.0.9" || member.Port != 30080 {
		t.Errorf("member %+v", member)
	}
	if pool.Monitor == nil || pool.Monitor.Type != "TCP" {
		t.Errorf("monitor %+v", pool.Monitor)
	}
}

func TestLoadBalancers_AreChangedAndDeletedByForeignClient(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	lb := cloud.balance(t)
	member := cloud.tree(t).LoadBalancers[0].Pools[0].Members[0].ID

	cloud.do(t, "POST", "members/"+member+"/status", `{"operating_status":"ERROR"}`, 204, nil)
	if got := cloud.tree(t).LoadBalancers[0]; got.OperatingStatus != "ERROR" || got.Pools[0].Members[0].OperatingStatus != "ERROR" {
		t.Errorf("with its only member in ERROR the load balancer is %s", got.OperatingStatus)
	}
	cloud.do(t, "POST", "loadbalancers/"+lb.ID+"/status", `{"provisioning_status":"PENDING_UPDATE"}`, 204, nil)
	if got := cloud.tree(t).LoadBalancers[0].ProvisioningStatus; got != "PENDING_UPDATE" {
		t.Errorf("provisioning status %s, want PENDING_UPDATE", got)
	}
	cloud.do(t, "DELETE", "loadbalancers/"+lb.ID, "", 204, nil)
	if got := cloud.tree(t).LoadBalancers; len(got) != 0 {
		t.Errorf("after its deletion there is still %+v", got)
	}
}

type requestCounts struct {
	Total, Writes int
	Requests      []struct {
		Method, Route string
		Status, Count int
	}
	TotalCycles   int            `json:"total_cycles"`
	PendingCycles map[string]int `json:"pending_cycles"`
}

func TestRequests_AreCountedWithCyclesUntilReset(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	lb := cloud.balance(t)
	service := cloud.client(t)
	for range 2 {
		if err := loadbalancers.Get(t.Context(), service, lb.ID).Err; err != nil {
			t.Fatal(err)
		}
	}
	var counted requestCounts
	cloud.do(t, "GET", "requests", "", 200, &counted)
	if counted.Writes != 1 || counted.TotalCycles != 1 || counted.PendingCycles[lb.ID] != 1 {
		t.Errorf("%d writes, %d cycles, %v; want one of each", counted.Writes, counted.TotalCycles, counted.PendingCycles)
	}
	lines, _ := json.Marshal(counted.Requests)
	for _, want := range []string{
		`{"Method":"POST","Route":"/load-balancer/v2.0/lbaas/loadbalancers","Status":201,"Count":1}`,
		`{"Method":"GET","Route":"/load-balancer/v2.0/lbaas/loadbalancers/{id}","Status":200,"Count":2}`,
	} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("no line %s in\n%s", want, lines)
		}
	}

	cloud.do(t, "POST", "requests/reset", "", 204, nil)
	cloud.do(t, "GET", "requests", "", 200, &counted)
	if counted.Total != 0 || counted.TotalCycles != 0 || len(counted.Requests) != 0 {
		t.Errorf("after a reset: %+v", counted)
	}
}

func TestFaults_HitChosenRequestsUntilCleared(t *testing.T) {
	t.Parallel()
	cloud := start(t)
	service := cloud.client(t)
	list := func() error {
		_, err := loadbalancers.List(service, nil).AllPages(t.Context())
		return err
	}
	cloud.do(t, "POST", "faults", `{
		"method": "GET", "route": "/load-balancer/**", "from": 2, "count": 2,
		"status": 418, "body": "{}", "header": {"X-Openstack-Request-Id": "req-1"}, "delay": "1ms"
	}`, 201, nil)
	for i, want := range []int{0, 418, 418, 0} {
		err := list()
		if want == 0 && err != nil || want != 0 && !gophercloud.ResponseCodeIs(err, want) {
			t.Errorf("request %d: %v, want status %d", i+1, err, want)
		}
	}
	var hit struct{ Hits int }
	cloud.do(t, "GET", "faults", "", 200, &hit)
	if hit.Hits != 2 {
		t.Errorf("%d hits, want 2", hit.Hits)
	}

	cloud.do(t, "POST", "faults", `{"drop": true}`, 201, nil)
	if err := list(); err == nil {
		t.Error("a dropped connection is no error")
	}
	cloud.do(t, "DELETE", "faults", "", 204, nil)
	if err := list(); err != nil {
		t.Errorf("after clearing: %v", err)
	}
}
