// Package settings reads the settings of a Service: its fields and annotations, with the defaults
// of its class and of cloud.conf. It refuses settings that no load balancer could serve, and those
// that the driver or the release of Octavia does not support, before any write. It is pure: it does
// no I/O and modifies none of its arguments.
package settings

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Settings are the settings of a Service. For each, the first of annotation, class and section
// [LoadBalancer] that has a value applies.
type Settings struct {
	// Family is the Service's first IP family. Second is the other one if the load balancer serves both,
	// else "": see On and OnNew.
	Family, Second v1.IPFamily
	// Dual is the request for both.
	Dual DualStack
	// Internal load balancers get no floating IP.
	Internal bool
	// LoadBalancerIP is the requested address: of the floating IP, or of the VIP if there is no
	// floating IP.
	LoadBalancerIP string
	Traffic        TrafficSettings
	LoadBalancer   LoadBalancerSettings
	VIP            VIPSettings
	Floating       FloatingSettings
	Access         AccessSettings
	Listeners      ListenerSettings
	Pools          PoolSettings
	Members        MemberSettings
	Monitor        MonitorSettings
	Metrics        MetricsSettings
	Status         StatusSettings
	// Malformed are annotations that count as not given because their values are invalid.
	Malformed []Malformed
	// ports are the values for single ports, by name or number; own are, in the settings of a port,
	// the full names of its annotations by their names without the suffix: see OfPort.
	ports portValues
	own   ownNames
	// exists is set for an existing load balancer: see OnExisting.
	exists bool
	// guest is set on a load balancer that was created for another owner.
	guest bool
	// otherAddress is a requested address that the shared load balancer of another Service does not
	// have.
	otherAddress string
	// parser has read them from service; both are nil if there is no source.
	parser  *Parser
	service *v1.Service
}

// TrafficSettings are the traffic settings in the spec of the Service.
type TrafficSettings struct {
	// Ports are those of the Service; they must not be modified. ownPorts is set if the Service's own
	// ports are in place of the NodePorts.
	Ports    []v1.ServicePort
	ownPorts bool
	// Local is externalTrafficPolicy Local; HealthCheckNodePort is the port on which kube-proxy
	// then reports for each node whether it has endpoints.
	Local               bool
	HealthCheckNodePort int
	// ClientAffinity is sessionAffinity ClientIP; AffinityTimeout is its duration in seconds.
	ClientAffinity  bool
	AffinityTimeout int
}

// LoadBalancerSettings are the settings of the load balancer itself.
type LoadBalancerSettings struct {
	// ID is the load balancer that the Service names.
	ID string
	// Share is the name by which the Service shares a load balancer, "" for none. Then ID is the one
	// that the Services of this name share, once it is known.
	Share string
	// Provider is Octavia's provider; ProviderAsked is set if the Service itself names it.
	Provider      string
	ProviderAsked bool
	// FlavorID is a flavor's ID or name.
	FlavorID         string
	AvailabilityZone string
	// AllowReplace permits a new load balancer if the existing one cannot be changed as requested.
	AllowReplace bool
	// Tags are the user's tags.
	Tags []string
}

// VIPSettings are the settings of the VIP.
type VIPSettings struct {
	SubnetID, NetworkID string
	// PortID is the port to use as VIP; Address is the requested address if LoadBalancerIP is that
	// of the floating IP.
	PortID, Address string
	// AdditionalSubnetIDs are the subnets of the VIPs besides the first; none means that the controller
	// chooses one if the Service requests both IP families.
	AdditionalSubnetIDs []string
	model.VIPSettings
}

// AccessSettings are the permitted clients.
type AccessSettings struct {
	// SourceRanges are CIDRs in canonical form; empty means that all clients may connect.
	SourceRanges []string
	// otherFamily is set if all of them are of an IP family that the load balancer does not serve.
	otherFamily bool
	// annotated is set if they come from an annotation and not from the field.
	annotated bool
	// SecurityGroupMode is security-group-mode, "" if security groups are not managed.
	SecurityGroupMode string
}

// PoolSettings define how traffic is distributed to the members.
type PoolSettings struct {
	// Algorithm is lb-method. AlgorithmAsked is set if the Service itself sets it, AlgorithmOfClass
	// if its class does.
	Algorithm                        string
	AlgorithmAsked, AlgorithmOfClass bool
	// Persistence is HTTP_COOKIE or APP_COOKIE, "" for that of the spec; CookieName is the name of
	// the application's cookie.
	Persistence, CookieName string
	// algorithmOtherwise is the algorithm without the annotation.
	algorithmOtherwise string
}

// MemberSettings select the nodes that become members, and their subnet.
type MemberSettings struct {
	// Mode is one of auto, nodes, endpoint-nodes; "" if none is set. Adopted is set if another
	// controller created the load balancer: see FollowsEndpoints. Watch is set by the caller.
	Mode    string
	Adopted bool
	Watch   Watch
	// SubnetID is the subnet of all members; DefaultSubnetID is that of new ones if no setting has
	// one: see lookup.Reader.
	SubnetID, DefaultSubnetID string
	// BySubnet prefers the addresses of nodes in SubnetID, or in its network for another IP family. The caller
	// sets Within to their ranges by IP family.
	BySubnet     bool
	Within       map[v1.IPFamily]netip.Prefix
	NodeSelector labels.Selector
	// Weights is one of annotation.WeightsEqual, WeightsDrain and WeightsEndpoints.
	Weights string
	// Max is the maximum number of members; 0 means all nodes. Seed, specific to the Service,
	// selects them.
	Max  int
	Seed string
	// NextHops is the number of nodes to which a VIP of provider router leads, at least 1.
	NextHops int
	// nodes are the settings for nodes as members while pods are the members.
	nodes *MemberSettings
}

// Drains reports whether members with endpoints that terminate but still serve have the weight 0.
func (m MemberSettings) Drains() bool {
	return m.Weights == annotation.WeightsDrain || m.Weights == annotation.WeightsEndpoints
}

// Counts reports whether nodes have weights in proportion to their ready endpoints.
func (m MemberSettings) Counts() bool { return m.Weights == annotation.WeightsEndpoints }

// InNodeSubnets reports whether each member is in the subnet of its node, because no setting has
// another one.
func (m MemberSettings) InNodeSubnets() bool { return m.SubnetID == "" && m.DefaultSubnetID == "" }

// On returns the settings for an existing load balancer, nil for none. On another Service's load
// balancer, there is no floating IP and no requested address. On one that another controller
// created without health monitors, the traffic policy requires none, and on one that another
// controller created, the default members are all nodes. It serves both IP families only if its VIPs are
// of both.
func (s *Settings) On(lb *model.LoadBalancer) *Settings {
	if lb == nil {
		return s
	}
	if !lb.VIP.DualStack() {
		s = s.InFirst()
	}
	if lb.Shared == nil && s.Monitor.Unmonitored == lb.Unmonitored() && s.Members.Adopted == lb.Adopted {
		return s
	}
	on := *s
	if on.guest = lb.Shared != nil; on.guest {
		has := lb.HasAddress(s.LoadBalancerIP)
		if on.Internal, on.LoadBalancerIP = true, ""; !has {
			on.otherAddress = s.LoadBalancerIP
		}
	}
	on.Monitor.Unmonitored, on.Members.Adopted = lb.Unmonitored(), lb.Adopted
	return &on
}
