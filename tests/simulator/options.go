package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/fastclock"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Options configures Start. The zero value is a cloud of the newest release with amphora and ovn,
// one project with one user, a tenant network, an external network and a router between them. Its
// load balancers are created without a delay.
type Options struct {
	// Addr to listen on, "127.0.0.1:0" when empty.
	Addr string
	// Listen opens the port; nil: one of this machine.
	Listen func(address string) (net.Listener, error)
	// Clock drives tokens, delays and timestamps; nil means the real one.
	Clock clock.WithDelayedExecution
	// Speed is the factor between the time of the cloud and that of the clock, so that minutes of
	// Delays take milliseconds; 0 means 1. Tokens expire by the clock, as clients expect.
	Speed float64

	// Profile is the name of predefined Delays, see Profiles. Delays for a provider override it.
	Profile string
	// Seed of all random numbers: the same seed gives the same delays and latencies.
	Seed uint64
	// Latencies of requests.
	Latencies []faults.Latency
	// Octavia may change further options of octavia.New.
	Octavia func(*octavia.Options)
	// Neutron may change the options of neutron.New.
	Neutron func(*neutron.Options)
	// Report is called with errors that no client sees; it may be nil.
	Report func(error)

	// Release, Providers, Delays, Quirks and Quota are those of
	// octavia.Options.
	Release   string
	Providers []string
	Delays    map[string]octavia.Delays
	Quirks    octavia.Quirks
	Quota     map[string]int
	// VIPPortDelay is the time that Neutron takes to create a VIP port. Meanwhile the project's
	// quota row is locked, and every other creation in the project waits; after ProjectLockTimeout,
	// 50 s if 0, it is refused with 503. Both are times of the cloud, see Speed.
	VIPPortDelay, ProjectLockTimeout time.Duration

	// Region is that of all services, "RegionOne" when empty.
	Region string
	// OtherRegion is a second region with its own Nova and Neutron, see Elsewhere; empty for none.
	OtherRegion string
	// Project and User are the names of the first account, both "k8s" when
	// empty.
	Project, User string
	// TokenLifetime is an hour when 0.
	TokenLifetime time.Duration

	// Flavors of servers; nil means nova.DefaultFlavors.
	Flavors []nova.Flavor

	Topology Topology
	// Config selects the contents of CloudConf beside the credentials.
	Config Config

	signInClock clock.PassiveClock // the Clock at its own speed
}

// Topology has the names and address ranges of the initial networks. The defaults are in
// 127.0.0.0/8, because listening there needs no privileges.
type Topology struct {
	// ExternalNetwork is the name of the floating network, "public" when empty.
	ExternalNetwork string
	// ExternalCIDR of its subnet, 127.200.0.0/16 when empty.
	ExternalCIDR string
	// ExternalSubnetVisible lets ordinary tenants see the external network's
	// subnets. In a real cloud they cannot.
	ExternalSubnetVisible bool
	// FloatingIPAddressByMembers lets ordinary tenants choose the address of a floating IP, which
	// Neutron by default reserves for administrators and managers.
	FloatingIPAddressByMembers bool
	// Network is the name of the tenant network, "k8s-net" when empty.
	Network string
	// CIDR of its subnet, 127.100.0.0/16 when empty.
	CIDR string
	// IPv6CIDR of a second subnet of the tenant network, such as fd00:6::/64;
	// none when empty.
	IPv6CIDR string
	// RouterVIPCIDR of the subnet of another tenant network at the router, for VIPs of provider router,
	// such as 10.77.0.0/24; none when empty.
	RouterVIPCIDR string
	// WithoutRouter leaves the tenant network unconnected, so that no floating
	// IP can be associated.
	WithoutRouter bool
}

// Config selects the contents of a cloud.conf.
type Config struct {
	// OmitSubnet leaves out subnet-id, so that the controller must find the subnet of the nodes.
	OmitSubnet bool
	// OmitFloatingNetwork leaves out floating-network-id.
	OmitFloatingNetwork bool
	// LoadBalancer are more keys of the section [LoadBalancer].
	LoadBalancer map[string]string
}

// check returns an error for options with which octavia.New would panic.
func (o Options) check() error {
	known := octavia.Releases()
	if _, is := known[o.Release]; !is && o.Release != "" {
		return fmt.Errorf("release %q is unknown: want one of %v", o.Release, slices.Sorted(maps.Keys(known)))
	}
	if _, is := Profiles()[o.Profile]; !is && o.Profile != "" {
		return fmt.Errorf("profile %q is unknown: want one of %v", o.Profile, slices.Sorted(maps.Keys(Profiles())))
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	if o.Listen == nil {
		o.Listen = listen
	}
	o.Region = cmp.Or(o.Region, "RegionOne")
	o.Project = cmp.Or(o.Project, "k8s")
	o.User = cmp.Or(o.User, "k8s")
	o.Topology.ExternalNetwork = cmp.Or(o.Topology.ExternalNetwork, "public")
	o.Topology.ExternalCIDR = cmp.Or(o.Topology.ExternalCIDR, "127.200.0.0/16")
	o.Topology.Network = cmp.Or(o.Topology.Network, "k8s-net")
	o.Topology.CIDR = cmp.Or(o.Topology.CIDR, "127.100.0.0/16")
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	o.signInClock = o.Clock
	o.Clock = fastclock.New(o.Clock, o.Speed)
	return o
}

// regions returns the regions of the catalog.
func (o Options) regions() []string {
	if o.OtherRegion == "" {
		return []string{o.Region}
	}
	return []string{o.Region, o.OtherRegion}
}

// catalog returns all services in Region, and those of OtherRegion.
func (o Options) catalog() []keystone.Service {
	services := keystone.DefaultServices()
	for n := range services {
		services[n].Regions = []string{o.Region}
	}
	if o.OtherRegion == "" {
		return services
	}
	elsewhere := []string{o.OtherRegion}
	return append(services,
		keystone.Service{Type: "compute", Name: "nova", Path: "/elsewhere/compute/v2.1", Regions: elsewhere},
		keystone.Service{Type: "network", Name: "neutron", Path: "/elsewhere/network", Regions: elsewhere})
}
