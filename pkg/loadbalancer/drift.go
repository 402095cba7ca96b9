package loadbalancer

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func (r *Reconciler) newDetector() *drift.Detector {
	conf, cloud := r.options.Config.LoadBalancer, r.engine().Cloud
	interval := conf.DriftInterval.Duration
	if !r.watchesDrift() {
		interval = 0
	}
	return drift.New(drift.Options{
		ClusterID: r.options.ClusterID, Interval: interval, Store: r.store, Clock: r.options.Clock,
		Project: cloud.Project, Octavia: r.options.Session.Octavia(), Observer: cloud.Observer, SecurityGroups: r.groups, Records: r.options.Records,
		Seen: r.setHealthConditions, Brought: r.brought,
		Busy: func(uid types.UID, loadBalancerID string) bool {
			return r.dispatcher.Busy(string(uid)) || r.locks.Held(loadBalancerID)
		},
	})
}

// WatchDrift calls drifted for each Service if another client has changed or deleted its load
// balancer, until the context ends. Repair restores it.
func (r *Reconciler) WatchDrift(ctx context.Context, drifted func(types.NamespacedName)) {
	r.detector.Watch(ctx, func(service types.NamespacedName) {
		r.options.Metrics.drifted(driftFound)
		drifted(service)
	})
}

// PersistRecords records the state of load balancers for the next process, and calls write with the
// annotations to write on a Service, until the context ends.
func (r *Reconciler) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	r.detector.PersistRecords(ctx, write)
}
