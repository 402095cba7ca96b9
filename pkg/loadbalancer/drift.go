package loadbalancer

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// WatchDrift looks at the cloud at intervals, all load balancers with one request and
// all floating IPs with another (and the rules and ports of managed security groups
// with two more), and calls drifted for every Service where somebody else has changed
// or deleted something. Repair brings it back. WatchDrift
// returns when the context ends.
func (r *Reconciler) WatchDrift(ctx context.Context, drifted func(types.NamespacedName)) {
	interval := r.options.Config.LoadBalancer.DriftInterval.Duration
	if !r.watches() {
		return
	}
	r.look(ctx, drifted)
	for {
		timer := r.options.Clock.NewTimer(spread(interval))
		select {
		case <-timer.C():
			r.look(ctx, drifted)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// watches tells whether anybody looks for what others change.
func (r *Reconciler) watches() bool {
	lb := r.options.Config.LoadBalancer
	return lb.DriftPolicy != driftOff && lb.DriftInterval.Duration != 0
}

// The values of drift-policy in cloud.conf.
const (
	driftReport = "report"
	driftOff    = "off"
)

// spread varies an interval by a tenth to either side, so that many clusters do
// not ask at the same time.
func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// look compares the cloud with what is remembered.
func (r *Reconciler) look(ctx context.Context, drifted func(types.NamespacedName)) {
	look, err := r.inventory.Look(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot look for changes that somebody else made")
		return
	}
	r.store.Sweep(look)
	for uid, known := range r.store.AllApplied() {
		if r.atWork(uid, known) {
			continue
		}
		why := cmp.Or(r.check(ctx, uid, known, look), r.duplicated(uid, known, look))
		if why == "" || r.atWork(uid, known) || !r.store.MarkDrifted(uid, known, why) {
			continue
		}
		klog.FromContext(ctx).Info("Somebody else changed a load balancer", "service", known.Service, "loadBalancer", known.LoadBalancer.ID, "change", why)
		drifted(known.Service)
	}
	r.lookAtGroups(ctx, drifted)
}

// atWork tells whether we ourselves work on a Service, or on its load balancer for
// another one, or have done so since it was remembered like this: what has changed is
// our own doing, until we remember it.
func (r *Reconciler) atWork(uid types.UID, known *state.Applied) bool {
	return r.actors.Busy(string(uid)) || r.locks.Held(known.LoadBalancer.ID) || r.store.Get(uid).Applied != known
}

// Repair brings back what somebody else changed, as Ensure would; the Service is
// one that WatchDrift has named. A load balancer that is gone is made anew, if alive
// says, right before, that the Service is still there. It gives the address to
// publish.
func (r *Reconciler) Repair(ctx context.Context, svc *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	return r.own(ctx, request{operation: operationRepair, svc: svc, nodes: nodes, mayCreate: alive})
}
