// Package driver knows what each provider driver of Octavia supports in each release,
// what it gets wrong, and how long it takes. Octavia reports none of that: the tables
// come from the sources of the drivers and from their answers, and a Registry adds what
// providers have refused since the process began. No other package asks for a provider
// by its name.
package driver

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Driver is what is known of the driver of a provider in a release of Octavia. It is a
// value: what its lists share with the table must not be changed. The zero Driver
// supports what no release had to bring, and has no quirks.
type Driver struct {
	// Name is the name of the provider, as Octavia has it.
	Name string
	// Version is the version of Octavia's API.
	Version octavia.Version
	Choices
	Quirks Quirks
	Timing Timing

	family  family
	refused set
}

// Choices are the values that settings can have.
type Choices struct {
	// Algorithms are those of pools; the first stands in for one that is not supported.
	Algorithms []string
	// Protocols are those of the ports of Services.
	Protocols []v1.Protocol
	// SameFamily are the protocols whose members must be of the VIP's IP family. Octavia
	// answers 501 to members that are not, except where a load balancer is created with them.
	SameFamily []v1.Protocol
	// Monitors are the types of health monitors.
	Monitors []string
}

// Quirks are the ways in which a driver differs from what the others do with the same
// request. The zero value is the usual behavior.
type Quirks struct {
	// ActiveBeforeChildren: a load balancer is ACTIVE while what is in it is still being
	// created.
	ActiveBeforeChildren bool
	// MemberByMember: the driver works on a batch member by member, on those that stay as they are
	// too, and the load balancer is ACTIVE after the first of them. A batch that comes before the
	// end of another can lose members, so that the next change waits for what the last one leaves;
	// and a few members of many change by themselves. Package plan has the rule, in members.go.
	MemberByMember bool
	// AlwaysSendSubnet: a member that is sent with another subnet, or with none, is another
	// member. Every request names the subnet of every member.
	AlwaysSendSubnet bool
	// NeedsAdminStateUp: an update of a pool without admin_state_up leaves its listeners
	// PENDING_UPDATE.
	NeedsAdminStateUp bool
	// StaleMonitors: changes of health monitors leave stale statuses behind, and a monitor
	// of a full create is lost. Package plan has the procedure, in ovn_zed.go.
	StaleMonitors bool
	// PreservesClientIP: members see the addresses of the clients, so that security groups
	// of the nodes can decide who may connect.
	PreservesClientIP bool
	// IgnoresLimits: timeouts and connection limits of listeners are accepted, and have no
	// effect.
	IgnoresLimits bool
	// UnprovenSourceRanges: source ranges are accepted whether or not they are enforced.
	// Octavia does so for drivers that do not know allowed_cidrs.
	UnprovenSourceRanges bool
	// RangesBreakFullCreate: Octavia fails to create a load balancer together with
	// listeners that have source ranges. It is found out, never in the table.
	RangesBreakFullCreate bool
}

// Of returns what the table has of a provider, without what it has refused.
func Of(provider string, version octavia.Version) Driver {
	p := profileOf(provider)
	d := Driver{
		Name: provider, Version: version,
		Choices: p.choices, Quirks: p.quirks, Timing: p.timing, family: p.family,
	}
	if p.sctp != nil && version.AtLeast(*p.sctp) {
		d.Protocols = withSCTP()
	}
	if p.soundMonitors != nil && version.AtLeast(*p.soundMonitors) {
		d.Quirks.StaleMonitors = false
	}
	return d
}

// QuirksOf returns the quirks that the driver of a provider has in any release.
func QuirksOf(provider string) Quirks { return profileOf(provider).quirks }

// Canonical returns the name of the driver that a provider's name is an alias of, or
// that name.
func Canonical(provider string) string {
	if p := profileOf(provider); len(p.names) > 0 {
		return p.names[0]
	}
	return provider
}

// Supports reports whether the driver has a feature.
func (d Driver) Supports(f Feature) bool { return d.lacks(f) == supported }

// Lacks returns why the driver does not have a feature, and "" where it has it.
func (d Driver) Lacks(f Feature) string {
	switch d.lacks(f) {
	case lackedByDriver:
		return fmt.Sprintf("the provider %s has no %s", d.Name, f)
	case lackedByRelease:
		return fmt.Sprintf("this Octavia has API version %s, %s need %s", d.Version, f, features()[f].since)
	case lackedByAnswer:
		return fmt.Sprintf("the provider %s has refused %s", d.Name, f)
	default:
		return ""
	}
}

// Without returns the driver as one that has refused some features.
func (d Driver) Without(refused ...Feature) Driver {
	for _, f := range refused {
		d.refused = d.refused.with(f)
	}
	return d
}

// lack is why a feature is not supported.
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
	case !d.Version.AtLeast(row.since):
		return lackedByRelease
	case d.refused.has(f):
		return lackedByAnswer
	}
	return supported
}
