package driver

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// family is a driver of the table, whatever name a provider has it by. The values are
// bits, so that a row of the table of features can name several.
type family uint8

const (
	amphora family = 1 << iota
	ovn
	f5
	// vendor is every driver that the table does not name. It is taken to do what amphora
	// does, until it refuses something.
	vendor
)

// profile is a row of the table of drivers.
type profile struct {
	family family
	// names are the providers that have the driver; the others are aliases of the first.
	names   []string
	choices Choices
	// sctp is the version of the API from which on the driver serves SCTP, nil for never.
	sctp   *octavia.Version
	quirks Quirks
	// soundMonitors is the version of the API from which on the quirk StaleMonitors is gone.
	soundMonitors *octavia.Version
	timing        Timing
	// sourceKnown: what it lacks is in the table, and a 501 of it is about something else.
	sourceKnown bool
}

// profiles returns the table of drivers; the last row is for all that it does not name.
var profiles = sync.OnceValue(func() []profile {
	return []profile{
		{
			family: amphora,
			names:  []string{"amphora", "octavia", "amphorav2"},
			choices: Choices{
				Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				SameFamily: []v1.Protocol{v1.ProtocolUDP, v1.ProtocolSCTP}, // what does not go through HAProxy
				Monitors:   allMonitors(),
			},
			sctp:        &octavia.VersionSCTP,
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
			sctp: &octavia.VersionOVNSCTP,
			quirks: Quirks{
				ActiveBeforeChildren: true, // a full create is several requests to the driver, and it answers each
				MemberByMember:       true, // seen with 3.0 (Zed) and 8.0 (2025.1)
				AlwaysSendSubnet:     true,
				NeedsAdminStateUp:    true, // seen with 3.0 (Zed)
				StaleMonitors:        true, // seen with 3.0 (Zed)
				PreservesClientIP:    true,
				IgnoresLimits:        true,
			},
			// The version of the driver shows in that of Octavia's API only, which is the
			// same for 3.0 (Zed) and 4.0 (2023.1).
			soundMonitors: &octavia.VersionSoundOVNMonitors,
			timing:        databaseTiming(),
			sourceKnown:   true, // and it refuses a whole batch for one member
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
			family: vendor,
			choices: Choices{
				Algorithms: []string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"},
				Protocols:  []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
				Monitors:   allMonitors(),
			},
			sctp:   &octavia.VersionSCTP,
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

// latestPoll is the longest time between two polls: who waits for a load balancer, and
// all who wait share a request, learns of its end within three seconds, a tenth of
// jitter included.
const latestPoll = 2700 * time.Millisecond

// usualTiming is for drivers that start a virtual machine: half a minute at least for a
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

// databaseTiming is for drivers that write to a database: they are done within seconds,
// but perhaps with the load balancer long before its children.
func databaseTiming() Timing {
	timing := usualTiming()
	quick := PollInterval{First: 500 * time.Millisecond, Step: 500 * time.Millisecond, Cap: latestPoll}
	timing.Create, timing.Update, timing.Delete = quick, quick, quick
	timing.ChildTimeout = time.Minute
	return timing
}
