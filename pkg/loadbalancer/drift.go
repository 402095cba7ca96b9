package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
)

func (r *Reconciler) newDetector() *drift.Detector {
	lb := r.options.Config.LoadBalancer
	interval := lb.DriftInterval.Duration
	if lb.DriftPolicy == drift.PolicyOff {
		interval = 0
	}
	return drift.New(drift.Options{
		ClusterID: r.options.ClusterID, Interval: interval, Store: r.store, Clock: r.options.Clock,
		Snapshots: r.inventory, Octavia: r.octavia, Observer: r.observer, SecurityGroups: r.groups,
		Busy: func(uid types.UID, loadBalancerID string) bool {
			return r.actors.Busy(string(uid)) || r.locks.Held(loadBalancerID)
		},
	})
}

// WatchDrift calls drifted for every Service whose load balancer another client has changed
// or deleted, until the context ends. Repair brings it back.
func (r *Reconciler) WatchDrift(ctx context.Context, drifted func(types.NamespacedName)) {
	r.detector.Watch(ctx, drifted)
}

// PersistRecords calls write with what is to be kept in the annotations of a Service, until
// the context ends.
func (r *Reconciler) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	r.detector.PersistRecords(ctx, write)
}

// Repair brings back what another client changed, as Ensure would; the Service is one that
// WatchDrift has named. A load balancer that is gone is recreated, if exists reports, right
// before, that the Service is still there. It returns the address to publish.
func (r *Reconciler) Repair(ctx context.Context, svc *v1.Service, nodes []*v1.Node, exists func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	return r.own(ctx, request{operation: operationRepair, svc: svc, nodes: nodes, mayCreate: exists})
}
