package state

import (
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
)

// ReasonChanged is the drift of a load balancer with another updated_at than in the last read.
const ReasonChanged = "the load balancer was changed"

// ReasonFailed is that of a load balancer in ERROR, presumably not caused by another client.
const ReasonFailed = "the load balancer is in ERROR"

// ConfirmAfter is the time after which the second of an updated_at is certainly over, because
// Octavia's clock has seconds: every later change moves it.
const ConfirmAfter = 3 * time.Second

// AtRest is the age of an updated_at after which its second was over at the time of the read, even
// if the cloud's clock differs from ours.
const AtRest = 5 * time.Minute

// DriftIn describes the difference between a snapshot of the project and the last read; "" for
// none, for a snapshot that began earlier, or for a load balancer that is being changed.
func (a *Applied) DriftIn(snap *project.Snapshot) string {
	if snap.Began.Before(a.Seen.Since) {
		return ""
	}
	lb, there := snap.LoadBalancers[a.LoadBalancer.ID]
	switch {
	case !there:
		return "the load balancer is gone"
	case lb.Status == model.StatusError:
		return ReasonFailed
	case lb.Status != model.StatusActive:
		return ""
	case !lb.UpdatedAt.Equal(a.Seen.UpdatedAt):
		return ReasonChanged
	}
	return a.FloatingIPDriftIn(snap)
}

// FloatingIPDriftIn describes the change of the floating IP on the VIP since the last read, which
// the load balancer's updated_at does not show; "" for none.
func (a *Applied) FloatingIPDriftIn(snap *project.Snapshot) string {
	port := snap.LoadBalancers[a.LoadBalancer.ID].VIPPortID
	if a.LoadBalancer.FloatingIPID == "" {
		if on := snap.OnPort(port); len(on) > 0 {
			return fmt.Sprintf("the floating IP %s was put on the load balancer", on[0].Address)
		}
		return ""
	}
	fip, there := snap.FloatingIPs[a.LoadBalancer.FloatingIPID]
	switch {
	case !there:
		return "the floating IP is gone"
	case fip.PortID != port:
		return "the floating IP was taken off the load balancer"
	}
	return ""
}

// Confirmable reports whether it is unconfirmed, and a snapshot that begins at this time can
// confirm it.
func (a *Applied) Confirmable(at time.Time) bool {
	return !a.Confirmed && at.Sub(a.Seen.Since) >= ConfirmAfter
}

// ConfirmableBy reports whether it is unconfirmed, and this snapshot shows the load balancer with
// the updated_at of the last read, so that its contents are worth reading.
func (a *Applied) ConfirmableBy(snap *project.Snapshot) bool {
	lb := snap.LoadBalancers[a.LoadBalancer.ID]
	return a.Confirmable(snap.Began) && lb.Status == model.StatusActive && lb.UpdatedAt.Equal(a.Seen.UpdatedAt)
}
