package desire

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// vipPlace gives subnet and network of the VIP from the first of annotation,
// class and section that names either: a subnet of one and a network of another
// need not fit together.
func vipPlace(values annotation.Values, class *config.LoadBalancerClass, lb config.LoadBalancer) (subnet, network string) {
	for _, place := range [][2]string{
		{value(values.SubnetID), value(values.NetworkID)},
		{class.SubnetID, class.NetworkID},
		{lb.SubnetID, lb.NetworkID},
	} {
		if place[0] != "" || place[1] != "" {
			return place[0], place[1]
		}
	}
	return "", ""
}

// vipAddress reads the address that the VIP must have, where the Service asks for
// it beside its floating IP.
func vipAddress(values annotation.Values, wanted v1.IPFamily) (string, field.ErrorList) {
	if values.VIPAddress == nil {
		return "", nil
	}
	path := annotation.Path(annotation.VIPAddress)
	address, err := netip.ParseAddr(*values.VIPAddress)
	switch {
	case err != nil || address.Zone() != "":
		return "", field.ErrorList{field.Invalid(path, *values.VIPAddress, "must be an IP address")}
	case !sameFamily(address, wanted):
		return "", field.ErrorList{field.Invalid(path, *values.VIPAddress, "must be of the Service's IP family, "+describe(wanted))}
	case values.PortID != nil:
		return "", field.ErrorList{field.Forbidden(path, "the VIP is on the port that "+annotation.PortID+" names, and has the address of that")}
	}
	return address.Unmap().String(), nil
}

// VIPAskedBy names the field or annotation that asks for the address of the VIP.
func (s Settings) VIPAskedBy() string {
	if s.VIPAddress != "" {
		return annotation.Path(annotation.VIPAddress).String()
	}
	return inSpec("loadBalancerIP").String()
}

// oneVIP refuses to be asked for two addresses of the VIP.
func oneVIP(s Settings) field.ErrorList {
	if s.FloatingIP() || s.LoadBalancerIP == "" {
		return nil
	}
	switch {
	case s.VIPAddress != "" && s.VIPAddress != s.LoadBalancerIP:
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.VIPAddress), "spec.loadBalancerIP asks for another address of the VIP: "+s.LoadBalancerIP)}
	case s.PortID != "":
		return field.ErrorList{field.Forbidden(annotation.Path(annotation.PortID), "spec.loadBalancerIP asks for an address of the VIP, which the port decides")}
	}
	return nil
}

// vip gives the VIP that a Service asks for.
func vip(s Settings, facts Facts) model.VIP {
	v := model.VIP{SubnetID: facts.VIPSubnetID, NetworkID: facts.VIPNetworkID, PortID: s.PortID, Address: s.VIPAddress, VIPSettings: s.VIP}
	if (!s.FloatingIP() || facts.NoFloatingIP != "") && s.PortID == "" {
		v.Address = first(v.Address, s.LoadBalancerIP)
	}
	return v
}
