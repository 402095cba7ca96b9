package desire

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// Feature is something that not every provider of every release of Octavia can do.
// Its text names it in messages.
type Feature string

// The features that are told apart.
const (
	FullCreate        Feature = "load balancers that are created with everything in them"
	MemberBatches     Feature = "batches of members"
	SourceRanges      Feature = "source ranges"
	MonitorPorts      Feature = "health monitors that ask at another port"
	HTTPMonitorForUDP Feature = "HTTP monitors for UDP"
	MonitorHTTP11     Feature = "health monitors of HTTP/1.1"
	Timeouts          Feature = "timeouts of listeners"
	ConnectionLimit   Feature = "connection limits"
	InsertHeaders     Feature = "HTTP headers of the load balancer's own"
	ProxyProtocol     Feature = "PROXY protocol"
	ProxyProtocolV2   Feature = "PROXY protocol, version 2"
	TLS               Feature = "TLS"
	Layer7            Feature = "listeners of HTTP and HTTPS"
	Flavors           Feature = "flavors"
	AvailabilityZones Feature = "availability zones"
	OwnPort           Feature = "VIPs on ports of the user's own"
	CustomTags        Feature = "tags"
	VIPQoS            Feature = "QoS policies of the VIP"
	VIPSecurityGroups Feature = "security groups of the VIP"
)

// feature is a row of the table of features: the version of the API that brought
// it, and the providers that do not have it whatever the version; with alone, all do
// not but amphora.
type feature struct {
	since   openstack.Version
	lacking []string
	alone   bool
}

// features is the table of what providers can do. Octavia tells nobody: it is from
// the drivers' sources and from their answers. Beside each row stands what becomes
// of a request that asks for it all the same. It is made once.
var features = sync.OnceValue(func() map[Feature]feature {
	return map[Feature]feature{
		FullCreate:        {},                                                                            // 501; learnt
		MemberBatches:     {},                                                                            // 501; learnt
		SourceRanges:      {since: openstack.VersionAllowedCIDRs, lacking: []string{ProviderOVN}},        // 501
		MonitorPorts:      {lacking: []string{ProviderOVN}},                                              // 501
		HTTPMonitorForUDP: {since: openstack.VersionHTTPForUDP, lacking: []string{ProviderOVN}},          // 400, ovn 501
		MonitorHTTP11:     {since: openstack.VersionMonitorHTTP11, lacking: []string{ProviderOVN}},       // 400, ovn 501
		Timeouts:          {since: openstack.VersionTimeouts, lacking: []string{ProviderOVN}},            // 400, ovn ignores them
		ConnectionLimit:   {lacking: []string{ProviderOVN}},                                              // ignored
		InsertHeaders:     {lacking: []string{ProviderOVN}},                                              // 501 for the protocol
		ProxyProtocol:     {lacking: []string{ProviderOVN}},                                              // 501
		ProxyProtocolV2:   {since: openstack.VersionProxyV2, lacking: []string{ProviderOVN}},             // 400, ovn 501
		TLS:               {lacking: []string{ProviderOVN}},                                              // 501
		Layer7:            {lacking: []string{ProviderOVN}},                                              // 501
		Flavors:           {since: openstack.VersionFlavors, lacking: []string{ProviderOVN, ProviderF5}}, // 501
		AvailabilityZones: {since: openstack.VersionZones, lacking: []string{ProviderOVN}},               // 501
		OwnPort:           {lacking: []string{ProviderOVN}},                                              // 409, and the port is lost
		VIPQoS:            {lacking: []string{ProviderOVN, ProviderF5}},                                  // ignored
		VIPSecurityGroups: {since: openstack.VersionVIPSecurityGroups, alone: true},                      // ignored, or 501: the drivers are not told to look at them
		CustomTags:        {since: openstack.VersionTags},                                                // 400
	}
})

// The providers that the table knows. Others, vendors', are taken to do what
// amphora does until they say otherwise.
const (
	ProviderAmphora = "amphora"
	ProviderOVN     = "ovn"
	ProviderF5      = "f5"
)

// Capabilities are what a provider of a release of Octavia can do.
type Capabilities struct {
	Provider string
	// Algorithms that pools can have; the first is what is taken in place of one
	// that cannot be.
	Algorithms []string
	Protocols  []v1.Protocol
	// Monitors are the types of health monitors.
	Monitors []string
	// Forgetful tells of a driver that loses monitors and leaves things behind:
	// see plan.Options.
	Forgetful bool
	// KeepsClients tells that members see the addresses of the clients: security
	// groups of the nodes can decide who may connect.
	KeepsClients bool
	octavia      openstack.Version
	learnt       []Feature
}

// CapabilitiesOf gives what a provider can do, without what it has been found not
// to do.
func CapabilitiesOf(provider string, octavia openstack.Version, without ...Feature) Capabilities {
	can := Capabilities{
		Provider:   provider,
		Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"},
		Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
		Monitors: []string{
			model.MonitorTCP, model.MonitorHTTP, model.MonitorHTTPS, model.MonitorTLSHello, model.MonitorPing,
			model.MonitorUDPConnect, model.MonitorSCTP,
		},
		octavia: octavia,
		learnt:  without,
	}
	if octavia.AtLeast(sctpSince(provider)) && provider != ProviderF5 {
		can.Protocols = append(can.Protocols, v1.ProtocolSCTP)
	}
	switch provider {
	case ProviderAmphora, "octavia", "amphorav2", ProviderF5:
		can.Algorithms = can.Algorithms[:3]
	case ProviderOVN:
		// It answers 501 to everything else (ovn-octavia-provider up to 10.0).
		can.Algorithms = []string{"SOURCE_IP_PORT"}
		can.Monitors = []string{model.MonitorTCP, model.MonitorUDPConnect}
		can.KeepsClients = true
		// Seen with ovn-octavia-provider 3.0 (Zed). Its version shows in that of
		// Octavia only, which is the same for 4.0 (2023.1).
		can.Forgetful = !octavia.AtLeast(openstack.VersionSoundOVNMonitors)
	}
	return can
}

// HabitsOf gives the ways of a provider.
func HabitsOf(provider string) model.Habits {
	if provider != ProviderOVN {
		return model.Habits{}
	}
	return model.Habits{
		Quick:        true, // it writes to a database
		ReportsEarly: true, // a full create is several requests to it, and it answers each
		TellSubnets:  true, // a member in another subnet, or none, is another member to it
		TouchPools:   true, // ovn of Zed; without it, it leaves the listeners behind
	}
}

// amphorae gives the names that the driver amphora has.
func amphorae() []string { return []string{ProviderAmphora, "octavia", "amphorav2"} }

// enforcing gives the providers that are known to enforce source ranges. Drivers of
// vendors need not say that they do not know allowed_cidrs: Octavia accepts them then.
func enforcing() []string { return append(amphorae(), ProviderF5) }

// Learns tells whether the table is completed by what a provider answers. Of those
// that it knows by their source it is not: their 501 is about something else, and
// ovn refuses a whole batch for one member.
func Learns(provider string) bool {
	return provider != ProviderOVN && !slices.Contains(amphorae(), provider)
}

// sctpSince gives the version of the API from which on a provider serves SCTP.
func sctpSince(provider string) openstack.Version {
	if provider == ProviderOVN {
		return openstack.VersionOVNSCTP
	}
	return openstack.VersionSCTP
}

// Can tells whether the provider has a feature.
func (c Capabilities) Can(f Feature) bool { return c.Lacks(f) == "" }

// Lacks says why the provider does not have a feature; it is empty when it has it.
func (c Capabilities) Lacks(f Feature) string {
	row := features()[f]
	switch {
	case slices.Contains(row.lacking, c.Provider), row.alone && !slices.Contains(amphorae(), c.Provider):
		return fmt.Sprintf("the provider %s has no %s", c.Provider, f)
	case !c.octavia.AtLeast(row.since):
		return fmt.Sprintf("this Octavia has API version %s, %s need %s", c.octavia, f, row.since)
	case slices.Contains(c.learnt, f):
		return fmt.Sprintf("the provider %s has refused %s", c.Provider, f)
	}
	return ""
}

func portText[T int32 | int](n T) string { return strconv.Itoa(int(n)) }
