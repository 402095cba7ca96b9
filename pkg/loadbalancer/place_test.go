package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// catalogue adds flavors and zones to the cloud.
func (env *environment) catalogue() (big octavia.Flavor) {
	env.T.Helper()
	big = env.Cloud.Octavia.AddFlavor(octavia.Flavor{Name: "big/x4", Enabled: true, Provider: "amphora"})
	env.Cloud.Octavia.AddFlavor(octavia.Flavor{Name: "small", Enabled: true, Provider: "amphora"})
	env.Cloud.Octavia.AddFlavor(octavia.Flavor{Name: "old", Provider: "amphora"})
	env.Cloud.Octavia.AddAvailabilityZone(octavia.AvailabilityZone{Name: "az1", Enabled: true, Provider: "amphora"})
	env.Cloud.Octavia.AddAvailabilityZone(octavia.AvailabilityZone{Name: "az2", Provider: "amphora"})
	return big
}

//proves:39,40
func TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	big := env.catalogue()
	nodes := env.nodes(1)
	for name, flavor := range map[string]string{"by-id": big.ID, "by-name": "big/x4"} {
		svc := service(name, 1)
		svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AvailabilityZone] = flavor, "az1"
		env.ensure(svc, nodes)
		if lb := env.loadBalancer(); lb.FlavorID != big.ID || lb.AvailabilityZone != "az1" {
			t.Errorf("%s: flavor %s, zone %s", name, lb.FlavorID, lb.AvailabilityZone)
		}
		env.unchanged(svc, nodes)
		env.delete(svc)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodGet, "/load-balancer/v2.0/lbaas/flavors"); n > 4 {
		t.Errorf("%d lists of flavors by three controllers", n)
	}
}

//proves:39,40
func TestEnsure_RefusesUnavailableFlavorOrZoneBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	env.catalogue()
	nodes := env.nodes(1)
	for name, c := range map[string]struct{ annotation, value, says string }{
		"no-such-name":  {annotation.FlavorID, "huge", `metadata.annotations[` + annotation.FlavorID + `]: Octavia has no usable flavor "huge": use one of big/x4, small`},
		"no-such-id":    {annotation.FlavorID, "4a3e2c1b-0000-4000-8000-000000000000", "use one of big/x4, small"},
		"disabled":      {annotation.FlavorID, "old", `no usable flavor "old"`},
		"no-such-zone":  {annotation.AvailabilityZone, "az9", `metadata.annotations[` + annotation.AvailabilityZone + `]: Octavia has no usable availability zone "az9": use one of az1`},
		"disabled-zone": {annotation.AvailabilityZone, "az2", `no usable availability zone "az2"`},
	} {
		svc := service(name, 1)
		svc.Annotations[c.annotation] = c.value
		env.refused(svc, nodes, c.says)
	}
	env.writes(0)
}

//proves:39
func TestProvider_ReportsFlavorAndZoneItDoesNotHave(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AvailabilityZone] = "big", "az1"
	env.ensure(svc, nodes)
	emitted := env.emitted()
	for _, says := range []string{"flavor-id: without effect: the provider ovn has no flavors", "availability-zone: without effect: the provider ovn has no availability zones"} {
		if !strings.Contains(emitted, says) {
			t.Errorf("events %s\nsay nothing of %q", emitted, says)
		}
	}
	env.ensure(svc, nodes)
	if again := env.emitted(); again != "" {
		t.Errorf("emitted again: %s", again)
	}
	env.unchanged(svc, nodes)
}

// port adds a port of the user.
func (env *environment) port(address, device string) neutron.Port {
	env.T.Helper()
	port, err := env.Cloud.Neutron.CreatePort(neutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Address: address, DeviceID: device, Name: "mine",
	})
	if err != nil {
		env.T.Fatal(err)
	}
	return port
}

//proves:27
func TestVIP_UsesNamedPortWhichOutlivesService(t *testing.T) {
	t.Parallel()
	for _, attached := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{})
		mine := env.port("127.100.9.9", "")
		nodes, svc := env.nodes(1), service("web", 1)
		svc.Annotations[annotation.PortID] = mine.ID
		fip := env.floatingIP("127.200.7.7", "mine")
		if attached {
			if _, err := env.Cloud.Neutron.AssociateFloatingIP(fip.ID, mine.ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		env.ensure(svc, nodes)
		if lb := env.loadBalancer(); lb.VIP.PortID != mine.ID || lb.VIP.Address != "127.100.9.9" {
			t.Errorf("the VIP is on port %s with address %s", lb.VIP.PortID, lb.VIP.Address)
		}
		if attached {
			env.serves(svc, "127.200.7.7")
		} else {
			env.serves(svc, "", "127.200.7.7")
		}
		env.unchanged(svc, nodes)
		env.delete(svc)
		env.loadBalancers(0)
		env.floatingIPs(1)
		if _, err := env.Cloud.Neutron.Port(mine.ID); err != nil {
			t.Errorf("the port was deleted: %v", err)
		}
	}
}

//proves:27
func TestVIP_RefusesUnusablePortBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}})
	nodes := env.nodes(1)
	used, free := env.port("127.100.9.8", "a-server"), env.port("127.100.9.9", "")
	six := func(svc *v1.Service) {
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
		svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
	}
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::10"})
	for name, c := range map[string]struct {
		port, says string
		change     func(*v1.Service)
	}{
		"in use":         {used.ID, "port-id: port " + used.ID + " is in use by a device: use another port", nil},
		"not there":      {env.Cloud.Network.ID, "port-id: there is no port", nil},
		"another family": {free.ID, "has no address of family IPv6", six},
		"two addresses": {free.ID, "spec.loadBalancerIP requests an address of the VIP", func(svc *v1.Service) {
			svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.9.7"
		}},
	} {
		svc := service(strings.ReplaceAll(name, " ", "-"), 1)
		svc.Annotations[annotation.PortID] = c.port
		if c.change != nil {
			c.change(svc)
		}
		env.refused(svc, nodes, c.says)
	}
	env.writes(0)
	ovn := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn"}})
	svc := service("web", 1)
	svc.Annotations[annotation.PortID] = ovn.port("127.100.9.9", "").ID
	ovn.refused(svc, ovn.nodes(1), "port-id]: Forbidden: the provider ovn has no VIPs on ports of the user's own")
	ovn.writes(0)
}

//proves:26
func TestVIP_HasAddressThatServiceAsksForUnlessInUse(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}})
	nodes := env.nodes(1)
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::10"})
	for name, c := range map[string]struct {
		address  string
		floating int
		change   func(*v1.Service)
	}{
		"internal": {"127.100.9.1", 0, func(svc *v1.Service) {
			svc.Annotations[annotation.Internal], svc.Spec.LoadBalancerIP = "true", "127.100.9.1"
		}},
		"IPv6": {"fd00:6::9:2", 0, func(svc *v1.Service) {
			svc.Spec.IPFamilies, svc.Spec.LoadBalancerIP = []v1.IPFamily{v1.IPv6Protocol}, "fd00:6::9:2"
			svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
		}},
		"beside a floating IP": {"127.100.9.3", 1, func(svc *v1.Service) { svc.Annotations[annotation.VIPAddress] = "127.100.9.3" }},
	} {
		svc := service(strings.ReplaceAll(strings.ToLower(name), " ", "-"), 1)
		c.change(svc)
		env.ensure(svc, nodes)
		if got := env.loadBalancer().VIP.Address; got != c.address {
			t.Errorf("%s: the VIP is %s, want %s", name, got, c.address)
		}
		env.floatingIPs(c.floating)
		env.unchanged(svc, nodes)
		second := service("second", 1)
		c.change(second)
		env.refused(second, nodes, c.address+" is in use in the subnet of the VIP")
		env.delete(svc)
	}
}
