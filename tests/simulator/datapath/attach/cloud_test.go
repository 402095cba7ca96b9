package attach_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// startCloud starts a cloud with a data path, in networks of its own.
func startCloud(t *testing.T) *simulator.Cloud {
	t.Helper()
	block := loopback.Block(t)
	cloud, err := simulator.Start(simulator.Options{Topology: simulator.Topology{
		CIDR: fmt.Sprintf("127.230.%d.0/24", block), ExternalCIDR: fmt.Sprintf("127.231.%d.0/24", block),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	plane := attach.Start(cloud.Octavia, cloud.Neutron, datapath.Options{
		TimeScale: 0.01, Certificates: attach.SecretsOf(cloud.Barbican), Report: func(err error) { t.Log(err) },
	})
	t.Cleanup(plane.Close)
	return cloud
}

func loadBalancing(t *testing.T, cloud *simulator.Cloud) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: cloud.Account.UserName, Password: cloud.Account.Password,
		TenantID: cloud.Account.ProjectID, DomainName: "Default",
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

// web is a member that answers with the scheme in its headers.
func web(t *testing.T) netip.AddrPort {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "by "+r.Header.Get("X-Forwarded-Proto"))
	}))
	t.Cleanup(server.Close)
	return netip.MustParseAddrPort(server.Listener.Addr().String())
}

func TestStart_TerminatesTLSOfLoadBalancerMadeByAPI(t *testing.T) {
	t.Parallel()
	cloud := startCloud(t)
	member, port := web(t), loopback.Port
	stored, err := cloud.AddCertificate("www.example")
	if err != nil {
		t.Fatal(err)
	}
	lb, err := loadbalancers.Create(t.Context(), loadBalancing(t, cloud), loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: cloud.Subnet.ID,
		Listeners: []listeners.CreateOpts{{
			Name: "https", Protocol: listeners.ProtocolTerminatedHTTPS, ProtocolPort: port,
			DefaultTlsContainerRef: stored,
			InsertHeaders:          map[string]string{"X-Forwarded-Proto": "true"},
			DefaultPool: &pools.CreateOpts{
				Name: "nodes", Protocol: pools.ProtocolHTTP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: member.Addr().String(), ProtocolPort: int(member.Port())}},
				Monitor: &monitors.CreateOpts{Type: monitors.TypeHTTP, Delay: 5, Timeout: 3, MaxRetries: 2},
			},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	settle(t, cloud)

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "www.example"}}
	defer transport.CloseIdleConnections()
	location := "https://" + net.JoinHostPort(lb.VipAddress, strconv.Itoa(port))
	eventually(t, func() error {
		answer, err := (&http.Client{Transport: transport, Timeout: await.Patience}).Get(location)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if string(body) != "by https" {
			return fmt.Errorf("%s, %q, %v", answer.Status, body, err)
		}
		return nil
	})
	eventually(t, func() error {
		if got := cloud.Octavia.Snapshot()[0].Pools[0].Members[0].OperatingStatus; got != octavia.Online {
			return fmt.Errorf("the member is %s", got)
		}
		return nil
	})
}

func settle(t *testing.T, cloud *simulator.Cloud) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := cloud.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(await.Patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
