package loadbalancer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

const (
	// quotaInterval is the time between two requests for quotas.
	quotaInterval = time.Hour
	// quotaStart is the time from the start to the first request, and from there to the second.
	quotaStart = 5 * time.Minute
)

// quotaResources are the Neutron quotas that load balancers use.
func quotaResources() []string {
	return []string{"floatingip", "port", "security_group", "security_group_rule"}
}

// quotaLoadBalancer is Octavia's name for the quota of load balancers. For its other quotas, the
// use would need lists of all objects.
const quotaLoadBalancer = "load_balancer"

// WatchQuotas updates the metrics of quotas until the context ends. It alternates between Neutron
// and Octavia, with one request an hour; the first of each is within ten minutes. Without metrics
// it sends none.
func (r *Reconciler) WatchQuotas(ctx context.Context) {
	if r.options.Metrics == nil {
		return
	}
	ctx = limiter.WithPriority(ctx, limiter.PriorityLow)
	looks := []func(context.Context, *Reconciler) error{neutronQuotas, octaviaQuotas}
	for i := 0; ; i++ {
		pause := quotaInterval
		if i < len(looks) {
			pause = quotaStart
		}
		if async.Sleep(ctx, r.options.Clock, telemetry.Controller, "quotas", pause) != nil {
			return
		}
		if err := looks[i%len(looks)](ctx, r); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Cannot read quotas for the metrics, trying again later", "err", err)
		}
	}
}

func neutronQuotas(ctx context.Context, r *Reconciler) error {
	all, err := r.options.Session.Neutron().Quotas(ctx)
	for _, name := range quotaResources() {
		if q, known := all[name]; known {
			r.options.Metrics.quota(name, q.Limit, q.Used+q.Reserved)
		}
	}
	return err
}

// octaviaQuotas counts the load balancers in the last snapshot of the project.
func octaviaQuotas(ctx context.Context, r *Reconciler) error {
	limits, err := r.options.Session.Octavia().QuotaLimits(ctx)
	snap := r.engine().Cloud.Project.Last()
	if limit, known := limits[quotaLoadBalancer]; known && snap != nil {
		r.options.Metrics.quota(quotaLoadBalancer, limit, len(snap.LoadBalancers))
	}
	return err
}

// quota sets limit and use of a quota. A negative limit means unlimited.
func (m *Metrics) quota(resource string, limit, used int) {
	m.quotaUsed.WithLabelValues(resource).Set(float64(used))
	if limit < 0 {
		m.quotaLimit.Delete(map[string]string{"resource": resource})
	} else {
		m.quotaLimit.WithLabelValues(resource).Set(float64(limit))
	}
}
