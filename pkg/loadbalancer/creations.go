package loadbalancer

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

// await waits until a load balancer appears that was asked for without an answer: it
// is true then. Where none can appear any more it is false.
func (r *Reconciler) await(ctx context.Context, svc *v1.Service) (bool, error) {
	first := r.drivers.Timing("").LostCreateRetry
	for interval := first; ; interval = min(2*interval, 15*first) {
		until := r.store.CreationUntil(svc)
		if until.IsZero() {
			return false, nil
		}
		klog.FromContext(ctx).V(2).Info("Waiting for a load balancer that may still appear: its creation had no answer", "until", until)
		if err := r.sleep(ctx, interval); err != nil {
			return false, err
		}
		version, err := r.facts.Version(ctx)
		if err != nil {
			return false, err
		}
		found, err := r.observer.Claimed(ctx, r.identity(svc, version))
		if err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
	}
}

// sleep waits; the place of the work is given away meanwhile.
func (r *Reconciler) sleep(ctx context.Context, d time.Duration) error {
	timer := r.options.Clock.NewTimer(d)
	defer timer.Stop()
	defer async.Yield(ctx)()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
