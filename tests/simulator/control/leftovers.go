package control

import (
	"net/http"
	"strings"
)

// leftover is one object that somebody made and nobody removed.
type leftover struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Detail tells what the name does not: an address, an owner, a description.
	Detail string `json:"detail,omitempty"`
}

// leftovers are the objects of a project that belong to neither its servers nor its network.
type leftovers struct {
	// Count of all of them; 0 means that the cloud is clean.
	Count          int        `json:"count"`
	LoadBalancers  []leftover `json:"load_balancers"`
	FloatingIPs    []leftover `json:"floating_ips"`
	Ports          []leftover `json:"ports"`
	SecurityGroups []leftover `json:"security_groups"`
}

func (c *control) leftovers(*http.Request) (answer, error) {
	left := leftovers{
		LoadBalancers:  c.leftLoadBalancers(),
		FloatingIPs:    c.leftFloatingIPs(),
		Ports:          c.leftPorts(),
		SecurityGroups: c.leftSecurityGroups(),
	}
	left.Count = len(left.LoadBalancers) + len(left.FloatingIPs) + len(left.Ports) + len(left.SecurityGroups)
	return answer{http.StatusOK, left}, nil
}

func (c *control) leftLoadBalancers() []leftover {
	left := []leftover{}
	for _, lb := range c.parts.Octavia.Snapshot() {
		left = append(left, leftover{ID: lb.ID, Name: lb.Name, Detail: lb.ProvisioningStatus})
	}
	return left
}

func (c *control) leftFloatingIPs() []leftover {
	left := []leftover{}
	for _, floatingIP := range c.parts.Neutron.FloatingIPs() {
		left = append(left, leftover{ID: floatingIP.ID, Name: floatingIP.Address, Detail: floatingIP.Description})
	}
	return left
}

// leftPorts leaves out the ports of servers and of the network's own services. The port of
// a floating IP is the floating IP's affair.
func (c *control) leftPorts() []leftover {
	left := []leftover{}
	for _, port := range c.parts.Neutron.Ports() {
		if !strings.HasPrefix(port.DeviceOwner, "compute:") && !strings.HasPrefix(port.DeviceOwner, "network:") {
			left = append(left, leftover{ID: port.ID, Name: port.Name, Detail: port.DeviceOwner})
		}
	}
	return left
}

func (c *control) leftSecurityGroups() []leftover {
	left := []leftover{}
	for _, group := range c.parts.Neutron.SecurityGroups() {
		if group.Name != "default" {
			left = append(left, leftover{ID: group.ID, Name: group.Name, Detail: group.Description})
		}
	}
	return left
}
