package neutron

import (
	"time"

	"github.com/google/uuid"
)

// The records are what Neutron stores and shows: their JSON form is the wire
// form, key by key.

// standard are the attributes that every resource has.
type standard struct {
	ID             string   `json:"id"`
	ProjectID      string   `json:"project_id"`
	TenantID       string   `json:"tenant_id"`
	Description    string   `json:"description"`
	Tags           []string `json:"tags"`
	CreatedAt      string   `json:"created_at"`
	UpdatedAt      string   `json:"updated_at"`
	RevisionNumber int      `json:"revision_number"`
}

type network struct {
	standard
	Name                  string   `json:"name"`
	AdminStateUp          bool     `json:"admin_state_up"`
	AvailabilityZoneHints []string `json:"availability_zone_hints"`
	AvailabilityZones     []string `json:"availability_zones"`
	DNSDomain             string   `json:"dns_domain"`
	IPv4AddressScope      *string  `json:"ipv4_address_scope"`
	IPv6AddressScope      *string  `json:"ipv6_address_scope"`
	IsDefault             *bool    `json:"is_default,omitempty"`
	L2Adjacency           bool     `json:"l2_adjacency"`
	MTU                   int      `json:"mtu"`
	PortSecurityEnabled   bool     `json:"port_security_enabled"`
	QoSPolicyID           *string  `json:"qos_policy_id"`
	External              bool     `json:"router:external"`
	Shared                bool     `json:"shared"`
	Status                string   `json:"status"`
	Subnets               []string `json:"subnets"`
}

type subnet struct {
	standard
	Name            string         `json:"name"`
	NetworkID       string         `json:"network_id"`
	CIDR            string         `json:"cidr"`
	IPVersion       int            `json:"ip_version"`
	GatewayIP       *string        `json:"gateway_ip"`
	AllocationPools []AddressRange `json:"allocation_pools"`
	DNSNameservers  []string       `json:"dns_nameservers"`
	EnableDHCP      bool           `json:"enable_dhcp"`
	HostRoutes      []hostRoute    `json:"host_routes"`
	IPv6AddressMode *string        `json:"ipv6_address_mode"`
	IPv6RAMode      *string        `json:"ipv6_ra_mode"`
	ServiceTypes    []string       `json:"service_types"`
	SubnetPoolID    *string        `json:"subnetpool_id"`

	addresses *addressPool
}

type hostRoute struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

type router struct {
	standard
	Name                  string       `json:"name"`
	AdminStateUp          bool         `json:"admin_state_up"`
	AvailabilityZoneHints []string     `json:"availability_zone_hints"`
	AvailabilityZones     []string     `json:"availability_zones"`
	ExternalGatewayInfo   *gatewayInfo `json:"external_gateway_info"`
	Routes                []hostRoute  `json:"routes"`
	Status                string       `json:"status"`

	subnetIDs []string
}

type gatewayInfo struct {
	NetworkID        string    `json:"network_id"`
	ExternalFixedIPs []FixedIP `json:"external_fixed_ips"`
	EnableSNAT       bool      `json:"enable_snat"`
}

type port struct {
	standard
	Name                string          `json:"name"`
	NetworkID           string          `json:"network_id"`
	AdminStateUp        bool            `json:"admin_state_up"`
	AllowedAddressPairs []AddressPair   `json:"allowed_address_pairs,omitzero"` // nil without the extension
	VNICType            string          `json:"binding:vnic_type"`
	DeviceID            string          `json:"device_id"`
	DeviceOwner         string          `json:"device_owner"`
	DNSAssignment       []dnsAssignment `json:"dns_assignment"`
	DNSName             string          `json:"dns_name"`
	ExtraDHCPOpts       []string        `json:"extra_dhcp_opts"`
	FixedIPs            []FixedIP       `json:"fixed_ips"`
	IPAllocation        string          `json:"ip_allocation"`
	MACAddress          string          `json:"mac_address"`
	PortSecurityEnabled bool            `json:"port_security_enabled"`
	QoSNetworkPolicyID  *string         `json:"qos_network_policy_id"`
	QoSPolicyID         *string         `json:"qos_policy_id"`
	SecurityGroups      []string        `json:"security_groups"`
	Status              string          `json:"status"`
	// TrunkDetails is on the parent port of a trunk only.
	TrunkDetails *trunkDetails `json:"trunk_details,omitempty"`
}

type dnsAssignment struct {
	FQDN      string `json:"fqdn"`
	Hostname  string `json:"hostname"`
	IPAddress string `json:"ip_address"`
}

type floatingIP struct {
	standard
	DNSDomain         string              `json:"dns_domain"`
	DNSName           string              `json:"dns_name"`
	FixedIPAddress    *string             `json:"fixed_ip_address"`
	FloatingIPAddress string              `json:"floating_ip_address"`
	FloatingNetworkID string              `json:"floating_network_id"`
	PortDetails       *portDetails        `json:"port_details"`
	PortForwardings   []exposedForwarding `json:"port_forwardings,omitzero"` // nil without the extension
	PortID            *string             `json:"port_id"`
	QoSPolicyID       *string             `json:"qos_policy_id"`
	RouterID          *string             `json:"router_id"`
	Status            string              `json:"status"`

	externalPortID string
	forwardings    []*portForwarding
}

type portForwarding struct {
	ID                string `json:"id"`
	Protocol          string `json:"protocol"`
	ExternalPort      int    `json:"external_port"`
	ExternalPortRange string `json:"external_port_range"`
	InternalPort      int    `json:"internal_port"`
	InternalPortRange string `json:"internal_port_range"`
	InternalPortID    string `json:"internal_port_id"`
	InternalIPAddress string `json:"internal_ip_address"`
	Description       string `json:"description"`
}

// exposedForwarding is a forwarding in its floating IP, without its description.
type exposedForwarding struct {
	ID                string `json:"id"`
	Protocol          string `json:"protocol"`
	ExternalPort      int    `json:"external_port"`
	InternalPort      int    `json:"internal_port"`
	InternalPortID    string `json:"internal_port_id"`
	InternalIPAddress string `json:"internal_ip_address"`
}

type portDetails struct {
	AdminStateUp bool   `json:"admin_state_up"`
	DeviceID     string `json:"device_id"`
	DeviceOwner  string `json:"device_owner"`
	MACAddress   string `json:"mac_address"`
	Name         string `json:"name"`
	NetworkID    string `json:"network_id"`
	Status       string `json:"status"`
}

type securityGroup struct {
	standard
	Name     string               `json:"name"`
	Rules    []*securityGroupRule `json:"security_group_rules"`
	Shared   bool                 `json:"shared"`
	Stateful bool                 `json:"stateful"`
}

// shownRule is a rule on its own. Inside of its group it has tags and a number
// besides.
type shownRule struct {
	*securityGroupRule
	Tags           *struct{} `json:"tags,omitempty"`
	StandardAttrID *struct{} `json:"standard_attr_id,omitempty"`
}

func shownRules(rules []*securityGroupRule) []*shownRule {
	shown := make([]*shownRule, len(rules))
	for i, rule := range rules {
		shown[i] = &shownRule{securityGroupRule: rule}
	}
	return shown
}

type securityGroupRule struct {
	standard
	// Description of a rule that came with its group is null.
	Description          *string `json:"description"`
	Direction            string  `json:"direction"`
	EtherType            string  `json:"ethertype"`
	NormalizedCIDR       *string `json:"normalized_cidr"`
	PortRangeMax         *int    `json:"port_range_max"`
	PortRangeMin         *int    `json:"port_range_min"`
	Protocol             *string `json:"protocol"`
	RemoteAddressGroupID *string `json:"remote_address_group_id"`
	RemoteGroupID        *string `json:"remote_group_id"`
	RemoteIPPrefix       *string `json:"remote_ip_prefix"`
	SecurityGroupID      string  `json:"security_group_id"`
	StandardAttrID       int     `json:"standard_attr_id"`
}

// newStandard fills the attributes of a resource made now. An empty id is made up.
func (n *Neutron) newStandard(id, projectID, description string, tags []string) standard {
	if id == "" {
		id = uuid.NewString()
	}
	now := n.timestamp()
	return standard{
		ID: id, ProjectID: projectID, TenantID: projectID, Description: description,
		Tags: append([]string{}, tags...), CreatedAt: now, UpdatedAt: now,
	}
}

// timestamp is now as Neutron writes it: UTC, whole seconds, with Z.
func (n *Neutron) timestamp() string {
	return n.options.Clock.Now().UTC().Format(time.RFC3339)
}

// bump marks a resource as changed. The subscribers are notified when the lock is
// released.
func (n *Neutron) bump(s *standard) {
	s.RevisionNumber++
	s.UpdatedAt = n.timestamp()
	n.changed = true
}

// pointerTo is nil for the zero value: Neutron's null.
func pointerTo[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// valueOf is the zero value for nil.
func valueOf[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
