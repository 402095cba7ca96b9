package cluster

import (
	"fmt"
	"strings"
)

// Leftovers names everything in the cloud that belongs to a load balancer: after
// the last Service is deleted there must be none.
func (c *Cluster) Leftovers() []string {
	var left []string
	for _, lb := range c.Cloud.Octavia.Snapshot() {
		left = append(left, fmt.Sprintf("load balancer %s (%s)", lb.Name, lb.ProvisioningStatus))
	}
	for _, ip := range c.Cloud.Neutron.FloatingIPs() {
		left = append(left, fmt.Sprintf("floating IP %s (%s)", ip.Address, ip.Description))
	}
	for _, port := range c.Cloud.Neutron.Ports() {
		if !strings.HasPrefix(port.DeviceOwner, "compute:") && !strings.HasPrefix(port.DeviceOwner, "network:") {
			left = append(left, fmt.Sprintf("port %s (%s)", port.Name, port.DeviceOwner))
		}
	}
	for _, group := range c.Cloud.Neutron.SecurityGroups() {
		if group.Name != "default" {
			left = append(left, "security group "+group.Name)
		}
	}
	return left
}
