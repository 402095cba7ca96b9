// Package attach connects a data path with the simulated Octavia and Neutron: it converts their
// objects for package datapath, and the results of its probes for Octavia.
package attach

import (
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// Octavia is what the data path needs of the load-balancing service.
type Octavia interface {
	Snapshot() []octavia.LoadBalancer
	Subscribe(func()) (cancel func())
	SetMemberOperatingStatus(memberID, status string) error
	ChecksFloatingIPs(provider string) bool
}

// Neutron is what the data path needs of the network service.
type Neutron interface {
	FloatingIPs() []neutron.FloatingIP
	Subscribe(changed func()) (cancel func())
}

// Start serves the load balancers of a cloud until the plane is closed. It sets Source and
// Sink of the options. Options.Certificates may be Secrets; without it listeners that end TLS
// are not served.
func Start(loadBalancers Octavia, network Neutron, options datapath.Options) *datapath.Plane {
	options.Source = source{loadBalancers: loadBalancers, network: network}
	options.Sink = sink{loadBalancers}
	return datapath.Start(options)
}

// source shows a cloud as a datapath.Source.
type source struct {
	loadBalancers Octavia
	network       Neutron
}

// Subscribe listens to both services: floating IPs change without Octavia's knowledge.
func (s source) Subscribe(notify func()) (cancel func()) {
	cancelLoadBalancers := s.loadBalancers.Subscribe(notify)
	cancelNetwork := s.network.Subscribe(notify)
	return func() {
		cancelLoadBalancers()
		cancelNetwork()
	}
}

// LoadBalancers returns the load balancers that are created or being created.
func (s source) LoadBalancers() []datapath.LoadBalancer {
	byPort := map[string][]neutron.FloatingIP{}
	for _, floatingIP := range s.network.FloatingIPs() {
		if floatingIP.PortID != "" {
			byPort[floatingIP.PortID] = append(byPort[floatingIP.PortID], floatingIP)
		}
	}
	var translated []datapath.LoadBalancer
	for _, lb := range s.loadBalancers.Snapshot() {
		if lb.ProvisioningStatus != octavia.Deleted {
			one := loadBalancer(lb, byPort)
			one.FloatingUnchecked = !s.loadBalancers.ChecksFloatingIPs(lb.Provider)
			translated = append(translated, one)
		}
	}
	return translated
}

// sink hands what the probes find to Octavia.
type sink struct{ loadBalancers Octavia }

// SetMemberOperatingStatus implements datapath.Sink. The only error there can be is that
// the member was removed while it was probed.
func (s sink) SetMemberOperatingStatus(memberID, status string) {
	_ = s.loadBalancers.SetMemberOperatingStatus(memberID, status)
}
