package garbage

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Values of garbage-policy in cloud.conf.
const (
	PolicyDelete = "delete"
	PolicyOff    = "off"
)

// mostRemoved is the maximum number of objects removed after one look: the Services are listed
// again before each removal, and an operator may want to stop it.
const mostRemoved = 100

// Project reads the whole project.
type Project interface {
	// Snapshot returns a snapshot up to a maximum age.
	Snapshot(ctx context.Context, maxAge time.Duration) (*project.Snapshot, error)
}

// Cluster is the part of the cluster that a Collector uses.
type Cluster struct {
	// Services calls each for all Services of the API server, not of a cache.
	Services func(ctx context.Context, each func(*v1.Service)) error
	// Event emits an event for the cluster's operator.
	Event func(why reason.Reason, text string)
	// Count, if set, is called with the number of objects of a kind that are garbage, or may be. It
	// must not block.
	Count func(kind string, proven bool, objects int)
	// Removed, if set, is called for each removed object. It must not block.
	Removed func(kind string)
}

// CollectorOptions configure a Collector.
type CollectorOptions struct {
	// ClusterID is the UID of the namespace kube-system, "" if it could not be read; ClusterName is
	// --cluster-name.
	ClusterID, ClusterName string
	// Policy is garbage-policy, Interval is the time between two looks.
	Policy   string
	Interval time.Duration
	// SnapshotAge is the maximum age of a snapshot.
	SnapshotAge time.Duration
	// VIPs adds those of provider router, for one more request.
	VIPs bool
	// OctaviaOptional permits a cloud without Octavia.
	OctaviaOptional bool
	Project         Project
	Octavia         Octavia
	Neutron         Neutron
	// Lock waits until no other work of this process changes a load balancer.
	Lock    func(ctx context.Context, loadBalancerID string) (unlock func(), err error)
	Cluster Cluster
	Clock   clock.WithTicker
}

// Collector looks for garbage of a cluster at intervals. Objects that two consecutive looks find
// are reported, and removed if the policy permits it. Each look reads the Services after the cloud.
type Collector struct {
	options CollectorOptions
	// seen are the objects that the previous look found.
	seen map[key]bool
	// reported are the objects with an event.
	reported map[key]bool
	// pools caches the pools of load balancers with garbage.
	pools map[string]knownPools
}

// key is an object with its classification.
type key struct {
	kind  Kind
	id    string
	state State
}

func keyOf(item Item) key { return key{item.Kind, item.ID, item.State} }

// NewCollector returns a Collector.
func NewCollector(options CollectorOptions) *Collector { return &Collector{options: options} }

// Run looks for garbage at intervals until the context ends, for the first time after one interval.
// It returns at once if the search is disabled.
func (c *Collector) Run(ctx context.Context) {
	if c.options.Policy == PolicyOff || c.options.Interval <= 0 {
		return
	}
	logger := klog.FromContext(ctx)
	if c.options.ClusterID == "" {
		logger.Info("The search for orphaned objects is disabled: without the UID of the namespace kube-system nothing proves that they belong to this cluster")
		return
	}
	ctx = limiter.WithPriority(ctx, limiter.PriorityLow)
	for {
		// Many clusters do not send their requests at the same time.
		timer := c.options.Clock.NewTimer(wait.Jitter(c.options.Interval*9/10, 0.2))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Cannot search for orphaned objects, retrying at the next look")
		}
	}
}

// look lists the cloud and then the Services, and reports or removes the garbage that the previous
// look found too. A failed look has no effect.
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

// age splits the candidates into new ones and those that the previous look found too.
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

// removable returns the objects to remove, in an order that is safe to interrupt:
//
//	first               then               because the rest would not be found
//	a floating IP       its load balancer  an unattached floating IP looks like a kept one
//	a pool              its listener       pools are searched for by their listeners
//
// A load balancer or VIP with a new candidate on it waits for the next look, and so do its listeners, because
// the candidate may be their pool, and objects beyond mostRemoved.
func removable(young, ripe []Item) []Item {
	waits := map[string]bool{}
	for _, item := range young {
		waits[item.LoadBalancer] = true
	}
	var found []Item
	for _, item := range ripe {
		whole, listener := item.onLoadBalancer() == item.ID, item.Kind == Listener
		if item.State == Found && (!whole && !listener || !waits[item.onLoadBalancer()]) {
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
