package loadbalancer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

const (
	// quotaInterval is the time between two looks at quotas, each of which is one request.
	quotaInterval = time.Hour
	// quotaStart is the time from the start to the first look, and to the second one.
	quotaStart = 5 * time.Minute
)

// quotaResources are those of Neutron's quotas that load balancers use up.
func quotaResources() []string {
	return []string{"floatingip", "port", "security_group", "security_group_rule"}
}

// quotaLoadBalancer is what Octavia calls the quota of load balancers. Its other quotas tell no
// use, which would take a list of everything.
const quotaLoadBalancer = "load_balancer"

// WatchQuotas keeps the metrics of quotas, until the context ends. It asks Neutron and Octavia by
// turns, with one request an hour, each for the first time within ten minutes. Without metrics it
// asks neither.
func (r *Reconciler) WatchQuotas(ctx context.Context) {
	if r.options.Metrics == nil {
		return
	}
	ctx = limiter.WithPriority(ctx, limiter.PriorityLow)
	looks := []func(context.Context) error{r.lookAtNeutron, r.lookAtOctavia}
	for i := 0; ; i++ {
		pause := quotaInterval
		if i < len(looks) {
			pause = quotaStart
		}
		if async.Sleep(ctx, r.options.Clock, stopwatch.Controller, "quotas", pause) != nil {
			return
		}
		if err := looks[i%len(looks)](ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Cannot read quotas for the metrics, trying again later", "err", err)
		}
	}
}

func (r *Reconciler) lookAtNeutron(ctx context.Context) error {
	all, err := r.options.Session.Neutron().Quotas(ctx)
	for _, name := range quotaResources() {
		if q, known := all[name]; known {
			r.options.Metrics.quota(name, q.Limit, q.Used+q.Reserved)
		}
	}
	return err
}

// lookAtOctavia takes how many load balancers there are from the last snapshot of the project.
func (r *Reconciler) lookAtOctavia(ctx context.Context) error {
	limits, err := r.options.Session.Octavia().QuotaLimits(ctx)
	snap := r.engine().Cloud.Snapshots.Last()
	if limit, known := limits[quotaLoadBalancer]; known && snap != nil {
		r.options.Metrics.quota(quotaLoadBalancer, limit, len(snap.LoadBalancers))
	}
	return err
}

// quota sets how much of something the project may have, and has. A negative limit is none.
func (m *Metrics) quota(resource string, limit, used int) {
	m.quotaUsed.WithLabelValues(resource).Set(float64(used))
	if limit < 0 {
		m.quotaLimit.Delete(map[string]string{"resource": resource})
	} else {
		m.quotaLimit.WithLabelValues(resource).Set(float64(limit))
	}
}
