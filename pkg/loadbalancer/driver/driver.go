// Package driver holds what each provider driver of Octavia supports in each release, its defects,
// and its timing. Octavia reports none of that: the tables come from the sources of the drivers and
// from recorded answers, and a Registry adds the features that providers have refused since the
// process started. No other package of the engine depends on the name of a provider.
package driver

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Driver describes the driver of a provider in a release of Octavia. It is a value with lists that
// it shares with the table, so these must not be modified. The zero Driver supports no feature with
// a minimum release, and has no quirks.
type Driver struct {
	// Name is the name of the provider in Octavia.
	Name string
	// Version is the version of Octavia's API.
	Version model.Version
	Choices
	Quirks Quirks

	family  family
	refused set
}

// Choices are the valid values of settings.
type Choices struct {
	// Algorithms are those of pools; the first replaces one that is not supported.
	Algorithms []string
	// Protocols are those of the ports of Services.
	Protocols []v1.Protocol
	// SameFamily are the protocols for which members must have the VIP's IP family. For others
	// Octavia answers 501, except if a load balancer is created with them.
	SameFamily []v1.Protocol
	// Monitors are the types of health monitors.
	Monitors []string
}

// Quirks are differences between a driver and most others for the same request. The zero value is
// the usual behavior.
type Quirks struct {
	// ActiveBeforeChildren: a load balancer is ACTIVE while its children are still being created.
	ActiveBeforeChildren bool
	// MemberByMember: the driver processes a batch member by member, including unchanged ones, and
	// the load balancer is ACTIVE after the first. (A driver that refuses batches lacks the feature
	// MemberBatches.) A batch during another one can lose members, so that the next change waits for the
	// result of the last one; and a few of many members are changed individually. Package plan has the
	// rule, in members.go. The members of a deleted pool are deleted in the same way before the pool.
	MemberByMember bool
	// AlwaysSendSubnet: a member that is sent with another subnet, or without one, becomes another
	// member. Every request contains the subnet of every member.
	AlwaysSendSubnet bool
	// NeedsAdminStateUp: an update of a pool without admin_state_up leaves its listeners
	// PENDING_UPDATE.
	NeedsAdminStateUp bool
	// StaleMonitors: changes of health monitors leave stale statuses, and a monitor in a full
	// create is lost. Package plan has the procedure, in ovn_zed.go.
	StaleMonitors bool
	// PreservesClientIP: members see the addresses of the clients, so that security groups of the
	// nodes can restrict the clients.
	PreservesClientIP bool
	// Routed: a node gets the packets for the VIP itself, and kube-proxy distributes them. There are no
	// listeners, pools and NodePorts.
	Routed bool
	// NodePorts: with Routed, the node gets the packets at its own address and NodePort, which are not those of
	// other Services.
	NodePorts bool
	// CutsRemoved: the established connections of a member that is removed are cut at once, and UDP
	// flows that never pause stay with it.
	CutsRemoved bool
	// NoAffinity: session persistence is accepted without effect.
	NoAffinity bool
	// AffinityNeedsTimeout: session persistence without a timeout is accepted without effect. Octavia
	// refuses the timeout for TCP pools, which therefore have no session affinity.
	AffinityNeedsTimeout bool
	// PortPerVIP: each VIP has a port of its own, and Octavia reports only that of the first. So a VIP with
	// a floating IP is the first.
	PortPerVIP bool
	// FloatingIPAfterListeners: a floating IP that is associated while the first listener of a second transport
	// is being created serves only the first transport.
	FloatingIPAfterListeners bool
	// CutsHairpins: a client behind the port of a member's node does not reach this member if it is
	// behind the port too, and has no port of its own.
	CutsHairpins bool
	// MonitorsNeedPorts: monitors probe only addresses of Neutron ports. A pool with a monitor and other
	// members serves nothing.
	MonitorsNeedPorts bool
	// IgnoresLimits: timeouts and connection limits of listeners are accepted without effect.
	IgnoresLimits bool
	// UnprovenSourceRanges: source ranges are accepted, but may not be enforced. Octavia does so
	// for drivers that do not know allowed_cidrs.
	UnprovenSourceRanges bool
	// RangesBreakFullCreate: Octavia fails to create a load balancer together with listeners that
	// have source ranges. It is detected at run time and never in the table.
	RangesBreakFullCreate bool
}

// Of returns the table's entry of a provider, without its refusals.
func Of(provider string, version model.Version) Driver {
	p := profileOf(provider)
	d := Driver{
		Name: provider, Version: version,
		Choices: p.choices, Quirks: p.quirks, family: p.family,
	}
	if p.sctp != nil && version.AtLeast(*p.sctp) {
		d.Protocols = withSCTP()
	}
	if p.soundMonitors != nil && version.AtLeast(*p.soundMonitors) {
		d.Quirks.StaleMonitors = false
	}
	if p.affinity != nil {
		d.Quirks.AffinityNeedsTimeout = version.AtLeast(*p.affinity)
		d.Quirks.NoAffinity = !d.Quirks.AffinityNeedsTimeout
	}
	return d
}

// QuirksOf returns the quirks that the driver of a provider has in any release.
func QuirksOf(provider string) Quirks { return profileOf(provider).quirks }

// Canonical returns the name of the driver for an alias, or the name itself.
func Canonical(provider string) string {
	if p := profileOf(provider); len(p.names) > 0 {
		return p.names[0]
	}
	return provider
}

// Supports reports whether the driver has a feature.
func (d Driver) Supports(f Feature) bool { return d.lacks(f) == supported }

// Lacks returns the reason why the driver does not support a feature, "" if it does.
func (d Driver) Lacks(f Feature) string {
	switch d.lacks(f) {
	case lackedByDriver:
		return fmt.Sprintf("the provider %s has no %s", d.Name, f)
	case lackedByRelease:
		return fmt.Sprintf("this Octavia has API version %s, %s need %s", d.Version, f, d.since(f))
	case lackedByAnswer:
		return fmt.Sprintf("the provider %s has refused %s", d.Name, f)
	default:
		return ""
	}
}

// Without returns the driver without some features that it has refused.
func (d Driver) Without(refused ...Feature) Driver {
	for _, f := range refused {
		d.refused = d.refused.with(f)
	}
	return d
}

// lack is the reason why a feature is not supported.
type lack int

const (
	supported lack = iota
	lackedByDriver
	lackedByRelease
	lackedByAnswer
)

func (d Driver) lacks(f Feature) lack {
	row := &features()[f]
	switch {
	case row.lacking&d.family != 0:
		return lackedByDriver
	case !d.Version.AtLeast(d.since(f)):
		return lackedByRelease
	case d.refused.has(f):
		return lackedByAnswer
	}
	return supported
}

// since returns the first API version in which the driver has a feature.
func (d Driver) since(f Feature) model.Version {
	row := &features()[f]
	if d.family == ovn && row.sinceOVN.AtLeast(row.since) {
		return row.sinceOVN
	}
	return row.since
}
