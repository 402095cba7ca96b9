package annotation

import "slices"

// Values are the annotations of one Service. A nil field means that the annotation is missing or
// malformed.
type Values struct {
	Internal     *bool
	Hostname     *string
	Status       StatusValues
	LoadBalancer LoadBalancerValues
	VIP          VIPValues
	Floating     FloatingValues
	Listeners    ListenerValues
	Members      MemberValues
	Monitor      MonitorValues
	Metrics      MetricsValues
	// Malformed are invalid values that are not refused.
	Malformed []Malformed
	// Ports are the values for single ports, by the name or number of the port.
	Ports map[string]*Values
}

// ofPort returns the values for a port.
func (v *Values) ofPort(port string) *Values {
	if v.Ports == nil {
		v.Ports = map[string]*Values{}
	}
	if v.Ports[port] == nil {
		v.Ports[port] = &Values{}
	}
	return v.Ports[port]
}

// StatusValues concern the published status.
type StatusValues struct {
	IPMode          *string
	IngressHostname *bool
}

// LoadBalancerValues concern the load balancer itself.
type LoadBalancerValues struct {
	ID, Class, Provider, Share *string
	FlavorID, AvailabilityZone *string
	AllowReplace, Managed      *bool
	// Tags are nil without the annotation, and empty if it requests none.
	Tags []string
}

// VIPValues concern the VIP.
type VIPValues struct {
	SubnetID, NetworkID         *string
	PortID, Address             *string
	AdditionalSubnetIDs         *string
	QoSPolicyID, SecurityGroups *string // IDs, or "none"
}

// FloatingValues concern the floating IP: ID or Tag of an existing one, and the network and subnets
// of a new one.
type FloatingValues struct {
	ID, Tag             *string
	NetworkID, SubnetID *string
	Pattern, Tags       *string
	Keep                *bool
}

// ListenerValues concern the listeners.
type ListenerValues struct {
	SourceRanges                                []string
	Limits                                      LimitValues
	ProxyProtocol                               *string // "true", "v1", "v2" or "false"
	ForwardedFor, ForwardedProto, ForwardedPort *bool
	AppProtocol                                 *bool
	TLSContainerRef                             *string
	Protocols                                   []PortProtocol
}

// LimitValues are the limits of listeners; timeouts are in milliseconds.
type LimitValues struct {
	ConnectionLimit                         *int
	TimeoutClientData, TimeoutMemberConnect *int
	TimeoutMemberData, TimeoutTCPInspect    *int
}

// MemberValues concern the members and the distribution of traffic.
type MemberValues struct {
	SubnetID, Method, NodeSelector *string
	Persistence, CookieName        *string
	Mode, Weights                  *string
	BySubnet                       *bool
	Max                            *int
}

// MonitorValues concern the health monitors; Delay and Timeout are in seconds.
type MonitorValues struct {
	Enabled                    *bool
	Delay, Timeout             *int
	MaxRetries, MaxRetriesDown *int
	Type, Path                 *string
	HTTPMethod, Codes          *string
	HTTPVersion, DomainName    *string
	Port                       *int
	KubeProxy                  *bool
}

// MetricsValues concern the listener with the metrics of the load balancer.
type MetricsValues struct {
	Port         *int
	AllowedCIDRs []string
}

// Malformed is an invalid value of an annotation that cloud-provider-openstack has too. It counts
// as not given, as it does there.
type Malformed struct {
	// Annotation is the name, Value the value of the Service, and Allowed describes the valid
	// values.
	Annotation, Value, Allowed string
	// NewRefused reports that cloud-provider-openstack forwards the value to OpenStack, which
	// refuses it: no load balancer is created with it, and an existing one is unchanged.
	NewRefused bool
}

// KeepsFloatingIP reports whether the floating IP outlives the Service, or may be meant to: a
// released address is lost.
func (v Values) KeepsFloatingIP() bool {
	return v.Floating.Keep != nil && *v.Floating.Keep ||
		slices.ContainsFunc(v.Malformed, func(m Malformed) bool { return m.Annotation == KeepFloatingIP })
}
