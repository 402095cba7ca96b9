package octavia

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/neutron"
)

// anyNetwork has everything, as the no-op network driver of the recordings.
type anyNetwork struct{}

func (anyNetwork) CreatePort(spec neutron.PortSpec) (neutron.Port, error) {
	return neutron.Port{
		ID: newID(), NetworkID: newID(), Name: spec.Name,
		FixedIPs: []neutron.FixedIP{{SubnetID: spec.SubnetID, Address: "198.51.100.1"}},
	}, nil
}

func (anyNetwork) DeletePort(string) error { return nil }

func (anyNetwork) Port(id string) (neutron.Port, error) { return neutron.Port{ID: id}, nil }

func (anyNetwork) Subnet(id string) (neutron.Subnet, error) { return neutron.Subnet{ID: id}, nil }

func (anyNetwork) Network(id string) (neutron.Network, error) { return neutron.Network{ID: id}, nil }
