package goal

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
)

// At the first start after cloud-provider-openstack, nothing is known of any Service, and
// nothing is to be done for most. To find that out, all share lists of the project, which is
// four requests for up to a thousand load balancers; of each load balancer its pools and the
// status tree are read and, where it has health monitors, one member for each type of them.
// These reads come after those of Services that change (limiter.PriorityLow).
//
// After a process that has ended before what it had done was confirmed and recorded, Services
// whose load balancers it has made share these lists too. Their members are read in full: what
// others do to them is kept.
//
// What is found so is good for nothing but that: where anything is to be done, or anything
// is unusual, the load balancer is read as a whole. Before its members are changed one day,
// what was not read of them is.

// takeOver returns what another controller, or another process of this one, has left for a
// Service that this process meets for the first time. It is false where that has to be read as
// a whole.
func (a *Asked) takeOver(ctx context.Context, lock *async.Guard) (Observation, bool, error) {
	if a.met || !a.meets() {
		return Observation{}, false, nil
	}
	have, found, err := a.takeOverOn(ctx, lock)
	if !async.IsWaiting(err) {
		a.met, a.project = true, nil
	}
	return have, found, err
}

func (a *Asked) takeOverOn(ctx context.Context, lock *async.Guard) (Observation, bool, error) {
	if a.project == nil { // else it has waited: then all of the project need not be read again
		var err error
		if a.project, err = a.e.Cloud.Projects.Get(ctx, maxSnapshotAge); err != nil {
			return Observation{}, false, err
		}
	}
	project := a.project
	ours, err := project.LoadBalancers(ctx, octavia.LoadBalancerFilter{Tags: []string{a.in.ID.ServiceTag()}})
	if err != nil {
		return Observation{}, false, err
	}
	brief := len(ours) == 0
	have, err := a.e.with(project.Observer(a.e.Cloud.Observer, brief)).observe(limiter.WithPriority(ctx, limiter.PriorityLow), a.in, a.in.Settings, lock, &a.look)
	var floatingIP *observe.FloatingIPError
	switch {
	case observe.IsNotOurs(err), errors.Is(err, observe.ErrTorn), errors.As(err, &floatingIP):
		klog.FromContext(ctx).V(2).Info("Reading the load balancer as a whole", "cause", err)
		return Observation{}, false, nil
	case err != nil:
		return Observation{}, false, err
	}
	lb := have.LoadBalancer
	if lb == nil || brief && !lb.Adopted || lb.Shared != nil || !lb.Status.Sound() || len(lb.Unsound()) > 0 || len(have.Duplicates) > 0 || have.Outgoing != nil {
		return Observation{}, false, nil
	}
	have.Current, have.Listed, have.Brief = false, project.Began, brief
	return have, true, nil
}

// meets reports whether nothing is known for certain of the Service but that somebody serves it.
func (a *Asked) meets() bool {
	entry := a.e.Store.Get(a.in.Service.UID)
	return entry.Applied == nil && entry.Drift.Before == nil && entry.Accepted == nil && !entry.Made.Touched && !entry.Made.UnattachedFloatingIP &&
		len(publishedAddresses(a.in.Service)) > 0 && a.in.Settings.Members.SubnetID == ""
}

// with returns the same engine with another observer.
func (e *Engine) with(observer *observe.Observer) *Engine {
	other := *e
	other.Cloud.Observer = observer
	return &other
}
