package state

import (
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// ReasonChanged is the drift of a load balancer whose updated_at is another one than was
// seen last.
const ReasonChanged = "the load balancer was changed"

// ReasonFailed is that of a load balancer in ERROR, which no other client has caused as far as
// anyone can tell.
const ReasonFailed = "the load balancer is in ERROR"

// ConfirmAfter is when the second of an updated_at is over for sure, as Octavia's clock has
// seconds: from then on it moves with every later change.
const ConfirmAfter = 3 * time.Second

// AtRest is the age of an updated_at beyond which its second was over when it was read,
// however far the cloud's clock is from ours.
const AtRest = 5 * time.Minute

// DriftIn returns how a snapshot of the project differs from what was seen last; "" when
// it does not, or when that cannot be said of a snapshot that began earlier, or of a load
// balancer that is being changed.
func (a *Applied) DriftIn(snap *snapshot.Snapshot) string {
	if snap.Began.Before(a.Seen.Since) {
		return ""
	}
	lb, there := snap.LoadBalancers[a.LoadBalancer.ID]
	switch {
	case !there:
		return "the load balancer is gone"
	case lb.Status == octavia.StatusError:
		return ReasonFailed
	case lb.Status != octavia.StatusActive:
		return ""
	case !lb.UpdatedAt.Equal(a.Seen.UpdatedAt):
		return ReasonChanged
	}
	return a.FloatingIPDriftIn(snap)
}

// FloatingIPDriftIn returns how the floating IP on the VIP differs from the one that was
// seen last, which the load balancer's updated_at does not show; "" when it does not.
func (a *Applied) FloatingIPDriftIn(snap *snapshot.Snapshot) string {
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

// Confirmable reports whether it is not confirmed yet, and a snapshot that begins at this
// time can confirm it.
func (a *Applied) Confirmable(at time.Time) bool {
	return !a.Seen.Confirmed && at.Sub(a.Seen.Since) >= ConfirmAfter
}

// ConfirmableBy reports whether it is not confirmed yet, and this snapshot shows the load
// balancer with the updated_at that was seen last, so that its contents are worth reading.
func (a *Applied) ConfirmableBy(snap *snapshot.Snapshot) bool {
	lb := snap.LoadBalancers[a.LoadBalancer.ID]
	return a.Confirmable(snap.Began) && lb.Status == octavia.StatusActive && lb.UpdatedAt.Equal(a.Seen.UpdatedAt)
}
