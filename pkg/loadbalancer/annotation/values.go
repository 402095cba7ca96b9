package annotation

import "slices"

// Values are the annotations of one Service. A nil field is an annotation that the
// Service does not have, or whose value is malformed.
type Values struct {
	Internal     *bool
	Hostname     *string
	LoadBalancer LoadBalancerValues
	VIP          VIPValues
	Floating     FloatingValues
	Listeners    ListenerValues
	Members      MemberValues
	Monitor      MonitorValues
	// Malformed are values that are not allowed, and are not refused either.
	Malformed []Malformed
}

// LoadBalancerValues are about the load balancer itself.
type LoadBalancerValues struct {
	ID, Class, Provider        *string
	FlavorID, AvailabilityZone *string
	AllowReplace               *bool
	// Tags are nil without the annotation, and empty where it asks for none.
	Tags []string
}

// VIPValues are about the VIP.
type VIPValues struct {
	SubnetID, NetworkID         *string
	PortID, Address             *string
	QoSPolicyID, SecurityGroups *string // IDs, or "none"
}

// FloatingValues are about the floating IP: ID or Tag of the one that is asked for, and
// where another one comes from.
type FloatingValues struct {
	ID, Tag             *string
	NetworkID, SubnetID *string
	Pattern, Tags       *string
	Keep                *bool
}

// ListenerValues are about the listeners.
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

// MemberValues are about the members, and how traffic spreads over them.
type MemberValues struct {
	SubnetID, Method, NodeSelector *string
	Max                            *int
}

// MonitorValues are about the health monitors; Delay and Timeout are in seconds.
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

// Malformed is a value that is not allowed of an annotation that
// cloud-provider-openstack has too. It counts as not given, as there.
type Malformed struct {
	// Annotation is the name, Value what the Service says, and Allowed describes the
	// values that it may have.
	Annotation, Value, Allowed string
	// NewRefused reports that cloud-provider-openstack hands the value on, and OpenStack
	// refuses it: no load balancer is made with it, and an existing one stays as it is.
	NewRefused bool
}

// KeepsFloatingIP reports whether the floating IP outlives the Service, or may be meant
// to: what is released cannot be had again.
func (v Values) KeepsFloatingIP() bool {
	return v.Floating.Keep != nil && *v.Floating.Keep ||
		slices.ContainsFunc(v.Malformed, func(m Malformed) bool { return m.Annotation == KeepFloatingIP })
}
