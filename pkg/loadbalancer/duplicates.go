package loadbalancer

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// duplicated tells of a second load balancer of a Service that a look shows; "" where
// there is none, or it is known and left alone, or is only being made.
func (r *Reconciler) duplicated(uid types.UID, known *state.Applied, look *snapshot.Look) string {
	if known.LoadBalancer.Shared != nil || look.Began.Before(known.Seen.Since) {
		return ""
	}
	id := ownership.Identity{ClusterID: r.options.ClusterID, ServiceUID: string(uid)}
	for _, lb := range look.Tagged(id.ServiceTag()) {
		replaced, _ := ownership.Replaces(lb.Tags)
		switch {
		case lb.ID == known.LoadBalancer.ID, slices.Contains(known.LoadBalancer.Duplicates, lb.ID), id.Claim(lb.Tags, "") != ownership.Ours:
		case replaced == known.LoadBalancer.ID: // we are at it
		case lb.Status == octavia.StatusActive, lb.Status == octavia.StatusError:
			return "a second load balancer was made"
		}
	}
	return ""
}

// duplicatesOf gives the IDs of the further load balancers that are left alone.
func duplicatesOf(observed *model.Observed) []string {
	var ids []string
	for _, lb := range observed.Surplus {
		ids = append(ids, lb.ID)
	}
	return ids
}
