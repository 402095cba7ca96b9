package simulator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

func start(t *testing.T, options simulator.Options) *simulator.Cloud {
	t.Helper()
	cloud, err := simulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	return cloud
}

// client signs an account in and returns its load balancer service.
func client(t *testing.T, cloud *simulator.Cloud, account simulator.Account) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: account.UserName, Password: account.Password,
		TenantID: account.ProjectID, DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	provider.HTTPClient.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	service, err := openstack.NewLoadBalancerV2(provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func settled(t *testing.T, cloud *simulator.Cloud) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := cloud.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
}

func fullCreate(cloud *simulator.Cloud) loadbalancers.CreateOpts {
	return loadbalancers.CreateOpts{
		Name: "kube_service", VipSubnetID: cloud.Subnet.ID,
		Listeners: []listeners.CreateOpts{{
			Name: "listener", Protocol: listeners.ProtocolTCP, ProtocolPort: 80,
			DefaultPool: &pools.CreateOpts{
				Name: "pool", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: "127.100.0.10", ProtocolPort: 30080, SubnetID: cloud.Subnet.ID}},
				Monitor: &monitors.CreateOpts{Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 2},
			},
		}},
	}
}

func TestCloud_ServesLoadBalancerFromOnePostToItsDelete(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if lb.ProvisioningStatus != octavia.PendingCreate || lb.VipPortID == "" || len(lb.Pools) != 1 {
		t.Fatalf("created %+v", lb)
	}
	port, err := cloud.Neutron.Port(lb.VipPortID)
	if err != nil || port.Name != "octavia-lb-"+lb.ID || port.DeviceOwner != "Octavia" || port.DeviceID != "lb-"+lb.ID {
		t.Fatalf("VIP port %+v: %v", port, err)
	}
	settled(t, cloud)
	tree, err := loadbalancers.GetStatuses(t.Context(), service, lb.ID).Extract()
	if err != nil {
		t.Fatal(err)
	}
	member := tree.Loadbalancer.Listeners[0].Pools[0].Members[0]
	if member.ProvisioningStatus != octavia.Active || member.OperatingStatus != octavia.Online {
		t.Fatalf("member %+v", member)
	}
	if err := loadbalancers.Delete(t.Context(), service, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	_, err = loadbalancers.Get(t.Context(), service, lb.ID).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Fatalf("after the delete: %v", err)
	}
	if _, err := cloud.Neutron.Port(lb.VipPortID); err == nil {
		t.Fatal("the VIP port outlives its load balancer")
	}
	if got := cloud.RequestLog.PendingCycles(lb.ID); got != 2 {
		t.Fatalf("%d PENDING cycles, want one for the create and one for the delete", got)
	}
	if got := cloud.RequestLog.Count("POST", "/load-balancer/v2.0/lbaas/loadbalancers"); got != 1 {
		t.Fatalf("%d POSTs", got)
	}
	if got := len(cloud.RequestLog.Requests(requestlog.LoadBalancer(lb.ID))); got != 4 {
		t.Fatalf("%d requests about the load balancer: %+v", got, cloud.RequestLog.Requests())
	}
}

func TestCloud_HidesProjectsFromEachOther(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	other := cloud.AddAccount("other", "somebody")
	lb, err := loadbalancers.Create(t.Context(), client(t, cloud, cloud.Account), fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	service := client(t, cloud, other)
	if _, err := loadbalancers.Get(t.Context(), service, lb.ID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Fatalf("another project reads it: %v", err)
	}
	page, err := loadbalancers.List(service, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if listed, err := loadbalancers.ExtractLoadBalancers(page); err != nil || len(listed) != 0 {
		t.Fatalf("another project lists %v: %v", listed, err)
	}
	neighbour := cloud.AddUser(cloud.Account, "second-cluster")
	if _, err := loadbalancers.Get(t.Context(), client(t, cloud, neighbour), lb.ID).Extract(); err != nil {
		t.Fatalf("another user of the same project: %v", err)
	}
}

func TestCloud_ServesVersionsOnlyWithoutToken(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	for path, want := range map[string]int{
		"/load-balancer": 200, "/load-balancer/": 200, "/network/": 200,
		"/load-balancer/v2.0/lbaas/loadbalancers": 401, "/network/v2.0/ports": 401, "/compute/v2.1/servers": 401,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cloud.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("GET %s without token: %d, want %d", path, answer.StatusCode, want)
		}
	}
}

func TestStart_NamesWrongOption(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]simulator.Options{
		"release \"liberty\" is unknown": {Release: "liberty"},
		"listen on 256.0.0.1:0":          {Addr: "256.0.0.1:0"},
		"tenant subnet nowhere":          {Topology: simulator.Topology{CIDR: "nowhere"}},
	} {
		cloud, err := simulator.Start(options)
		if err == nil {
			cloud.Close()
			t.Errorf("%s: started", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not say %q", err, name)
		}
	}
}

func TestCloudConf_HasRequestedSettings(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{
		Topology: simulator.Topology{RouterVIPCIDR: "10.77.0.0/24"},
		Config:   simulator.Config{OmitSubnet: true, LoadBalancer: map[string]string{"lb-provider": "ovn"}},
	})
	text := cloud.CloudConf()
	for _, line := range []string{
		"auth-url=" + cloud.URL() + "/identity/v3\n", "lb-provider=ovn\n",
		"floating-network-id=" + cloud.ExternalNetwork.ID + "\n", "router-vip-network-id=" + cloud.RouterVIPs.ID + "\n", "tenant-name=k8s\n", "region=RegionOne\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("cloud.conf lacks %q:\n%s", line, text)
		}
	}
	if strings.Contains(text, "\nsubnet-id=") {
		t.Errorf("subnet-id in spite of OmitSubnet:\n%s", text)
	}
}
