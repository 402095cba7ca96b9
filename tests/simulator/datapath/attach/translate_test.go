package attach

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// services is a cloud with fixed contents.
type services struct {
	balancers     []octavia.LoadBalancer
	floatingIPs   []neutron.FloatingIP
	subscriptions int
}

func (s *services) Snapshot() []octavia.LoadBalancer { return s.balancers }

func (s *services) FloatingIPs() []neutron.FloatingIP { return s.floatingIPs }

func (s *services) SetMemberOperatingStatus(string, string) error { return nil }

func (s *services) ChecksFloatingIPs(provider string) bool { return provider != octavia.ProviderOVN }

func (s *services) Subscribe(func()) (cancel func()) {
	s.subscriptions++
	return func() { s.subscriptions-- }
}

// read is what the data path sees of the services.
func (s *services) read() []datapath.LoadBalancer {
	return source{loadBalancers: s, network: s}.LoadBalancers()
}

func active(id string) octavia.Meta {
	return octavia.Meta{ID: id, ProvisioningStatus: octavia.Active, OperatingStatus: octavia.Online, AdminStateUp: true}
}

// full is a load balancer that uses everything that the data path understands.
func full() octavia.LoadBalancer {
	timeout := 30
	return octavia.LoadBalancer{
		Meta: active("lb"), Provider: octavia.ProviderAmphora,
		VIP:            octavia.VIP{Address: "127.100.0.5", PortID: "port"},
		AdditionalVIPs: []octavia.AdditionalVIP{{Address: "127.100.0.6", PortID: "port6"}},
		Listeners: []*octavia.Listener{{
			Meta: active("listener"), Protocol: "TCP", ProtocolPort: 80, DefaultPoolID: "pool",
			AllowedCIDRs: []string{"127.0.0.0/8"}, InsertHeaders: map[string]string{"X-Forwarded-For": "true"},
			ConnectionLimit: 7, TimeoutClientData: 1500, TimeoutMemberConnect: 2000, TimeoutMemberData: 3000,
		}},
		Pools: []*octavia.Pool{{
			Meta: active("pool"), Protocol: "PROXY", Algorithm: "SOURCE_IP",
			Persistence: &octavia.SessionPersistence{
				Type: "SOURCE_IP", Timeout: &timeout, CookieName: "SESSION", Granularity: "255.255.255.0",
			},
			TLS: octavia.PoolTLS{
				Enabled: true, ContainerRef: "client", CAContainerRef: "ca", Versions: []string{"TLSv1.3"}, ALPNProtocols: []string{"h2"},
			},
			Members: []*octavia.Member{{
				Meta: active("member"), Address: "127.0.0.9", ProtocolPort: 30080, Weight: 2, Backup: true,
				MonitorAddress: "127.0.0.10", MonitorPort: 30081,
			}},
			Monitor: &octavia.Monitor{
				Meta: active("monitor"), Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 2,
				HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200", DomainName: "example.com",
				HTTPVersion: "1.1",
			},
		}},
	}
}

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func TestTranslate_ConvertsWholeLoadBalancer(t *testing.T) {
	t.Parallel()
	cloud := &services{
		balancers: []octavia.LoadBalancer{full()},
		floatingIPs: []neutron.FloatingIP{
			{Address: "127.200.0.9", PortID: "other"},
			{Address: "127.200.0.7", PortID: "port", FixedAddress: "127.100.0.5"},
			{Address: "127.200.0.8"},
			{Address: "127.200.0.6", PortID: "port6", FixedAddress: "127.100.0.6"},
		},
	}
	want := []datapath.LoadBalancer{{
		ID: "lb", Settled: true, AdminUp: true,
		Addresses: []netip.Addr{
			address("127.100.0.5"), address("127.100.0.6"), address("127.200.0.7"), address("127.200.0.6"),
		},
		Fixed: map[netip.Addr]netip.Addr{
			address("127.200.0.7"): address("127.100.0.5"), address("127.200.0.6"): address("127.100.0.6"),
		},
		Listeners: []datapath.Listener{{
			ID: "listener", Protocol: "TCP", Port: 80, AdminUp: true, PoolID: "pool",
			AllowedCIDRs:    []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			InsertHeaders:   map[string]string{"X-Forwarded-For": "true"},
			ConnectionLimit: 7,
			Timeouts: datapath.Timeouts{
				ClientData: 1500 * time.Millisecond, MemberConnect: 2 * time.Second, MemberData: 3 * time.Second,
			},
		}},
		Pools: []datapath.Pool{{
			ID: "pool", Protocol: "PROXY", Algorithm: "SOURCE_IP", AdminUp: true,
			Persistence: "SOURCE_IP", PersistenceTimeout: 30 * time.Second, PersistenceBits: 24, CookieName: "SESSION",
			TLS: datapath.PoolTLS{
				Enabled: true, CertificateRef: "client", CARef: "ca", Versions: []string{"TLSv1.3"}, ALPN: []string{"h2"},
			},
			Members: []datapath.Member{{
				ID: "member", Address: address("127.0.0.9"), Port: 30080, Weight: 2, AdminUp: true, Backup: true,
				MonitorAddress: address("127.0.0.10"), MonitorPort: 30081, Status: "ONLINE",
			}},
			Monitor: &datapath.Monitor{
				Type: "HTTP", AdminUp: true, Delay: 5 * time.Second, Timeout: 3 * time.Second,
				MaxRetries: 1, MaxRetriesDown: 2,
				Method: "GET", Path: "/healthz", ExpectedCodes: "200", DomainName: "example.com",
				HTTPVersion: "1.1",
			},
		}},
	}}
	same := cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})
	if diff := cmp.Diff(want, cloud.read(), same); diff != "" {
		t.Errorf("translated (-want +got):\n%s", diff)
	}
}

func TestTranslate_SettlesActiveLoadBalancerOnly(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		octavia.Active: true, octavia.Error: false, octavia.PendingCreate: false,
		octavia.PendingUpdate: false, octavia.PendingDelete: false,
	} {
		lb := full()
		lb.ProvisioningStatus = status
		cloud := &services{balancers: []octavia.LoadBalancer{lb}}
		if got := cloud.read()[0].Settled; got != want {
			t.Errorf("%s: settled %v, want %v", status, got, want)
		}
	}
}

func TestTranslate_LeavesOutWhatIsDeletedOrBeingDeleted(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.Listeners[0].ProvisioningStatus = octavia.PendingDelete
	lb.Pools[0].Members[0].ProvisioningStatus = octavia.Deleted
	lb.Pools[0].Monitor.ProvisioningStatus = octavia.PendingDelete
	gone := full()
	gone.ProvisioningStatus = octavia.Deleted
	cloud := &services{balancers: []octavia.LoadBalancer{lb, gone}}

	got := cloud.read()
	if len(got) != 1 {
		t.Fatalf("%d load balancers, want 1", len(got))
	}
	if len(got[0].Listeners) != 0 || len(got[0].Pools[0].Members) != 0 || got[0].Pools[0].Monitor != nil {
		t.Errorf("objects that are being deleted are served: %+v", got[0])
	}
}

func TestTranslate_KeepsClientAddressAndIgnoresPersistenceForOVN(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.Provider = octavia.ProviderOVN
	lb.Pools[0].Persistence.Ignored = true
	got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0]
	if !got.KeepClientAddress {
		t.Error("the client's address is not kept")
	}
	if got.Pools[0].Persistence != "" {
		t.Errorf("session persistence %s, want none", got.Pools[0].Persistence)
	}
}

func TestTranslate_IgnoresLimitsTimeoutsAndWeightsForOVN(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.Provider = octavia.ProviderOVN
	lb.Pools[0].Members[0].Weight = 0
	got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0]
	if got.Listeners[0].ConnectionLimit != 0 || got.Listeners[0].Timeouts != (datapath.Timeouts{}) {
		t.Errorf("listener %+v has limits", got.Listeners[0])
	}
	if got.Pools[0].Members[0].Weight != 1 {
		t.Errorf("weight %d, want 1", got.Pools[0].Members[0].Weight)
	}
}

func TestTranslate_ConvertsTLSOfListener(t *testing.T) {
	t.Parallel()
	age := 300
	lb := full()
	lb.Listeners[0].Protocol = "TERMINATED_HTTPS"
	lb.Listeners[0].TLS = octavia.ListenerTLS{
		DefaultContainerRef: "default", SNIContainerRefs: []string{"sni"}, ClientAuthentication: "OPTIONAL",
		ClientCAContainerRef: "ca", Versions: []string{"TLSv1.2"}, ALPNProtocols: []string{"h2"},
		HSTSMaxAge: &age, HSTSIncludeSubdomains: true, HSTSPreload: true,
	}
	want := datapath.ListenerTLS{
		DefaultRef: "default", SNIRefs: []string{"sni"}, ClientAuthentication: "OPTIONAL", ClientCARef: "ca",
		Versions: []string{"TLSv1.2"}, ALPN: []string{"h2"}, HSTS: "max-age=300; includeSubDomains; preload",
	}
	read := func() datapath.ListenerTLS {
		return (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0].Listeners[0].TLS
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("translated (-want +got):\n%s", diff)
	}
	lb.Listeners[0].TLS.HSTSMaxAge = nil
	if got := read().HSTS; got != "" {
		t.Errorf("without hsts_max_age: %q, want none", got)
	}
}

func TestTranslate_SticksFor360SecondsInUDPPoolsOfAmphorae(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.Pools[0].Persistence.Timeout, lb.Pools[0].Protocol = nil, "UDP"
	if got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0].Pools[0].PersistenceTimeout; got != 360*time.Second {
		t.Errorf("persistence timeout %s, want 360s", got)
	}
}

func TestTranslate_LeavesOutMissingAddress(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.VIP.Address, lb.AdditionalVIPs = "", nil
	if got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0].Addresses; len(got) != 0 {
		t.Errorf("addresses %v, want none", got)
	}
}

func TestTranslate_AdmitsNobodyForUnreadableCIDR(t *testing.T) {
	t.Parallel()
	lb := full()
	lb.Listeners[0].AllowedCIDRs = []string{"everyone"}
	got := (&services{balancers: []octavia.LoadBalancer{lb}}).read()[0].Listeners[0].AllowedCIDRs
	if len(got) != 1 || got[0].IsValid() {
		t.Errorf("allowed %v, want one prefix that matches nobody", got)
	}
}

func TestStart_SubscribesToBothServicesUntilClosed(t *testing.T) {
	t.Parallel()
	cloud := &services{}
	plane := Start(cloud, cloud, datapath.Options{})
	if cloud.subscriptions != 2 {
		t.Errorf("%d subscriptions, want 2", cloud.subscriptions)
	}
	plane.Close()
	if cloud.subscriptions != 0 {
		t.Errorf("%d subscriptions left", cloud.subscriptions)
	}
}
