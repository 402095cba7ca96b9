package lookup_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestGather_TakesAPortForTheVIPUnlessADeviceHasIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	port := func(address, device string) func(*settings.Settings) {
		made, err := env.Cloud.Neutron.CreatePort(simneutron.PortSpec{
			ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Address: address, DeviceID: device,
		})
		if err != nil {
			t.Fatal(err)
		}
		return func(s *settings.Settings) { s.VIP.SubnetID, s.VIP.PortID = "", made.ID }
	}
	free := env.internal(port("127.100.1.70", ""))
	if known := env.must(free); known.VIPSubnetID != env.Cloud.Subnet.ID {
		t.Errorf("the VIP would be in %q, want the subnet of the port", known.VIPSubnetID)
	}
	_, err := env.gather(env.internal(port("127.100.1.71", "a-server")))
	env.refused(err, "port-id", "in use by a device")
	ipv6(free)
	_, err = env.gather(free)
	env.refused(err, "port-id", "no address of family IPv6")
	_, err = env.gather(env.internal(func(s *settings.Settings) { s.VIP.PortID = "gone" }))
	env.refused(err, "port-id", "there is no port gone")
}
