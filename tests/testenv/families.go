package testenv

import (
	"net/netip"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// addIPv6 adds an address of IPv6 to the port of a server, one that belongs to its address of IPv4.
func (env *Env) addIPv6(server nova.Server) (string, error) {
	prefix, err := netip.ParsePrefix(env.Cloud.SubnetV6.CIDR)
	if err != nil {
		return "", err
	}
	first, err := netip.ParseAddr(server.Addresses[0])
	if err != nil {
		return "", err
	}
	bytes, tail := prefix.Addr().As16(), first.As4()
	copy(bytes[12:], tail[:])
	second := netip.AddrFrom16(bytes).String()
	port, err := env.Cloud.Neutron.Port(server.PortIDs[0])
	if err != nil {
		return "", err
	}
	fixed := append(port.FixedIPs, neutron.FixedIP{SubnetID: env.Cloud.SubnetV6.ID, Address: second})
	_, err = env.Cloud.Neutron.UpdatePort(port.ID, neutron.PortUpdate{FixedIPs: &fixed})
	return second, err
}
