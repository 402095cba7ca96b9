package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go.uber.org/goleak"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sim is the program running inside of the test.
type sim struct {
	url      string
	problems *lockedBuffer
}

// lockedBuffer can be written by the program while the test reads.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startSim runs the program in networks that no other test uses until the test ends.
func startSim(t *testing.T, args ...string) *sim {
	t.Helper()
	all := append([]string{
		"--create-delay=10ms", "--update-delay=10ms", "--delete-delay=10ms", "--monitor-speed=100",
		"--subnet-cidr", freeSubnet(t, "subnet"), "--external-cidr", freeSubnet(t, "external"),
	}, args...)
	chosen := parse(t, all...)
	if err := chosen.check(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	s := &sim{problems: &lockedBuffer{}}
	go func() {
		err := serve(ctx, chosen, write, s.problems)
		_ = write.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	if _, err := fmt.Fscanf(read, "openstack-sim: listening on %s\n", &s.url); err != nil {
		t.Fatalf("the program did not become ready: %v", err)
	}
	return s
}

// freeSubnet is a part of 127.0.0.0/8 that no other test uses.
func freeSubnet(t *testing.T, label string) string {
	t.Helper()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", t.Name(), label, os.Getpid()))
	return fmt.Sprintf("127.%d.%d.0/24", 16+sum[0]%80, sum[1])
}

// client is a tenant with the API clients that it needs.
type client struct {
	url                   string
	loadBalancer, network *gophercloud.ServiceClient
}

func clientOf(t *testing.T, authURL string) *gophercloud.ProviderClient {
	t.Helper()
	provider, err := openstack.NewClient(authURL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	provider.HTTPClient.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	err = openstack.Authenticate(t.Context(), provider, gophercloud.AuthOptions{
		IdentityEndpoint: authURL, Username: "k8s", Password: "k8s-secret", TenantName: "k8s", DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

func signIn(t *testing.T, url string, provider *gophercloud.ProviderClient) *client {
	t.Helper()
	c := &client{url: url}
	var err error
	if c.loadBalancer, err = openstack.NewLoadBalancerV2(provider, gophercloud.EndpointOpts{}); err != nil {
		t.Fatal(err)
	}
	if c.network, err = openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *sim) client(t *testing.T) *client {
	t.Helper()
	return signIn(t, s.url, clientOf(t, s.url+"/identity/v3"))
}

// control calls the control API and decodes its answer into result, if that is not nil.
func (c *client) control(t *testing.T, method, path, body string, result any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+"/_sim/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := plainHTTP().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if result != nil {
		if err := json.NewDecoder(answer.Body).Decode(result); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return answer.StatusCode
}

// plainHTTP keeps no connection, so that each request is balanced anew.
func plainHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: await.Patience}
}

type server struct{ ID, Name, Status, Address string }

func (c *client) servers(t *testing.T) []server {
	t.Helper()
	var list struct{ Servers []server }
	c.control(t, http.MethodGet, "servers", "", &list)
	if len(list.Servers) == 0 {
		t.Fatal("the cloud has no servers")
	}
	return list.Servers
}

// web is an HTTP server on a server's address that answers with a name and its client's
// address.
func web(t *testing.T, address, name string) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = fmt.Fprintf(w, "%s %s", name, host)
	}))
	_ = web.Listener.Close()
	web.Listener = listener
	web.Start()
	t.Cleanup(web.Close)
	return netip.MustParseAddrPort(listener.Addr().String())
}

// balance makes a load balancer with one listener and one member in one request, waits until
// it is ACTIVE and returns where its listener is.
func (c *client) balance(t *testing.T, provider, protocol string, member netip.AddrPort, monitor *monitors.CreateOpts) string {
	t.Helper()
	port := loopback.FreePort(t)
	method := pools.LBMethodRoundRobin
	if provider == "ovn" {
		method = pools.LBMethodSourceIpPort
	}
	lb, err := loadbalancers.Create(t.Context(), c.loadBalancer, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: c.tenantSubnet(t), Provider: provider,
		Listeners: []listeners.CreateOpts{{
			Protocol: listeners.Protocol(protocol), ProtocolPort: port,
			DefaultPool: &pools.CreateOpts{
				Name: "pool", Protocol: pools.Protocol(protocol), LBMethod: method, Monitor: monitor,
				Members: []pools.CreateMemberOpts{{Address: member.Addr().String(), ProtocolPort: int(member.Port())}},
			},
		}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.active(t, lb.ID)
	return net.JoinHostPort(lb.VipAddress, fmt.Sprint(port))
}

// tenantSubnet is the subnet of the servers.
func (c *client) tenantSubnet(t *testing.T) string {
	t.Helper()
	pages, err := subnets.List(c.network, subnets.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := subnets.ExtractSubnets(pages)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d subnets (%v), want one", len(found), err)
	}
	return found[0].ID
}

// only returns the only load balancer.
func (c *client) only(t *testing.T) loadbalancers.LoadBalancer {
	t.Helper()
	pages, err := loadbalancers.List(c.loadBalancer, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := loadbalancers.ExtractLoadBalancers(pages)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d load balancers (%v), want one", len(found), err)
	}
	return found[0]
}

func (c *client) active(t *testing.T, id string) {
	t.Helper()
	eventually(t, "load balancer to be ACTIVE", func() error {
		lb, err := loadbalancers.Get(t.Context(), c.loadBalancer, id).Extract()
		if err == nil && lb.ProvisioningStatus != "ACTIVE" {
			err = fmt.Errorf("it is %s", lb.ProvisioningStatus)
		}
		return err
	})
}

// float gives the load balancer a floating IP.
func (c *client) float(t *testing.T, lb loadbalancers.LoadBalancer) *floatingips.FloatingIP {
	t.Helper()
	pages, err := networks.List(c.network, networks.ListOpts{Name: "public"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	external, err := networks.ExtractNetworks(pages)
	if err != nil || len(external) != 1 {
		t.Fatalf("found %d external networks (%v), want one", len(external), err)
	}
	floatingIP, err := floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{
		FloatingNetworkID: external[0].ID, PortID: lb.VipPortID,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return floatingIP
}

// get returns what a GET answers.
func get(at string) (string, error) {
	answer, err := plainHTTP().Get("http://" + at + "/")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// answers is an error unless a GET answers with text that starts with the name.
func answers(at, name string) error {
	text, err := get(at)
	if err == nil && !strings.HasPrefix(text, name+" ") {
		err = fmt.Errorf("answered %q, want %q", text, name)
	}
	return err
}

// eventually repeats check until it succeeds.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(await.Patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
