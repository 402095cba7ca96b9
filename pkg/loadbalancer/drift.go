package loadbalancer

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

func (r *Reconciler) newDetector() *drift.Detector {
	conf, cloud := r.options.Config.LoadBalancer, r.engine().Cloud
	interval := conf.DriftInterval.Duration
	if !watchesDrift(conf) {
		interval = 0
	}
	return drift.New(drift.Options{
		ClusterID: r.options.ClusterID, Interval: interval, Store: r.store, Clock: r.options.Clock,
		Project: cloud.Project, Octavia: r.options.Session.Octavia(), Observer: cloud.Observer, SecurityGroups: r.rounds.groups, Records: r.options.Records,
		Routed: routedDrift{r}, Seen: r.rounds.conditions.health, Brought: r.rounds.conditions.brought,
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

// routedDrift finds drift of Services of provider router.
type routedDrift struct{ *Reconciler }

// Detect implements drift.Routed: it compares all VIPs and port forwardings with the states that this process has
// applied.
func (r routedDrift) Detect(ctx context.Context, drifted func(types.NamespacedName)) {
	engine, known := r.engine(), r.store.AllRouted()
	maps.DeleteFunc(known, func(uid types.UID, _ *state.Routed) bool { return r.dispatcher.Busy(string(uid)) })
	vips, forwarded := maps.Clone(known), maps.Clone(known)
	maps.DeleteFunc(vips, func(_ types.UID, s *state.Routed) bool { return s.LoadBalancer.Provider == driver.PortForwarding })
	maps.DeleteFunc(forwarded, func(_ types.UID, s *state.Routed) bool { return s.LoadBalancer.Provider != driver.PortForwarding })
	changed := map[types.UID]string{}
	look := func(known map[types.UID]*state.Routed, changes func(context.Context, map[types.UID]*state.Routed) (map[types.UID]string, error)) {
		if len(known) == 0 {
			return
		}
		found, err := changes(ctx, known)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Cannot look for changes of VIPs and port forwardings by other clients")
		}
		maps.Copy(changed, found)
	}
	look(vips, func(ctx context.Context, known map[types.UID]*state.Routed) (map[types.UID]string, error) {
		return engine.Cloud.VIPs.Changed(ctx, ownership.ClusterTag(r.options.ClusterID), known)
	})
	look(forwarded, engine.Cloud.Forwardings.Changed)
	for uid, how := range changed {
		if r.mark(uid, known[uid], how) {
			drifted(known[uid].Service)
		}
	}
}

// Mark implements drift.Routed.
func (r routedDrift) Mark(uid types.UID, how string) (service types.NamespacedName, is, marked bool) {
	routed := r.store.Get(uid).Routed
	if routed == nil {
		return types.NamespacedName{}, false, false
	}
	return routed.Service, true, r.mark(uid, routed, how)
}

// mark records a change of another client, unless this process is changing something for the Service.
func (r routedDrift) mark(uid types.UID, routed *state.Routed, how string) (marked bool) {
	if !r.dispatcher.Busy(string(uid)) {
		r.store.Update(uid, func(e *state.Entry) { marked = e.MarkRoutedDrifted(routed, how) })
	}
	return marked
}

// PersistRecords records the state of load balancers for the next process, and calls write with the
// annotations to write on a Service, until the context ends.
func (r *Reconciler) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	r.detector.PersistRecords(ctx, write)
}
