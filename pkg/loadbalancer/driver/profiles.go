package driver

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Router is the provider without Octavia: a Neutron router sends the packets for a VIP to a node.
const Router = "router"

// PortForwarding is the provider with port forwardings of floating IPs, without Octavia.
const PortForwarding = "port-forwarding"

// WithoutOctavia reports whether a provider needs no Octavia.
func WithoutOctavia(provider string) bool { return provider == Router || provider == PortForwarding }

// family is a driver of the table, for all names of its provider. The values are bits, so that a
// row of the table of features can contain several.
type family uint8

const (
	amphora family = 1 << iota
	ovn
	f5
	router
	// vendor is every driver that is not in the table. It is assumed to support what amphora does,
	// until it refuses a feature.
	vendor
)

// profile is a row of the table of drivers.
type profile struct {
	family family
	// names are the providers with the driver; all but the first are aliases.
	names   []string
	choices Choices
	// sctp is the first API version in which the driver supports SCTP, nil for none.
	sctp   *model.Version
	quirks Quirks
	// soundMonitors is the first API version without the quirk StaleMonitors.
	soundMonitors *model.Version
	// affinity is the first API version with the quirk AffinityNeedsTimeout; versions before it have
	// the quirk NoAffinity. Drivers without either have nil.
	affinity *model.Version
	timing   Timing
	// sourceKnown: the table is complete, so that a 501 has another cause.
	sourceKnown bool
}

// profiles returns the table of drivers; the last row is for all others.
var profiles = sync.OnceValue(func() []profile {
	return []profile{
		{
			family: amphora,
			names:  []string{"amphora", "octavia", "amphorav2"},
			choices: Choices{
				Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				SameFamily: []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP}, // protocols that do not pass through HAProxy
				Monitors:   allMonitors(),
			},
			sctp:        &VersionSCTP,
			timing:      usualTiming(),
			sourceKnown: true,
		},
		{
			// ovn-octavia-provider up to 10.0. It answers 501 to any other choice.
			family: ovn,
			names:  []string{"ovn"},
			choices: Choices{
				Algorithms: []string{"SOURCE_IP_PORT"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				SameFamily: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP},
				Monitors:   []string{model.MonitorTCP, model.MonitorUDPConnect},
			},
			sctp: &VersionOVNSCTP,
			quirks: Quirks{
				ActiveBeforeChildren:     true, // a full create is several requests to the driver, with an answer to each
				MemberByMember:           true, // seen with 3.0 (Zed) and 8.0 (2025.1)
				AlwaysSendSubnet:         true,
				CutsRemoved:              true, // of clients of a floating IP; seen with 8.0 (2025.1)
				PortPerVIP:               true, // seen with 8.0 (2025.1)
				FloatingIPAfterListeners: true, // seen with 8.0 (2025.1): each transport is a load balancer of OVN, and copies what the first one has
				CutsHairpins:             true, // seen with 8.0 (2025.1)
				MonitorsNeedPorts:        true, // of a member without a port it finds no logical switch port; seen with 8.0 (2025.1)
				NeedsAdminStateUp:        true, // seen with 3.0 (Zed)
				StaleMonitors:            true, // seen with 3.0 (Zed)
				PreservesClientIP:        true,
				NoAffinity:               true,
				AffinityNeedsTimeout:     true,
				IgnoresLimits:            true,
			},
			// Only the version of Octavia's API shows the version of the driver; it is the same for
			// 3.0 (Zed) and 4.0 (2023.1).
			soundMonitors: &VersionSoundOVNMonitors,
			affinity:      &VersionOVNAffinity, // seen with 8.0 (2025.1) and 11.0 (2026.2)
			timing:        databaseTiming(),
			sourceKnown:   true, // it refuses a whole batch because of one member
		},
		{
			family: f5,
			names:  []string{"f5"},
			choices: Choices{
				Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				Monitors:   allMonitors(),
			},
			timing: usualTiming(),
		},
		{
			// Not of Octavia: routes of a Neutron router, see package router.
			family:      router,
			names:       []string{Router},
			choices:     Choices{Protocols: withSCTP()},
			quirks:      Quirks{PreservesClientIP: true, Routed: true},
			timing:      databaseTiming(),
			sourceKnown: true,
		},
		{
			// Not of Octavia either: see plan.Forward. OVN forwards TCP and UDP.
			family:      router,
			names:       []string{PortForwarding},
			choices:     Choices{Protocols: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}},
			quirks:      Quirks{PreservesClientIP: true, Routed: true, NodePorts: true},
			timing:      databaseTiming(),
			sourceKnown: true,
		},
		{
			family: vendor,
			choices: Choices{
				Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				Monitors:   allMonitors(),
			},
			sctp:   &VersionSCTP,
			quirks: Quirks{UnprovenSourceRanges: true},
			timing: usualTiming(),
		},
	}
})

func profileOf(provider string) *profile {
	all := profiles()
	for i := range all {
		if slices.Contains(all[i].names, provider) {
			return &all[i]
		}
	}
	return &all[len(all)-1]
}

func allMonitors() []string {
	return []string{
		model.MonitorTCP, model.MonitorHTTP, model.MonitorHTTPS, model.MonitorTLSHello, model.MonitorPing,
		model.MonitorUDPConnect, model.MonitorSCTP,
	}
}

// withSCTP returns the protocols of a driver that serves SCTP.
var withSCTP = sync.OnceValue(func() []v1.Protocol {
	return []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}
})

// latestPoll is the longest time between two polls. All callers that wait for a load balancer share
// a request, and learn of its end within three seconds, including a tenth of jitter.
const latestPoll = 2700 * time.Millisecond

// usualTiming is for drivers that start a virtual machine, which takes at least half a minute for a
// creation.
func usualTiming() Timing {
	change := PollInterval{First: time.Second, Step: 500 * time.Millisecond, Cap: latestPoll}
	return Timing{
		Create:          PollInterval{First: 5 * time.Second, Step: 2 * time.Second, Cap: latestPoll},
		Update:          change,
		Delete:          change,
		ChildInterval:   time.Second,
		ChildTimeout:    10 * time.Second,
		LostCreateRetry: 2 * time.Second,
	}
}

// databaseTiming is for drivers that write to a database: they finish within seconds, but possibly
// with the load balancer long before its children.
func databaseTiming() Timing {
	timing := usualTiming()
	quick := PollInterval{First: 500 * time.Millisecond, Step: 500 * time.Millisecond, Cap: latestPoll}
	timing.Create, timing.Update, timing.Delete = quick, quick, quick
	timing.ChildTimeout = time.Minute
	return timing
}
