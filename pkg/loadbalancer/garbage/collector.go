package garbage

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Values of garbage-policy in cloud.conf.
const (
	PolicyDelete = "delete"
	PolicyOff    = "off"
)

// mostRemoved is how many objects are removed after one look: right before each of them the
// Services are listed once more, and somebody may want to stop it.
const mostRemoved = 100

// Snapshots is what shows the whole project.
type Snapshots interface {
	// Snapshot returns one that is no older than maxAge.
	Snapshot(ctx context.Context, maxAge time.Duration) (*snapshot.Snapshot, error)
}

// Cluster is what is asked of, and told to, the cluster.
type Cluster struct {
	// Services calls each for all Services as the API server has them now, not a cache.
	Services func(ctx context.Context, each func(*v1.Service)) error
	// Event emits an event for the cluster's operator.
	Event func(why reason.Reason, text string)
	// Count is told how many objects of a kind are garbage, or may be. It must not block.
	Count func(kind string, proven bool, objects int)
	// Removed is told of each object that was removed. It must not block.
	Removed func(kind string)
}

// CollectorOptions are what a Collector needs.
type CollectorOptions struct {
	// ClusterID is the UID of the namespace kube-system, "" when it could not be read;
	// ClusterName is --cluster-name.
	ClusterID, ClusterName string
	// Policy is garbage-policy, Interval is the time between two looks.
	Policy   string
	Interval time.Duration
	// SnapshotAge is how old a snapshot may be.
	SnapshotAge time.Duration
	Snapshots   Snapshots
	Octavia     Octavia
	Neutron     Neutron
	// Lock waits until nobody else in this process works on a load balancer.
	Lock    func(ctx context.Context, loadBalancerID string) (unlock func(), err error)
	Cluster Cluster
	Clock   clock.WithTicker
}

// Collector looks for garbage of a cluster at intervals. What two looks in a row agree on is
// reported, and removed if the policy permits that. Each look reads the Services after the cloud.
type Collector struct {
	options CollectorOptions
	// seen is what was garbage, or may have been, in the look before.
	seen map[key]bool
	// told is what of it was reported.
	told map[key]bool
	// pools are those of load balancers with garbage.
	pools map[string]knownPools
}

// key is an object and what it was found to be.
type key struct {
	kind  Kind
	id    string
	state State
}

func keyOf(item Item) key { return key{item.Kind, item.ID, item.State} }

// NewCollector returns a Collector.
func NewCollector(options CollectorOptions) *Collector { return &Collector{options: options} }

// Run looks for garbage at intervals until the context ends, the first time after one. It
// returns at once where garbage is not looked for.
func (c *Collector) Run(ctx context.Context) {
	if c.options.Policy == PolicyOff || c.options.Interval <= 0 {
		return
	}
	logger := klog.FromContext(ctx)
	if c.options.ClusterID == "" {
		logger.Info("Objects of no Service are not looked for: without the UID of the namespace kube-system nothing proves that they are of this cluster")
		return
	}
	ctx = limiter.WithPriority(ctx, limiter.PriorityLow)
	for {
		timer := c.options.Clock.NewTimer(jitter(c.options.Interval))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Cannot look for objects of no Service, trying again at the next look")
		}
	}
}

// jitter varies an interval by a tenth to either side, so that many clusters do not ask at
// the same time.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// look lists the cloud and then the Services, and reports, or removes, what is garbage for
// the second time. A look that fails counts for nothing.
func (c *Collector) look(ctx context.Context) error {
	inventory, updated, err := c.read(ctx)
	if err != nil {
		return err
	}
	query := Query{ClusterID: c.options.ClusterID, ClusterName: c.options.ClusterName}
	if query.Services, err = c.services(ctx); err != nil {
		return err
	}
	items, err := c.list(ctx, inventory, updated, query)
	if err != nil {
		return err
	}
	young, ripe := c.age(items)
	c.report(ctx, ripe)
	if c.options.Policy == PolicyDelete {
		removed := c.remove(ctx, *inventory, query, removable(young, ripe))
		c.count(slices.DeleteFunc(ripe, func(item Item) bool { return removed[keyOf(item)] }))
	}
	return nil
}

// age parts what is garbage, or may be, into what is so for the first time, and what was so
// at the look before.
func (c *Collector) age(items []Item) (young, ripe []Item) {
	seen := map[key]bool{}
	for _, item := range items {
		switch k := keyOf(item); {
		case item.State != Found && item.State != Kept && !item.Unclear:
			continue // it is in use
		case c.seen[k]:
			seen[k], ripe = true, append(ripe, item)
		default:
			seen[k], young = true, append(young, item)
		}
	}
	c.seen = seen
	return young, ripe
}

// removable returns the objects to remove, in an order that an interruption does no harm to:
//
//	first               then               for what is left would not be found
//	a floating IP       its load balancer  a floating IP on nothing looks like one that is kept
//	a pool              its listener       only listeners tell where pools are looked for
//
// A load balancer with something on it that is not ripe waits for that, and what is beyond
// mostRemoved for the next look.
func removable(young, ripe []Item) []Item {
	waits := map[string]bool{}
	for _, item := range young {
		waits[item.LoadBalancer] = true
	}
	var found []Item
	for _, item := range ripe {
		if item.State == Found && (item.Kind != LoadBalancer || !waits[item.ID]) {
			found = append(found, item)
		}
	}
	slices.SortStableFunc(found, func(a, b Item) int {
		switch {
		case a.Kind == Pool && b.Kind == Listener:
			return -1
		case a.Kind == Listener && b.Kind == Pool:
			return 1
		}
		return 0
	})
	return found[:min(len(found), mostRemoved)]
}
