package goal

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
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
// the load balancer is read in full. The rest of the members is read before their first change.

// takeOver returns the objects that another controller, or another process of this one, has created
// for a Service that is new to this process. It is false if they must be read in full.
func (a *Asked) takeOver(ctx context.Context, lock *async.Guard) (Observation, bool, error) {
	if a.triedTakeOver || !a.isUnknown() {
		return Observation{}, false, nil
	}
	have, found, err := a.takeOverOn(ctx, lock)
	if !async.IsWaiting(err) {
		a.triedTakeOver, a.lists = true, nil
	}
	return have, found, err
}

func (a *Asked) takeOverOn(ctx context.Context, lock *async.Guard) (Observation, bool, error) {
	if a.lists == nil { // else it has waited: then all of the project need not be read again
		var err error
		if a.lists, err = a.e.Cloud.Project.Lists(ctx, maxSnapshotAge); err != nil {
			return Observation{}, false, err
		}
	}
	lists := a.lists
	depth := model.Settings
	if lists.Tagged(a.in.ID) {
		depth = model.Full
	}
	have, err := a.e.with(lists.Observer(a.e.Cloud.Observer, depth)).observe(limiter.WithPriority(ctx, limiter.PriorityLow), a.in, a.in.Settings, lock, &a.look)
	var floatingIP *observe.FloatingIPError
	switch {
	case observe.IsNotOurs(err), errors.Is(err, observe.ErrTorn), errors.As(err, &floatingIP):
		klog.FromContext(ctx).V(2).Info("Reading the load balancer as a whole", "cause", err)
		return Observation{}, false, nil
	case err != nil:
		return Observation{}, false, err
	}
	lb := have.LoadBalancer
	if lb == nil || depth == model.Settings && !lb.Adopted || lb.Shared != nil || !lb.Status.Sound() || len(lb.Unsound()) > 0 || len(have.Duplicates) > 0 || have.Outgoing != nil {
		return Observation{}, false, nil
	}
	have.Knowledge, have.ListedAt = model.Knowledge{Depth: depth, Source: model.Lists}, lists.Began
	return have, true, nil
}

// isUnknown reports whether nothing is known of the Service, except that a controller serves it.
func (a *Asked) isUnknown() bool {
	entry := a.e.Store.Get(a.in.Owner.UID)
	return entry.Applied == nil && entry.Drift.Before == nil && entry.Accepted == nil && !entry.Made.Touched && !entry.Made.UnattachedFloatingIP &&
		len(publishedAddresses(a.in.Service)) > 0 && a.in.Settings.Members.SubnetID == ""
}

// with returns the same engine with another observer.
func (e *Engine) with(observer *observe.Observer) *Engine {
	other := *e
	other.Cloud.Observer = observer
	return &other
}
