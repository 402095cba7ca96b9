// Package reason lists what events and conditions can have as their reason, once: each with
// the object that has it, when that is, and what to do. docs/events.md is made from it.
package reason

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Reason is the reason of an event, of a condition, or of both. Kubernetes' service controller
// reports success and failure; these name what is done, and the causes.
type Reason string

// The reasons of events on Services. Some are reasons of conditions too.
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
	// NoMembers says why a load balancer has no members: somebody asks for that.
	NoMembers Reason = "LoadBalancerNoMembers"
	// LastMembers names nodes that serve although they are about to be deleted.
	LastMembers Reason = "LoadBalancerLastMembers"
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
	// UpdateFailed says why a load balancer cannot follow nodes, or be repaired. The service
	// controller used the same.
	UpdateFailed Reason = "UpdateLoadBalancerFailed"
	// Updated says that a load balancer is up to date again after UpdateFailed. The service
	// controller used the same.
	Updated Reason = "UpdatedLoadBalancer"
)

// The reasons that only conditions of Services have.
const (
	// NotReady is that of a Service whose first load balancer could not be made yet.
	NotReady Reason = "LoadBalancerNotReady"
	// Gone is that of a load balancer that somebody deleted, and that is not created again.
	Gone Reason = "LoadBalancerGone"
	// Refused is that of a Service that lacks what it asks for as that is refused.
	Refused Reason = "LoadBalancerRefused"
	// Sound is that of a load balancer in which nothing is broken.
	Sound Reason = "LoadBalancerSound"
	// NoHealthyMember is that of a load balancer with a pool that cannot serve anybody.
	NoHealthyMember Reason = "LoadBalancerNoHealthyMember"
	// Accepted is that of a Service that is not refused.
	Accepted Reason = "LoadBalancerRequestAccepted"
	// Undrifted is that of a load balancer that nobody else has changed.
	Undrifted Reason = "LoadBalancerAsApplied"
	// Invalid, Unsupported, Unavailable, NotOwned, Conflict and RefusedByCloud are why a
	// Service is refused, as is QuotaExceeded.
	Invalid        Reason = "LoadBalancerRequestInvalid"
	Unsupported    Reason = "LoadBalancerRequestUnsupported"
	Unavailable    Reason = "LoadBalancerRequestUnavailable"
	NotOwned       Reason = "LoadBalancerNotOwned"
	Conflict       Reason = "LoadBalancerRequestConflict"
	RefusedByCloud Reason = "LoadBalancerRefusedByCloud"
)

// The reasons of events on other objects, for the cluster's operator.
const (
	// CloudChanged says that cloud.conf leads to another project or region than before.
	CloudChanged Reason = "CloudChanged"
	// ConfigurationChanged and ConfigurationRefused tell of a change of cloud.conf.
	ConfigurationChanged Reason = "ConfigurationChanged"
	ConfigurationRefused Reason = "ConfigurationRefused"
	// CredentialsExpire says when the credentials of cloud.conf end.
	CredentialsExpire Reason = "CredentialsExpire"
	// GarbageFound, GarbageSuspected, GarbageRemoved and GarbageNotRemoved name objects in
	// OpenStack that are of no Service.
	GarbageFound      Reason = "GarbageFound"
	GarbageSuspected  Reason = "GarbageSuspected"
	GarbageRemoved    Reason = "GarbageRemoved"
	GarbageNotRemoved Reason = "GarbageNotRemoved"
	// NodeDeletionHeld says why a Node without a server stays.
	NodeDeletionHeld Reason = "NodeDeletionHeld"
	// RightsMissing says which protection this process lacks for want of rights in Kubernetes.
	RightsMissing Reason = "RightsMissing"
)

// Condition is the type of a condition on a Service of type LoadBalancer. Its name begins as
// those of annotations do, so that nobody else has it.
type Condition string

// The conditions of a Service that is served.
const (
	// Provisioned: the cloud has what the Service asks for, and its address is known.
	Provisioned Condition = "loadbalancer.openstack.org/Provisioned"
	// Degraded: a part of the load balancer is broken, or nothing behind it answers.
	Degraded Condition = "loadbalancer.openstack.org/Degraded"
	// IsRefused: the Service asks for what it cannot have.
	IsRefused Condition = "loadbalancer.openstack.org/Refused"
	// IsDrifted: another client has changed the load balancer, and that stands.
	IsDrifted Condition = "loadbalancer.openstack.org/Drifted"
)

// Conditions returns all types of conditions, in the order in which they are written.
func Conditions() []Condition { return []Condition{Provisioned, Degraded, IsRefused, IsDrifted} }

// GoesOn is in the text of an error that is none: the load balancer is not there yet, and whoever
// asked for it has only got the worker back. The service controller has a Warning for it, which
// nobody writes.
const GoesOn = "which goes on by itself"

// Type returns the type of the events of a reason: Warning where somebody should look.
func (r Reason) Type() string { return r.entry().Type }

// Emit emits an event of this reason on an object.
func (r Reason) Emit(to record.EventRecorder, object runtime.Object, text string) {
	to.Event(object, r.Type(), string(r), text)
}

// States reports whether a condition can have this reason when it is true, or when it is not.
func (r Reason) States(condition Condition, is bool) bool {
	return slices.Contains(r.entry().States, State{condition, is})
}

func (r Reason) entry() Entry {
	for _, entry := range Table() {
		if entry.Reason == r {
			return entry
		}
	}
	return Entry{}
}
