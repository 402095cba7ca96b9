// Package events emits the events on Services of type LoadBalancer. A Recorder has one
// method for each kind of event; what has to be said again and again, such as settings
// without effect, it emits only when it has changed.
package events

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Reason is the reason of an event on a Service. Kubernetes' service controller reports
// success and failure; these name what is done, and the causes.
type Reason string

// The reasons of events. docs/services.md explains each of them to users.
const (
	// Changing lists what is being changed in the cloud.
	Changing Reason = "ChangingLoadBalancer"
	// Ready names the load balancer and the address of a Service that had none.
	Ready Reason = "LoadBalancerReady"
	// SettingIgnored names settings that have no effect.
	SettingIgnored Reason = "LoadBalancerSettingIgnored"
	// SettingImmutable names a setting that cannot change on a load balancer that exists.
	SettingImmutable Reason = "LoadBalancerSettingImmutable"
	// NotDeleted names a load balancer that may be the Service's and stays, and why.
	NotDeleted Reason = "LoadBalancerNotDeleted"
	// Drifted names what another client changed in the cloud.
	Drifted Reason = "LoadBalancerDrifted"
	// ForcedInternal says that an external Service is reachable on its VIP only.
	ForcedInternal Reason = "LoadBalancerForcedInternal"
	// ExternalNetworkChosen names the network of the floating IP, where there are several.
	ExternalNetworkChosen Reason = "LoadBalancerExternalNetworkChosen"
	// SubnetChosen names the subnet of the VIP, where the nodes are in several.
	SubnetChosen Reason = "LoadBalancerSubnetChosen"
	// HealthMonitorMissing says that a load balancer of another controller has no health
	// monitors, and how to add them.
	HealthMonitorMissing Reason = "LoadBalancerHealthMonitorMissing"
	// AddressChanged names the address that replaces the published one.
	AddressChanged Reason = "LoadBalancerAddressChanged"
	// ForeignFloatingIP names a floating IP that another client attached to a load
	// balancer that should have none.
	ForeignFloatingIP Reason = "LoadBalancerForeignFloatingIP"
	// NodeSkipped names nodes that cannot be members.
	NodeSkipped Reason = "LoadBalancerNodeSkipped"
	// PortNotFound names nodes whose ports, and so security groups, are not found.
	PortNotFound Reason = "SecurityGroupPortNotFound"
	// InError says that a load balancer, or a part of it, is in ERROR, since when, and what
	// leads it out of that.
	InError Reason = "LoadBalancerInError"
	// Pending says since when Octavia has not finished what it began.
	Pending Reason = "LoadBalancerPending"
	// QuotaExceeded names a quota, or an address pool, that is used up.
	QuotaExceeded Reason = "LoadBalancerQuotaExceeded"
	// OctaviaNotFound says that the catalog has no endpoint of Octavia.
	OctaviaNotFound Reason = "OctaviaEndpointNotFound"
)

// Reasons returns all reasons.
func Reasons() []Reason { return append(normal(), warnings()...) }

// Type returns the type of the events of a reason: Warning where somebody should look.
func (r Reason) Type() string {
	if slices.Contains(normal(), r) {
		return v1.EventTypeNormal
	}
	return v1.EventTypeWarning
}

func normal() []Reason {
	return []Reason{Changing, Ready, ExternalNetworkChosen, SubnetChosen, HealthMonitorMissing, AddressChanged}
}

func warnings() []Reason {
	return []Reason{SettingIgnored, SettingImmutable, NotDeleted, Drifted, ForcedInternal, ForeignFloatingIP, NodeSkipped, PortNotFound, InError, Pending, QuotaExceeded, OctaviaNotFound}
}
