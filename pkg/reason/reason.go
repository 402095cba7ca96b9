// Package reason is the table of all reasons of events and conditions: the object that has it, when
// it occurs, and how to respond. docs/events.md is generated from it.
package reason

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Reason is the reason of an event, of a condition, or of both. Kubernetes' service controller only
// reports success and failure; these reasons name the change or the cause.
type Reason string

// Reasons of events on Services. Some are also reasons of conditions.
const (
	// Changing lists the changes in progress in the cloud.
	Changing Reason = "ChangingLoadBalancer"
	// Ready names the load balancer and the address of a Service that had none.
	Ready Reason = "LoadBalancerReady"
	// SettingIgnored names settings that have no effect.
	SettingIgnored Reason = "LoadBalancerSettingIgnored"
	// SettingImmutable names a setting that cannot change on a load balancer that exists.
	SettingImmutable Reason = "LoadBalancerSettingImmutable"
	// NotDeleted names a load balancer that may belong to the Service and is kept, and why.
	NotDeleted Reason = "LoadBalancerNotDeleted"
	// Drifted names the changes of another client in the cloud.
	Drifted Reason = "LoadBalancerDrifted"
	// ForcedInternal reports that an external Service is reachable on its VIP only.
	ForcedInternal Reason = "LoadBalancerForcedInternal"
	// ExternalNetworkChosen names the network of the floating IP, if there are several.
	ExternalNetworkChosen Reason = "LoadBalancerExternalNetworkChosen"
	// SubnetChosen names the subnet of the VIP, if the nodes are in several.
	SubnetChosen Reason = "LoadBalancerSubnetChosen"
	// HealthMonitorMissing reports that a load balancer of another controller has no health
	// monitors, and how to add them.
	HealthMonitorMissing Reason = "LoadBalancerHealthMonitorMissing"
	// AddressChanged names the address that replaces the published one.
	AddressChanged Reason = "LoadBalancerAddressChanged"
	// ForeignFloatingIP names a floating IP that another client attached to a load
	// balancer that should have none.
	ForeignFloatingIP Reason = "LoadBalancerForeignFloatingIP"
	// NodeSkipped names nodes that cannot be members.
	NodeSkipped Reason = "LoadBalancerNodeSkipped"
	// NoMembers names the setting that excludes all nodes.
	NoMembers Reason = "LoadBalancerNoMembers"
	// NoEndpoints names ports whose members stay because the Service has no endpoint for them.
	NoEndpoints Reason = "LoadBalancerNoEndpoints"
	// AllNodes states why all nodes are members although the members could follow the endpoints.
	AllNodes Reason = "LoadBalancerAllNodes"
	// Unmanaged lists the changes that are not made because the Service forbids them.
	Unmanaged Reason = "LoadBalancerUnmanaged"
	// ShareWaits names the Service for which the load balancer of a share is created, and which has none
	// yet.
	ShareWaits Reason = "LoadBalancerShareWaits"
	// RolloutLoses reports that pods stop before the load balancer has removed their node.
	RolloutLoses Reason = "LoadBalancerRolloutLosesConnections"
	// FlowsStay states that UDP flows stay with nodes that their endpoints have left.
	FlowsStay Reason = "LoadBalancerFlowsStay"
	// LastMembers names nodes that serve although they are about to be deleted.
	LastMembers Reason = "LoadBalancerLastMembers"
	// PortNotFound names nodes without a known port, which therefore get no security group.
	PortNotFound Reason = "SecurityGroupPortNotFound"
	// InError reports that a load balancer or a part of it is in ERROR, since when, and the remedy.
	InError Reason = "LoadBalancerInError"
	// Pending reports since when a load balancer is in a PENDING status.
	Pending Reason = "LoadBalancerPending"
	// QuotaExceeded names an exhausted quota or address pool.
	QuotaExceeded Reason = "LoadBalancerQuotaExceeded"
	// OctaviaNotFound reports that the catalog has no endpoint of Octavia.
	OctaviaNotFound Reason = "OctaviaEndpointNotFound"
	// UpdateFailed reports why a load balancer cannot follow nodes or pods, or cannot be repaired. The
	// service controller uses the same reason.
	UpdateFailed Reason = "UpdateLoadBalancerFailed"
	// Updated reports that a load balancer is up to date again after UpdateFailed. The service
	// controller uses the same reason.
	Updated Reason = "UpdatedLoadBalancer"
)

// Reasons that only conditions of Services have.
const (
	// NotReady: the first load balancer of the Service could not be created yet.
	NotReady Reason = "LoadBalancerNotReady"
	// Gone: another client deleted the load balancer, and the drift policy does not create it
	// again.
	Gone Reason = "LoadBalancerGone"
	// Refused: the Service lacks a load balancer because its request is refused.
	Refused Reason = "LoadBalancerRefused"
	// Sound: no part of the load balancer is broken.
	Sound Reason = "LoadBalancerSound"
	// NoHealthyMember: a pool of the load balancer has no member that answers.
	NoHealthyMember Reason = "LoadBalancerNoHealthyMember"
	// Accepted: no part of the request is refused.
	Accepted Reason = "LoadBalancerRequestAccepted"
	// Undrifted: the load balancer has no changes of other clients.
	Undrifted Reason = "LoadBalancerAsApplied"
	// Invalid, Unsupported, Unavailable, NotOwned, Conflict and RefusedByCloud are reasons for
	// which a Service is refused, as is QuotaExceeded.
	Invalid        Reason = "LoadBalancerRequestInvalid"
	Unsupported    Reason = "LoadBalancerRequestUnsupported"
	Unavailable    Reason = "LoadBalancerRequestUnavailable"
	NotOwned       Reason = "LoadBalancerNotOwned"
	Conflict       Reason = "LoadBalancerRequestConflict"
	RefusedByCloud Reason = "LoadBalancerRefusedByCloud"
)

// Reasons of events on other objects, for the cluster's operator.
const (
	// CloudChanged reports that cloud.conf points to another project or region than before.
	CloudChanged Reason = "CloudChanged"
	// ConfigurationChanged and ConfigurationRefused report a change of cloud.conf.
	ConfigurationChanged Reason = "ConfigurationChanged"
	ConfigurationRefused Reason = "ConfigurationRefused"
	// CredentialsExpire reports when the credentials of cloud.conf expire.
	CredentialsExpire Reason = "CredentialsExpire"
	// GarbageFound, GarbageSuspected, GarbageRemoved and GarbageNotRemoved name orphaned objects in
	// OpenStack.
	GarbageFound      Reason = "GarbageFound"
	GarbageSuspected  Reason = "GarbageSuspected"
	GarbageRemoved    Reason = "GarbageRemoved"
	GarbageNotRemoved Reason = "GarbageNotRemoved"
	// NodeDeletionHeld reports why a Node without a server is not deleted.
	NodeDeletionHeld Reason = "NodeDeletionHeld"
	// RightsMissing names the protections that are disabled because rights in Kubernetes are
	// missing.
	RightsMissing Reason = "RightsMissing"
)

// Condition is the type of a condition on a Service of type LoadBalancer. It has the prefix of the
// annotations, so that it collides with no other controller's.
type Condition string

// Conditions of a Service that is served.
const (
	// Provisioned: the cloud has what the Service asks for, and its address is known.
	Provisioned Condition = "loadbalancer.openstack.org/Provisioned"
	// Degraded: a part of the load balancer is broken, or no member of a pool answers.
	Degraded Condition = "loadbalancer.openstack.org/Degraded"
	// IsRefused: the request of the Service is refused.
	IsRefused Condition = "loadbalancer.openstack.org/Refused"
	// IsDrifted: another client has changed the load balancer, and the change is not reverted.
	IsDrifted Condition = "loadbalancer.openstack.org/Drifted"
)

// Conditions returns all types of conditions, in the order in which they are written.
func Conditions() []Condition { return []Condition{Provisioned, Degraded, IsRefused, IsDrifted} }

// GoesOn is in the text of the error that stands for work in progress: the load balancer is not
// ready, and the work continues without a worker. The service controller emits a Warning for it,
// which the controller suppresses.
const GoesOn = "which goes on by itself"

// Type returns the type of the events of a reason: Warning if they need attention.
func (r Reason) Type() string { return r.entry().Type }

// Emit emits an event of this reason on an object.
func (r Reason) Emit(to record.EventRecorder, object runtime.Object, text string) {
	to.Event(object, r.Type(), string(r), text)
}

func (r Reason) entry() Entry {
	for _, entry := range Table() {
		if entry.Reason == r {
			return entry
		}
	}
	return Entry{}
}
