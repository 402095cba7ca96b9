package driver

import "github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"

// The versions of Octavia's API that added features that we use or avoid; the releases of Octavia
// in brackets. A version with a name that is not a feature is the only sign of its release.
var (
	// VersionTimeouts: listeners have timeouts (3.0, Rocky).
	VersionTimeouts = model.Version{Major: 2, Minor: 1}
	// VersionTags: objects carry tags (4.0, Stein).
	VersionTags = model.Version{Major: 2, Minor: 5}
	// VersionFlavors: load balancers are built by flavors (4.0, Stein).
	VersionFlavors = model.Version{Major: 2, Minor: 6}
	// VersionMonitorHTTP11: HTTP monitors speak HTTP/1.1 and name a host (4.0,
	// Stein).
	VersionMonitorHTTP11 = model.Version{Major: 2, Minor: 10}
	// VersionAllowedCIDRs: listeners can be closed to some clients (5.0, Train).
	VersionAllowedCIDRs = model.Version{Major: 2, Minor: 12}
	// VersionZones: load balancers are built in availability zones (6.0, Ussuri).
	VersionZones = model.Version{Major: 2, Minor: 14}
	// VersionHTTPForUDP: pools of UDP can have HTTP monitors (6.0, Ussuri).
	VersionHTTPForUDP = model.Version{Major: 2, Minor: 16}
	// VersionProxyV2: pools speak version 2 of the PROXY protocol (7.0, Victoria).
	VersionProxyV2 = model.Version{Major: 2, Minor: 22}
	// VersionSCTP: listeners and pools of SCTP (7.0, Victoria).
	VersionSCTP = model.Version{Major: 2, Minor: 23}
	// VersionOVNSCTP: the ovn provider of that time serves SCTP (8.0, Wallaby).
	VersionOVNSCTP = model.Version{Major: 2, Minor: 24}
	// VersionMetrics: load balancers serve their metrics to Prometheus (9.0, Xena).
	VersionMetrics = model.Version{Major: 2, Minor: 25}
	// VersionAdditionalVIPs: load balancers have further VIPs (11.0, Zed).
	VersionAdditionalVIPs = model.Version{Major: 2, Minor: 26}
	// VersionRangesOfAllVIPs: listeners take source ranges of the IP family of any VIP, not only of the
	// first one's (13.0, 2023.2).
	VersionRangesOfAllVIPs = model.Version{Major: 2, Minor: 27}
	// VersionOVNAdditionalVIPs: the ovn provider of that time creates the further VIPs (14.0, 2024.1).
	VersionOVNAdditionalVIPs = model.Version{Major: 2, Minor: 28}
	// VersionSoundOVNMonitors: the ovn provider of that time knows the monitors of
	// a full create, can make listeners beside monitors, and reports all that a
	// monitor's change is about (13.0, 2023.2).
	VersionSoundOVNMonitors = model.Version{Major: 2, Minor: 27}
	// VersionOVNAffinity: the ovn provider of that time keeps clients at their members if the
	// session persistence of a pool has a timeout (13.0, 2023.2).
	VersionOVNAffinity = model.Version{Major: 2, Minor: 27}
	// VersionVIPSecurityGroups: load balancers take the user's own security groups
	// for the ports of their VIP (16.0, 2025.1).
	VersionVIPSecurityGroups = model.Version{Major: 2, Minor: 29}
	// VersionLinearMembers: listing members takes work that grows with their
	// number; before, it grew with its square (16.0, 2025.1; LP#2019311).
	VersionLinearMembers = model.Version{Major: 2, Minor: 29}
)
