package loadbalancer

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
)

// CollectGarbage looks for orphaned objects of the cluster at intervals, until the context ends. It
// uses the snapshots of load balancers and floating IPs of the drift watch, if that runs.
func (r *Reconciler) CollectGarbage(ctx context.Context, cluster garbage.Cluster) {
	conf, cloud := r.options.Config.LoadBalancer, r.engine().Cloud
	age := min(2*conf.DriftInterval.Duration, conf.GarbageInterval.Duration)
	if conf.DriftPolicy == drift.PolicyOff {
		age = 0
	}
	garbage.NewCollector(garbage.CollectorOptions{
		ClusterID: r.options.ClusterID, ClusterName: r.options.ClusterName, Policy: conf.GarbagePolicy, Interval: conf.GarbageInterval.Duration,
		SnapshotAge: age, VIPs: conf.RouterVIPNetworkID != "", OctaviaOptional: conf.RouterVIPNetworkID != "" || driver.WithoutOctavia(conf.LBProvider), Project: cloud.Project, Octavia: r.options.Session.Octavia(), Neutron: r.options.Session.Neutron(),
		Lock: func(ctx context.Context, loadBalancerID string) (func(), error) {
			unlock, _, err := r.locks.Lock(ctx, loadBalancerID)
			return unlock, err
		},
		Cluster: cluster, Clock: r.options.Clock,
	}).Run(ctx)
}
