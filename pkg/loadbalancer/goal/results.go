package goal

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// results stores the results of rounds.
type results struct {
	store *state.Store
	clock clock.PassiveClock
}

// remember stores the current state, so that nothing must be read until a change. Reported are the
// steps that were only reported.
func (s *results) remember(in Inputs, r Round, addresses []string, named string, reported map[string]bool) {
	uid, lb := in.Owner.UID, r.Have.LoadBalancer
	now := s.clock.Now()
	read := now
	if r.Have.Source == model.Lists {
		read = r.Have.ListedAt
	}
	applied := &state.Applied{
		Service:  in.Owner.Key(),
		Identity: r.Have.As,
		Digests:  state.Digests{Full: r.Want.digestFor(in), Nodeless: nodeless(r.Want, lb, in.Settings)},
		Address:  addresses[0], MoreAddresses: addresses[1:],
		LoadBalancer: state.LoadBalancer{
			ID: lb.ID, Provider: lb.Provider, Named: named, Share: in.Settings.LoadBalancer.Share,
			Shared: lb.Shared, Adopted: lb.Adopted, Unmonitored: lb.Unmonitored(), AllNodes: r.Want.Followed.Forbidden, Pods: r.Want.Followed.Pods,
			Weighed: in.Settings.Members.Drains(), Duplicates: idsOf(r.Have.Duplicates),
		},
		Contents:  lb,
		Knowledge: model.Knowledge{Depth: r.Have.Depth, Confirmed: !r.Wrote && read.Sub(lb.UpdatedAt) > state.AtRest},
		Seen: state.Seen{
			UpdatedAt: lb.UpdatedAt, OperatingStatus: lb.Status.Operating, Since: now,
			ChangedByOthers: r.Have.Contended,
		},
		Persisted: state.Persisted{Address: in.Published.written(lb.ID, in.Settings.LoadBalancer.Share, addresses[0])},
		Reported:  reported,
	}
	if lb.FloatingIP != nil {
		applied.LoadBalancer.FloatingIPID = lb.FloatingIP.ID
	}
	if applied.Depth == model.Settings {
		applied.Digests.Nodeless = "" // it does not cover members that are out of service
	}
	s.store.Update(uid, func(e *state.Entry) {
		e.SetApplied(applied)
		e.Made.Weighed = e.Made.Weighed && reported != nil
	})
	s.store.RebaseOthers(uid, r.Before, r.Have.LoadBalancer, now)
}

// storeReported stores the steps that were only reported. The published status stays.
func (s *results) storeReported(in Inputs, r Round, reported plan.Plan) *v1.LoadBalancerStatus {
	if r.Have.LoadBalancer == nil { // it is gone
		s.store.Update(in.Owner.UID, (*state.Entry).DropApplied)
	} else {
		s.remember(in, r, addressesOn(r.Have.LoadBalancer, in.Settings), in.Settings.LoadBalancer.ID, reported.Lines())
	}
	return in.Published.Status.DeepCopy()
}

// noteAddress makes the publisher write ID and address of a load balancer again if the annotations
// of the Service differ from the last write: a delayed write, of this process or the one before,
// can arrive after the next one, and the Service may share its load balancer by another name.
func (s *results) noteAddress(in Inputs) {
	share := in.Settings.LoadBalancer.Share
	s.store.Update(in.Owner.UID, func(e *state.Entry) {
		applied := e.Applied // others may have replaced the one that the round has read
		if applied == nil || applied.LoadBalancer.Share == share &&
			(!applied.Persisted.Address || in.Published.written(applied.LoadBalancer.ID, share, applied.Address)) {
			return
		}
		unwritten := *applied
		unwritten.LoadBalancer.Share, unwritten.Persisted.Address = share, false
		e.Applied = &unwritten
	})
}

// digestFor returns the hash of the desired state, computed once.
func (d *Desired) digestFor(in Inputs) string {
	if d.digest == "" {
		d.digest = digest.Of(d.LoadBalancer, in.Settings, specOf(in, d))
	}
	return d.digest
}

// nodeless returns the hash of the desired state without nodes; "" if it does not cover the
// existing parts.
func nodeless(want *Desired, have *model.LoadBalancer, settings *settings.Settings) string {
	if !digest.Covers(want.LoadBalancer, have, settings) {
		return ""
	}
	return digest.Nodeless(want.LoadBalancer, settings)
}

func idsOf(all []model.LoadBalancer) []string {
	var ids []string
	for _, lb := range all {
		ids = append(ids, lb.ID)
	}
	return ids
}
