package simulator_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const balancersRoute = "/load-balancer/v2.0/lbaas/loadbalancers"

func TestCloud_LeavesFloatingIPOfDeletedLoadBalancerUnassociated(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	floatingIP, err := cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
		ProjectID: cloud.Account.ProjectID, NetworkID: cloud.ExternalNetwork.ID, PortID: lb.VipPortID,
	})
	if err != nil {
		t.Fatal(err)
	}
	if floatingIP.FixedAddress != lb.VipAddress {
		t.Errorf("floating IP leads to %s, the VIP is %s", floatingIP.FixedAddress, lb.VipAddress)
	}
	settled(t, cloud)
	if err := loadbalancers.Delete(t.Context(), service, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	settled(t, cloud)
	left := cloud.Neutron.FloatingIPs()
	if len(left) != 1 || left[0].PortID != "" {
		t.Errorf("floating IPs %+v", left)
	}
}

func TestTopology_ContainsAllAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		topology           simulator.Topology
		external, internal string
	}{
		"ready-made": {simulator.Topology{}, "127.200.0.0/16", "127.100.0.0/16"},
		"chosen": {
			simulator.Topology{ExternalCIDR: "10.9.0.0/24", CIDR: "10.6.0.0/16", IPv6CIDR: "fd00:6::/64", Network: "inside", ExternalNetwork: "outside"},
			"10.9.0.0/24", "10.6.0.0/16",
		},
	} {
		cloud := start(t, simulator.Options{Topology: c.topology})
		lb, err := loadbalancers.Create(t.Context(), client(t, cloud, cloud.Account), fullCreateAnywhere(cloud)).Extract()
		if err != nil {
			t.Fatal(err)
		}
		floatingIP, err := cloud.Neutron.CreateFloatingIP(neutron.FloatingIPSpec{
			ProjectID: cloud.Account.ProjectID, NetworkID: cloud.ExternalNetwork.ID,
		})
		if err != nil {
			t.Fatal(err)
		}
		for address, cidr := range map[string]string{lb.VipAddress: c.internal, floatingIP.Address: c.external} {
			if !netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(address)) {
				t.Errorf("%s: %s is not in %s", name, address, cidr)
			}
		}
		if hasV6 := cloud.SubnetV6.ID != ""; hasV6 != (c.topology.IPv6CIDR != "") {
			t.Errorf("%s: IPv6 subnet %+v", name, cloud.SubnetV6)
		}
		if want := 1 + len(c.topology.IPv6CIDR)/len("fd00:6::/64"); len(cloud.Network.SubnetIDs) != want || len(cloud.Router.SubnetIDs) != want {
			t.Errorf("%s: network %+v and router %+v, want %d subnets", name, cloud.Network, cloud.Router, want)
		}
	}
}

// fullCreateAnywhere names no member, whose address would depend on the
// topology.
func fullCreateAnywhere(cloud *simulator.Cloud) loadbalancers.CreateOpts {
	options := fullCreate(cloud)
	options.Listeners = nil
	return options
}

func TestFaults_StandBetweenClientAndCloud(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	remove := cloud.Faults.Add(faults.Rule{Method: "POST", Route: balancersRoute, Status: 504, AfterWork: true, Count: 1})
	defer remove()
	_, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusGatewayTimeout) {
		t.Fatalf("create: %v", err)
	}
	if made := cloud.Octavia.Snapshot(); len(made) != 1 {
		t.Errorf("%d load balancers, want the one whose answer was lost", len(made))
	}
	booked := cloud.RequestLog.Requests()
	if last := booked[len(booked)-1]; last.Status != 504 || last.Route != balancersRoute {
		t.Errorf("booked %+v", last)
	}
}

func TestRequestLog_RecordsDroppedConnection(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	service := client(t, cloud, cloud.Account)
	cloud.Faults.Add(faults.Rule{Method: "POST", Route: balancersRoute, Drop: true})
	if _, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract(); err == nil {
		t.Fatal("created in spite of the fault")
	}
	booked := cloud.RequestLog.Requests()
	if last := booked[len(booked)-1]; last.Status != 0 || last.Method != http.MethodPost || len(cloud.Octavia.Snapshot()) != 0 {
		t.Errorf("booked %+v", last)
	}
}

func TestWaitSettled_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{Delays: map[string]octavia.Delays{"": {Create: time.Hour}}})
	lb, err := loadbalancers.Create(t.Context(), client(t, cloud, cloud.Account), fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cloud.WaitSettled(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitSettled: %v", err)
	}
	if err := cloud.Octavia.SetProvisioningStatus(lb.ID, octavia.Error); err != nil {
		t.Fatal(err)
	}
}

func TestCloud_FollowsOneClock(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC))
	cloud := start(t, simulator.Options{Clock: clock, Delays: map[string]octavia.Delays{"": {Create: time.Minute}}})
	service := client(t, cloud, cloud.Account)
	lb, err := loadbalancers.Create(t.Context(), service, fullCreate(cloud)).Extract()
	if err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute)
	settled(t, cloud)
	got, err := loadbalancers.Get(t.Context(), service, lb.ID).Extract()
	if err != nil || got.ProvisioningStatus != octavia.Active || !got.UpdatedAt.Equal(clock.Now()) {
		t.Errorf("after a minute %+v: %v", got, err)
	}
}

func TestAddServer_CreatesPortThatMembersAreFoundBy(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	server, err := cloud.AddServer("node-1", "127.100.0.10")
	if err != nil {
		t.Fatal(err)
	}
	port, err := cloud.Neutron.Port(server.PortIDs[0])
	if err != nil || port.FixedIPs[0].Address != "127.100.0.10" || port.DeviceID != server.ID {
		t.Errorf("port %+v: %v", port, err)
	}
	if _, err := cloud.AddServer("node-2", "127.100.0.10"); err == nil {
		t.Error("two servers at one address")
	}
}

func TestRequestLog_LeavesOutOwnHandlers(t *testing.T) {
	t.Parallel()
	cloud := start(t, simulator.Options{})
	cloud.Handle("/own/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cloud.URL()+"/own/thing", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusTeapot || len(cloud.RequestLog.Requests()) != 0 {
		t.Errorf("%d, booked %v", answer.StatusCode, cloud.RequestLog.Requests())
	}
}
