package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// What is remembered of a load balancer is only as good as its updated_at. After a
// change of ours that time is read when the change is done: somebody else can have
// changed something in between, or within the same second, as Octavia's clock has
// seconds. The parts are compared at once, in the status tree. The settings are read
// once, by the first look that comes when the second is over; until then nothing is
// written down for the next process.

// atRest is the age of an updated_at beyond which it had been over when it was read, by
// whatever the cloud's clock and ours differ.
const atRest = 5 * time.Minute

// check looks closer at a Service, where a look at the whole cloud is not enough. It
// gives how its load balancer differs from what is remembered, "" where it does not, or
// where that cannot be told now.
//
//	the look finds                            read
//	nothing changed, and it is confirmed      nothing
//	nothing changed, and it is not            settings: then it is confirmed
//	updated_at and operating status moved     the status tree: members' health has changed, which is nobody's doing
//	updated_at moved                          settings: health can have changed twice; and which members are out of
//	                                          service, which is nothing to be brought back, and must be known; again
//	                                          when it is confirmed, as statuses come late
//	anything else                             nothing: the load balancer is to be brought back
func (r *Reconciler) check(ctx context.Context, uid types.UID, known *state.Applied, look *snapshot.Look) string {
	why := known.DriftIn(look)
	moved := why == state.ReasonChanged && known.Contents != nil && known.FloatingIPDriftIn(look) == ""
	if why == "" && !known.ConfirmableBy(look) || why != "" && !moved {
		return why
	}
	seen := look.LoadBalancers[known.LoadBalancer.ID]
	there := known.Contents.Unpack()
	onlyHealth := moved && seen.Operating != known.Seen.OperatingStatus
	var same bool
	var err error
	if onlyHealth {
		same, err = r.sameParts(ctx, there)
	} else {
		same, err = r.sameSettings(ctx, known.Identity, there, seen)
	}
	others := moved || known.Seen.ChangedByOthers
	if err == nil && same && others && (!onlyHealth || serviceChanged(there)) {
		err = r.observer.OutOfService(ctx, there)
	}
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Cannot look closer at a load balancer, trying again at the next look", "service", known.Service, "loadBalancer", known.LoadBalancer.ID, "err", err)
		return ""
	case !same:
		return state.ReasonChanged
	}
	now := *known
	now.Seen.UpdatedAt, now.Seen.OperatingStatus = seen.UpdatedAt, seen.Operating
	if others {
		there.UpdatedAt = seen.UpdatedAt
		now.Contents = model.Pack(there)
		if outOfService(there) {
			now.Digests.Nodeless = "" // which would not tell it
		}
	}
	now.Seen.Confirmed = !onlyHealth && (!moved || look.Began.Sub(seen.UpdatedAt) > atRest)
	now.Seen.ChangedByOthers = others && !now.Seen.Confirmed
	if moved {
		now.Seen.Since, now.Annotated.Fingerprint = r.options.Clock.Now(), false
	}
	r.store.ReplaceApplied(uid, known, &now)
	return ""
}

// serviceChanged tells whether the operating status of a member says something else of
// whether it is out of service than is remembered.
func serviceChanged(lb *model.LoadBalancer) bool {
	return anyMember(lb, func(m model.Member) bool {
		switch m.Status.Operating {
		case "ONLINE":
			return m.Drained || m.AdminDown
		case "DRAINING":
			return !m.Drained
		case "OFFLINE":
			return !m.AdminDown
		}
		return false
	})
}

// outOfService tells whether somebody has taken a member out of service.
func outOfService(lb *model.LoadBalancer) bool {
	return anyMember(lb, func(m model.Member) bool { return m.Drained || m.AdminDown })
}

func anyMember(lb *model.LoadBalancer, is func(model.Member) bool) bool {
	return slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return slices.ContainsFunc(l.Pool.Members, is) })
}

// sameParts compares the parts of a load balancer with the status tree, and notes how
// they are.
func (r *Reconciler) sameParts(ctx context.Context, lb *model.LoadBalancer) (bool, error) {
	tree, err := r.octavia.StatusTree(ctx, lb.ID)
	if err != nil || observe.Compare(lb, tree) != "" {
		return false, err
	}
	observe.Statuses(lb, tree)
	return lb.Status.Sound() && len(lb.Unsound()) == 0, nil
}

// sameSettings reads listeners, pools and monitors of a load balancer, whose own
// settings a look has given, and compares them: nothing is left to be done to make them
// what is remembered, and nobody else has put anything there or taken it away.
func (r *Reconciler) sameSettings(ctx context.Context, as ownership.Identity, lb *model.LoadBalancer, seen snapshot.LoadBalancer) (bool, error) {
	parts, err := r.observer.Settings(ctx, as, octavia.LoadBalancer{LoadBalancer: loadbalancers.LoadBalancer{
		ID: lb.ID, Name: lb.Name, Description: lb.Description, Tags: lb.Tags, Provider: lb.Provider,
	}})
	if err != nil {
		return false, err
	}
	read := parts.Model(as)
	read.Status, read.VIP, read.FlavorID, read.AvailabilityZone = lb.Status, lb.VIP, lb.FlavorID, lb.AvailabilityZone
	read.AdminDown = seen.AdminDown
	read.VIP.VIPSettings = model.VIPSettings{QoSPolicyID: seen.VIPQoSPolicyID, SecurityGroupIDs: seen.VIPSecurityGroupIDs}
	for _, l := range lb.Listeners {
		if there := read.Listener(l.Key()); there != nil {
			there.Pool.Members = membersThere(l.Pool.Members, parts.MemberIDs(there.Pool.ID))
		}
	}
	wanted := *lb
	wanted.FloatingIP = nil
	todo := plan.Diff(&wanted, model.Observed{LoadBalancer: read}, plan.Options{})
	return todo.Empty() && slices.Equal(partIDs(lb), partIDs(read)), nil
}

// membersThere gives those of the members whose IDs are there, and one for every other ID.
func membersThere(members []model.Member, ids []string) []model.Member {
	known := make(map[string]model.Member, len(members))
	for _, m := range members {
		known[m.ID] = m
	}
	there := make([]model.Member, 0, len(ids))
	for _, id := range ids {
		m, ok := known[id]
		if !ok {
			m = model.Member{ID: id, Address: fmt.Sprintf("of member %s", id)}
		}
		there = append(there, m)
	}
	return there
}

// partIDs gives the IDs of listeners and pools, ours and others', sorted.
func partIDs(lb *model.LoadBalancer) []string {
	var ids []string
	for _, l := range lb.Listeners {
		ids = append(ids, l.ID, l.Pool.ID)
	}
	for _, foreign := range lb.Foreign {
		ids = append(ids, foreign.ID)
	}
	slices.Sort(ids)
	return ids
}
