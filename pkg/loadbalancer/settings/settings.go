// Package settings reads what a Service requests: its fields and annotations, and the
// defaults of its class and of cloud.conf. It refuses what no load balancer could
// serve, and what the driver or the release of Octavia does not support, before anything
// is written. It is pure: it does no I/O, and it changes nothing that it is given.
package settings

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Settings are what a Service asks for. The first of its annotations, its class and the
// section [LoadBalancer] that names a value decides.
type Settings struct {
	// Family is the IP family that the Service is served in: its first.
	Family v1.IPFamily
	// Internal load balancers get no floating IP.
	Internal bool
	// LoadBalancerIP is the address that the Service asks for: of the floating IP, or of
	// the VIP where there is none.
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
	Status         StatusSettings
	// Malformed are annotations that count as not given, as their values are not allowed.
	Malformed []Malformed
	// exists is set for a load balancer that exists: see OnExisting.
	exists bool
	// otherAddress is asked for on a load balancer of another Service that does not have it.
	otherAddress string
	// from is what they were read from, nil where that is nothing.
	from *reading
}

// TrafficSettings are what the spec of the Service says of its traffic.
type TrafficSettings struct {
	// Ports are those of the Service; they must not be changed.
	Ports []v1.ServicePort
	// Local is externalTrafficPolicy Local, and HealthCheckNodePort where kube-proxy then
	// answers for each node.
	Local               bool
	HealthCheckNodePort int
	// ClientAffinity is sessionAffinity ClientIP, and AffinityTimeout how many seconds it
	// lasts.
	ClientAffinity  bool
	AffinityTimeout int
}

// LoadBalancerSettings are what is asked of the load balancer itself.
type LoadBalancerSettings struct {
	// ID names the load balancer that the Service is to be on.
	ID string
	// Provider makes the load balancer; ProviderAsked is set where the Service itself
	// names it.
	Provider      string
	ProviderAsked bool
	// FlavorID is a flavor's ID or name.
	FlavorID         string
	AvailabilityZone string
	// AllowReplace permits another load balancer in place of one that cannot become what
	// is asked for.
	AllowReplace bool
	// Tags are the user's own.
	Tags []string
}

// VIPSettings are what is asked of the VIP.
type VIPSettings struct {
	SubnetID, NetworkID string
	// PortID is of the port that is to be the VIP; Address is asked for where
	// LoadBalancerIP is that of the floating IP.
	PortID, Address string
	model.VIPSettings
}

// AccessSettings are who may connect.
type AccessSettings struct {
	// SourceRanges are CIDRs in canonical form; none means everybody.
	SourceRanges []string
	// annotated is set where an annotation names them, not the field.
	annotated bool
	// SecurityGroupMode is security-group-mode, "" where security groups are not managed.
	SecurityGroupMode string
}

// PoolSettings are how traffic spreads over the members.
type PoolSettings struct {
	// Algorithm is lb-method. AlgorithmAsked is set where the Service itself names it,
	// AlgorithmOfClass where its class does.
	Algorithm                        string
	AlgorithmAsked, AlgorithmOfClass bool
	// algorithmOtherwise is what counts without the annotation.
	algorithmOtherwise string
}

// MemberSettings are which nodes become members, and in which subnet.
type MemberSettings struct {
	// SubnetID is the subnet of all members, DefaultSubnetID that of new ones where nobody
	// asks for one: see lookup.Reader.
	SubnetID, DefaultSubnetID string
	NodeSelector              labels.Selector
	// Max is how many nodes become members at most; 0 means all. Seed is the Service's
	// own, by which they are chosen.
	Max  int
	Seed string
}

// InNodeSubnets reports whether each member is in the subnet of its node, as nobody names
// another one.
func (m MemberSettings) InNodeSubnets() bool { return m.SubnetID == "" && m.DefaultSubnetID == "" }

// On returns the settings as they count on an existing load balancer, nil for none. On
// another Service's, there is no floating IP and no address to ask for; on one that another
// controller made without health monitors, the traffic policy asks for none.
func (s *Settings) On(lb *model.LoadBalancer) *Settings {
	if lb == nil || lb.Shared == nil && s.Monitor.Unmonitored == lb.Unmonitored() {
		return s
	}
	on := *s
	if lb.Shared != nil {
		has := s.LoadBalancerIP == lb.VIP.Address || lb.FloatingIP != nil && s.LoadBalancerIP == lb.FloatingIP.Address
		if on.Internal, on.LoadBalancerIP = true, ""; !has {
			on.otherAddress = s.LoadBalancerIP
		}
	}
	on.Monitor.Unmonitored = lb.Unmonitored()
	return &on
}
