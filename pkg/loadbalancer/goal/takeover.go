package goal

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// At the first start after cloud-provider-openstack, nothing is known of any Service, and most need
// no change. To confirm that, all share lists of the project: four requests for up to a thousand
// load balancers. For each load balancer, they read its pools and the status tree and, if it has
// health monitors, one member for each type of them. These reads have a lower priority than those
// of Services that change (limiter.PriorityLow).
//
// If a process ended before its changes were confirmed and recorded, the Services of its load
// balancers share these lists too. Their members are read in full, to preserve settings that other
// clients have made.
//
// The result serves only to confirm that no change is needed: otherwise, or if anything is unusual,
// the load balancer is read in full, as it is if a batch of members may be in progress. The rest of the
// members is read before their first change.

// look is the progress of Asked.Observe between two calls.
type look struct {
	search reading.Search
	// tookOver is set after the first takeOver, lists are kept while it waits.
	tookOver bool
	lists    *project.Lists
}

// takeOver returns the objects that another controller, or another process of this one, has created
// for a Service that is new to this process. It is false if they must be read in full.
func (o *observer) takeOver(ctx context.Context, in Inputs, lock *async.Guard, at *look) (Observation, bool, error) {
	if at.tookOver || !o.isUnknown(in) {
		return Observation{}, false, nil
	}
	have, found, err := o.takeOverOn(ctx, in, lock, at)
	if !async.IsWaiting(err) {
		at.tookOver, at.lists = true, nil
	}
	return have, found, err
}

func (o *observer) takeOverOn(ctx context.Context, in Inputs, lock *async.Guard, at *look) (Observation, bool, error) {
	if at.lists == nil { // else it has waited: then all of the project need not be read again
		var err error
		if at.lists, err = o.project.Lists(ctx, maxSnapshotAge); err != nil {
			return Observation{}, false, err
		}
	}
	lists := at.lists
	depth := model.Settings
	if lists.Tagged(in.ID) {
		depth = model.Full
	}
	have, err := o.with(lists.Observer(o.Reader.Observer, depth)).observe(limiter.WithPriority(ctx, limiter.PriorityLow), in, in.Settings, lock, &at.search)
	var floatingIP *observe.FloatingIPError
	switch {
	case observe.IsNotOurs(err), errors.Is(err, observe.ErrTorn), errors.As(err, &floatingIP):
		klog.FromContext(ctx).V(2).Info("Reading the load balancer as a whole", "cause", err)
		return Observation{}, false, nil
	case err != nil:
		return Observation{}, false, err
	}
	lb := have.LoadBalancer
	if lb == nil || depth == model.Settings && !lb.Adopted || lb.Shared != nil || !lb.Status.Sound() || len(lb.Unsound()) > 0 || len(have.Duplicates) > 0 || have.Outgoing != nil ||
		!o.Reader.AtRest(lb.Provider, lists.Began.Sub(lb.UpdatedAt)) {
		return Observation{}, false, nil
	}
	have.Knowledge, have.ListedAt = model.Knowledge{Depth: depth, Source: model.Lists}, lists.Began
	return have, true, nil
}

// isUnknown reports whether nothing is known of the Service, except that a controller serves it.
func (o *observer) isUnknown(in Inputs) bool {
	entry := o.Memory.Store.Get(in.Owner.UID)
	return entry.Applied == nil && entry.Drift.Before == nil && entry.Accepted == nil && !entry.Made.Touched && !entry.Made.UnattachedFloatingIP &&
		len(in.Published.addresses()) > 0 && in.Settings.Members.SubnetID == ""
}
