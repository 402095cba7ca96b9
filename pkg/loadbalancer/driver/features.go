package driver

import (
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Feature is a capability that depends on the driver or the release of Octavia.
type Feature uint8

// The features.
const (
	FullCreate Feature = iota
	MemberBatches
	SourceRanges
	MonitorPorts
	HTTPMonitorForUDP
	MonitorHTTP11
	Timeouts
	ConnectionLimit
	InsertHeaders
	ProxyProtocol
	ProxyProtocolV2
	TLS
	Layer7
	Flavors
	AvailabilityZones
	OwnPort
	VIPQoS
	VIPSecurityGroups
	AdditionalVIPs
	CustomTags
	Failover
	Metrics
	Weights
	featureCount
)

// String returns the name of the feature in messages.
func (f Feature) String() string { return features()[f].name }

// support is a row of the table of features.
type support struct {
	name string
	// since is the first API version with the feature; lacking are the drivers without it in all
	// versions.
	since   model.Version
	lacking family
	// sinceOVN is the first API version in which the ovn provider has the feature, if it is later.
	sinceOVN model.Version
	// otherwise describes the answer to a request for it nevertheless.
	otherwise string
}

// features returns the table of supported features.
var features = sync.OnceValue(func() *[featureCount]support {
	const everyOther = family(^uint8(amphora))
	return &[featureCount]support{
		FullCreate: {
			name: "load balancers that are created with everything in them", lacking: router, otherwise: "501, which is remembered",
		},
		MemberBatches: {
			name: "batches of members", lacking: router, otherwise: "501, which is remembered",
		},
		SourceRanges: {
			name: "source ranges", since: VersionAllowedCIDRs, lacking: ovn | router, otherwise: "501",
		},
		MonitorPorts: {
			name: "health monitors that ask at another port", lacking: ovn | router, otherwise: "501",
		},
		HTTPMonitorForUDP: {
			name: "HTTP monitors for UDP", since: VersionHTTPForUDP, lacking: ovn | router, otherwise: "400; ovn: 501",
		},
		MonitorHTTP11: {
			name: "health monitors of HTTP/1.1", since: VersionMonitorHTTP11, lacking: ovn | router, otherwise: "400; ovn: 501",
		},
		Timeouts: {
			name: "timeouts of listeners", since: VersionTimeouts, lacking: ovn | router, otherwise: "400; ovn: ignored",
		},
		ConnectionLimit: {
			name: "connection limits", lacking: ovn | router, otherwise: "ignored",
		},
		InsertHeaders: {
			name: "HTTP headers of the load balancer's own", lacking: ovn | router, otherwise: "501, for the protocol",
		},
		ProxyProtocol: {
			name: "PROXY protocol", lacking: ovn | router, otherwise: "501",
		},
		ProxyProtocolV2: {
			name: "PROXY protocol, version 2", since: VersionProxyV2, lacking: ovn | router, otherwise: "400; ovn: 501",
		},
		TLS: {
			name: "TLS", lacking: ovn | router, otherwise: "501",
		},
		Layer7: {
			name: "listeners of HTTP and HTTPS", lacking: ovn | router, otherwise: "501",
		},
		Flavors: {
			name: "flavors", since: VersionFlavors, lacking: ovn | router | f5, otherwise: "501",
		},
		AvailabilityZones: {
			name: "availability zones", since: VersionZones, lacking: ovn | router, otherwise: "501",
		},
		OwnPort: {
			name: "VIPs on ports of the user's own", lacking: ovn | router, otherwise: "409, and the port is lost",
		},
		VIPQoS: {
			name: "QoS policies of the VIP", lacking: ovn | router | f5, otherwise: "ignored",
		},
		VIPSecurityGroups: {
			name: "security groups of the VIP", since: VersionVIPSecurityGroups, lacking: everyOther,
			otherwise: "ignored, or 501: drivers need not look at them",
		},
		AdditionalVIPs: {
			name: "VIPs of both IP families", since: VersionAdditionalVIPs, sinceOVN: VersionOVNAdditionalVIPs, lacking: f5 | router | vendor,
			otherwise: "400; others: refused, or without an address",
		},
		CustomTags: {
			name: "tags", since: VersionTags, otherwise: "400",
		},
		Failover: {
			name: "failovers", lacking: ovn | router, otherwise: "501, which is remembered",
		},
		Metrics: {
			name: "metrics of load balancers for Prometheus", since: VersionMetrics, lacking: everyOther, otherwise: "400; ovn: 501",
		},
		Weights: {
			name: "weights of members", lacking: ovn | router, otherwise: "ignored",
		},
	}
})

// set is a set of features.
type set uint32

func (s set) has(f Feature) bool    { return s&(1<<f) != 0 }
func (s set) with(f Feature) set    { return s | 1<<f }
func (s set) without(f Feature) set { return s &^ (1 << f) }
