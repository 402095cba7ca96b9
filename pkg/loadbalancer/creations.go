package loadbalancer

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

// creationSettles is how long after a POST without an answer the load balancer can
// still appear. Octavia commits it after it has waited for the project's quota (50 s,
// then it gives up) and for Neutron to make the VIP's port; a proxy hangs up earlier.
const creationSettles = 3 * time.Minute

// creations remembers load balancers that Octavia was asked for, and did not say
// whether it makes them: they may appear later, also after their Service is gone.
type creations struct {
	clock   clock.PassiveClock
	started time.Time

	mu     sync.Mutex
	unsure map[types.UID]unsureCreation
}

// unsureCreation is a creation without an answer.
type unsureCreation struct {
	// until is when it cannot come true any more.
	until time.Time
	// repeated tells that another creation was sent since: that a load balancer is
	// there does not prove that this one came true.
	repeated bool
}

func newCreations(clk clock.PassiveClock) *creations {
	return &creations{clock: clk, started: clk.Now(), unsure: map[types.UID]unsureCreation{}}
}

// send notes that a load balancer is going to be created for a Service.
func (c *creations) send(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if unsure, ok := c.unsure[uid]; ok {
		unsure.repeated = true
		c.unsure[uid] = unsure
	}
}

// lose notes that a creation has had no answer.
func (c *creations) lose(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for other, unsure := range c.unsure {
		if now.After(unsure.until) && other != uid {
			delete(c.unsure, other)
		}
	}
	c.unsure[uid] = unsureCreation{until: now.Add(creationSettles), repeated: c.unsure[uid].repeated}
}

// find notes that a load balancer of a Service was found, and is going to be deleted.
func (c *creations) find(svc *v1.Service) {
	until := c.until(svc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !until.IsZero() && !c.unsure[svc.UID].repeated {
		c.unsure[svc.UID] = unsureCreation{} // else a young Service is assumed to have another
	}
}

// until gives the time until which a load balancer can appear that was asked for
// without an answer; zero when none can. The process before this one has told nobody
// what it has sent when it ended: of Services that were new then, and have no address
// yet, it is assumed to have asked for one.
func (c *creations) until(svc *v1.Service) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	unsure, ok := c.unsure[svc.UID]
	created := svc.CreationTimestamp.Time
	if !ok && len(svc.Status.LoadBalancer.Ingress) == 0 && created.Before(c.started) && c.started.Sub(created) < creationSettles {
		unsure.until = c.started.Add(creationSettles)
	}
	if c.clock.Now().After(unsure.until) {
		return time.Time{}
	}
	return unsure.until
}

// await waits until a load balancer appears that was asked for without an answer: it
// is true then. Where none can appear any more it is false.
func (r *Reconciler) await(ctx context.Context, svc *v1.Service) (bool, error) {
	pace := r.options.pace("").Unsure
	for interval := pace; ; interval = min(2*interval, 15*pace) {
		until := r.creations.until(svc)
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
