package control

import (
	"net/http"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

func (c *control) leftovers(*http.Request) (answer, error) {
	left := client.Leftovers{
		LoadBalancers:  c.leftLoadBalancers(),
		FloatingIPs:    c.leftFloatingIPs(),
		Ports:          c.leftPorts(),
		SecurityGroups: c.leftSecurityGroups(),
	}
	left.Count = len(left.LoadBalancers) + len(left.FloatingIPs) + len(left.Ports) + len(left.SecurityGroups)
	return answer{http.StatusOK, left}, nil
}

func (c *control) leftLoadBalancers() []client.Leftover {
	left := []client.Leftover{}
	for _, lb := range c.parts.Octavia.Snapshot() {
		left = append(left, client.Leftover{ID: lb.ID, Name: lb.Name, Detail: lb.ProvisioningStatus})
	}
	return left
}

func (c *control) leftFloatingIPs() []client.Leftover {
	left := []client.Leftover{}
	for _, floatingIP := range c.parts.Neutron.FloatingIPs() {
		left = append(left, client.Leftover{ID: floatingIP.ID, Name: floatingIP.Address, Detail: floatingIP.Description})
	}
	return left
}

// leftPorts returns the remaining ports, without those of servers, of the network's own services
// and of floating IPs.
func (c *control) leftPorts() []client.Leftover {
	left := []client.Leftover{}
	for _, port := range c.parts.Neutron.Ports() {
		if !strings.HasPrefix(port.DeviceOwner, "compute:") && !strings.HasPrefix(port.DeviceOwner, "network:") {
			left = append(left, client.Leftover{ID: port.ID, Name: port.Name, Detail: port.DeviceOwner})
		}
	}
	return left
}

func (c *control) leftSecurityGroups() []client.Leftover {
	left := []client.Leftover{}
	for _, group := range c.parts.Neutron.SecurityGroups() {
		if group.Name != "default" {
			left = append(left, client.Leftover{ID: group.ID, Name: group.Name, Detail: group.Description})
		}
	}
	return left
}
