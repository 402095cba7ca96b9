package lookup_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// routedCloud has a network of VIPs behind router r, which is also the gateway of subnet led; of subnet
// aside it is not, and the subnet of its own gateway is hidden.
func routedCloud() *tables {
	cloud := &tables{}
	cloud.network(neutron.Network{ID: "vips"}, "v4 10.9.0.0/24", "v6 fd00:9::/64")
	cloud.network(neutron.Network{ID: "nodes"}, "led 10.0.0.0/24", "aside 10.0.1.0/24")
	cloud.network(neutron.Network{ID: "two"}, "t4 10.8.0.0/24", "u4 10.8.1.0/24")
	cloud.network(neutron.Network{ID: "odd"}, "bad x")
	cloud.attach("r", "v4", "10.9.0.1")
	cloud.attach("r", "v6", "fd00:9::1")
	cloud.attach("r", "led", "10.0.0.1")
	cloud.attach("s", "aside", "10.0.1.1")
	cloud.attach("r", "aside", "10.0.1.2")
	cloud.attach("r", "bad", "10.7.0.1")
	cloud.interfaces = append(cloud.interfaces, neutron.Port{DeviceID: "r", FixedIPs: []neutron.FixedIP{{SubnetID: "outside", IPAddress: "203.0.113.5"}}})
	return cloud
}

// A node is a next hop only if its answers take the way of the requests, by the same router.
func TestPools_TellNextHopsFromAddressesAmongVIPs(t *testing.T) {
	t.Parallel()
	cloud := routedCloud()
	reader, _ := cloud.reader()
	pool, err := reader.Pools.Of(t.Context(), "vips", v1.IPv4Protocol)
	if err != nil {
		t.Fatal(err)
	}
	want := lookup.Pool{NetworkID: "vips", SubnetID: "v4", CIDR: pool.CIDR, RouterID: "r"}
	if diff := cmp.Diff(want, *pool, cmpopts.IgnoreUnexported(lookup.Pool{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" || pool.CIDR.String() != "10.9.0.0/24" {
		t.Errorf("pool %s: %s", pool.CIDR, diff)
	}
	for address, test := range map[string]struct{ reaches, holds bool }{
		"10.0.0.7":    {true, false},
		"10.0.1.7":    {false, false}, // its gateway is another router
		"10.9.0.7":    {false, true},
		"fd00:9::7":   {false, true}, // the other IP family of the network
		"203.0.113.7": {false, false},
		"10.7.0.7":    {false, false},
		"node":        {false, false},
		"":            {false, false},
	} {
		if pool.Reaches(address) != test.reaches || pool.Holds(address) != test.holds {
			t.Errorf("%q: reaches %t, holds %t", address, pool.Reaches(address), pool.Holds(address))
		}
	}
	cloud.calls = nil
	if again, err := reader.Pools.In(t.Context(), "v4"); err != nil || again != pool {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if six, err := reader.Pools.Of(t.Context(), "vips", v1.IPv6Protocol); err != nil || six.SubnetID != "v6" {
		t.Errorf("pool of IPv6: %+v, %v", six, err)
	}
	cloud.asked(t, "one pool", "RouterPorts", 1)
}

func TestPools_RefuseNetworksWithoutOneSubnetBehindARouter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		network string
		family  v1.IPFamily
		change  func(*tables)
		refused string
	}{
		"two subnets":        {"two", v1.IPv4Protocol, nil, "the network two has 2 subnets of IPv4"},
		"none of the family": {"two", v1.IPv6Protocol, nil, "the network two has 0 subnets of IPv6"},
		"an unknown network": {"gone", v1.IPv4Protocol, func(c *tables) { c.fails = map[string]error{"Subnets": refusal(http.StatusNotFound, "")} }, "the network gone has 0 subnets"},
		"no router":          {"vips", v1.IPv4Protocol, func(c *tables) { c.interfaces = nil }, `no router that this project sees is the gateway ("10.9.0.1") of subnet v4`},
		"another gateway":    {"vips", v1.IPv4Protocol, func(c *tables) { c.subnets[0].GatewayIP = "10.9.0.9" }, `is the gateway ("10.9.0.9") of subnet v4`},
	} {
		cloud := routedCloud()
		if test.change != nil {
			test.change(cloud)
		}
		reader, _ := cloud.reader()
		_, err := reader.Pools.Of(t.Context(), test.network, test.family)
		assertRefused(t, name, err, test.refused)
	}
	reader, _ := routedCloud().reader()
	if pool, err := reader.Pools.In(t.Context(), "bad"); err == nil {
		t.Errorf("a subnet without a range is the pool %+v", pool)
	}
	if _, err := reader.Pools.In(t.Context(), "gone"); !apierror.IsNotFound(err) {
		t.Errorf("a subnet that is gone: %v", err)
	}
}
