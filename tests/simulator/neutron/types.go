package neutron

import "fmt"

// Error is a refusal as Neutron words it: the HTTP status, the exception's
// name and its message.
type Error struct {
	Status int
	// Type; empty: the message is the whole answer, as text.
	Type, Message string
	Detail        string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Message) }

// Network is a network as the Go side sees it.
type Network struct {
	ID, ProjectID, Name string
	External, Shared    bool
	SubnetIDs           []string
}

// NetworkSpec describes a network to add.
type NetworkSpec struct {
	// ID; empty: made up.
	ID              string
	ProjectID, Name string
	// External networks can be floating networks; all projects see them.
	External bool
	// Shared networks can be used by all projects.
	Shared bool
	// Tags of the network.
	Tags []string
	// MTU; zero means 1442 for tenant networks and 1500 for external ones.
	MTU int
}

// AddressRange is an allocation pool, both ends included.
type AddressRange struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Subnet is a subnet as the Go side sees it.
type Subnet struct {
	ID, ProjectID, NetworkID, Name string
	CIDR, GatewayIP                string
	IPVersion                      int
	Pools                          []AddressRange
}

// SubnetSpec describes a subnet to add.
type SubnetSpec struct {
	// ID; empty: made up.
	ID string
	// ProjectID; empty: the network's.
	ProjectID       string
	NetworkID, Name string
	// CIDR such as 10.6.0.0/16 or fd00:6::/64.
	CIDR string
	// GatewayIP; empty: the first address. "none": no gateway.
	GatewayIP string
	// Pools that addresses are allocated from; nil: all of the CIDR but the
	// gateway, network and broadcast addresses.
	Pools []AddressRange
	// Tags of the subnet.
	Tags []string
	// AddressMode is ipv6_address_mode and ipv6_ra_mode (dhcpv6-stateful, slaac).
	AddressMode string
}

// Router connects subnets with each other and with an external network.
type Router struct {
	ID, ProjectID, Name string
	// ExternalNetworkID of the gateway; empty: none.
	ExternalNetworkID string
	// SubnetIDs that have an interface.
	SubnetIDs []string
	Routes    []Route
}

// Route is an extra route of a router.
type Route struct{ Destination, NextHop string }

// RouterSpec describes a router to add.
type RouterSpec struct {
	// ID; empty: made up.
	ID              string
	ProjectID, Name string
	// ExternalNetworkID of the gateway; empty: none.
	ExternalNetworkID string
	// SubnetIDs that get an interface at the subnet's gateway address.
	SubnetIDs []string
}

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

// AddressPair is another address that a port may send from.
type AddressPair struct {
	Address    string `json:"ip_address"`
	MACAddress string `json:"mac_address"`
}

// Port is a port as the Go side sees it.
type Port struct {
	ID, ProjectID, NetworkID, Name string
	Description                    string
	DeviceID, DeviceOwner          string
	MACAddress, Status             string
	AdminStateUp                   bool
	FixedIPs                       []FixedIP
	SecurityGroups                 []string
	AddressPairs                   []AddressPair
	PortSecurity                   bool
	Tags                           []string
}

// PortSpec describes a port to create.
type PortSpec struct {
	ProjectID string
	// NetworkID; empty: the network of SubnetID or of the first of FixedIPs.
	NetworkID string
	// SubnetID and Address choose one fixed IP; either may be empty.
	SubnetID, Address string
	// FixedIPs choose several, instead of SubnetID and Address. An empty
	// Address is allocated. With no choice at all the port gets one address of
	// each IP version that the network has.
	FixedIPs              []FixedIP
	Name, Description     string
	DeviceID, DeviceOwner string
	// DNSName that the port's addresses get in dns_assignment; empty: made from
	// the address.
	DNSName string
	// SecurityGroups; nil: the project's group "default". Empty: none.
	SecurityGroups []string
	AddressPairs   []AddressPair
	// Status; empty: ACTIVE where the port has a device, else DOWN.
	Status string
	// AdminStateDown makes a port with admin_state_up false, as Octavia's VIP ports are.
	AdminStateDown bool
	// WithoutPortSecurity makes a port that everything can reach; it has no groups.
	WithoutPortSecurity bool
	Tags                []string
}

// PortUpdate has the changes of a port; nil keeps a value.
type PortUpdate struct {
	Name, Description     *string
	DeviceID, DeviceOwner *string
	Status                *string
	AdminStateUp          *bool
	FixedIPs              *[]FixedIP
	SecurityGroups        *[]string
	AddressPairs          *[]AddressPair
	PortSecurity          *bool
}

// FloatingIP is a floating IP as the Go side sees it.
type FloatingIP struct {
	ID, ProjectID, NetworkID, Address string
	// PortID and FixedAddress that it leads to; empty: not associated.
	PortID, FixedAddress string
	// RouterID that carries the association; empty: not associated.
	RouterID            string
	Description, Status string
	Tags                []string
}

// FloatingIPSpec describes a floating IP to create.
type FloatingIPSpec struct {
	ProjectID, NetworkID string
	// SubnetID of the external network to allocate from; empty: any.
	SubnetID string
	// Address to take; empty: allocated.
	Address string
	// PortID and FixedAddress to lead to; either may be empty.
	PortID, FixedAddress string
	Description          string
}

// SecurityGroup is a security group with its rules.
type SecurityGroup struct {
	ID, ProjectID, Name, Description string
	Rules                            []SecurityGroupRule
	Tags                             []string
}

// SecurityGroupSpec describes a security group to create.
type SecurityGroupSpec struct{ ProjectID, Name, Description string }

// SecurityGroupRule is a rule of a security group. Empty strings and zero
// ports mean any.
type SecurityGroupRule struct {
	ID, SecurityGroupID, ProjectID string
	// Direction is ingress or egress, EtherType is IPv4 or IPv6.
	Direction, EtherType       string
	Protocol                   string
	PortRangeMin, PortRangeMax int
	RemoteIPPrefix             string
	RemoteGroupID, Description string
	RemoteAddressGroupID       string
}
