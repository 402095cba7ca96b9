package garbage

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// kinds are those of objects that can be garbage.
func kinds() []Kind {
	return []Kind{LoadBalancer, Listener, Pool, VIP, FloatingIP, SecurityGroup}
}

// report updates the counts, and emits events for new garbage.
func (c *Collector) report(ctx context.Context, ripe []Item) {
	c.count(ripe)
	reported := map[key]bool{}
	var found, suspected []string
	for _, item := range ripe {
		k := keyOf(item)
		reported[k] = true
		if c.reported[k] {
			continue
		}
		if item.State == Found {
			found = append(found, words(item))
		} else {
			suspected = append(suspected, words(item))
		}
		klog.FromContext(ctx).Info("An object in OpenStack belongs to no Service", "kind", item.Kind, "id", item.ID, "name", item.Name, "loadBalancer", item.LoadBalancer, "proven", item.State == Found, "why", item.Why)
	}
	c.reported = reported
	remedy := "are kept ([LoadBalancer] garbage-policy=delete in cloud.conf removes them)"
	if c.options.Policy == PolicyDelete {
		remedy = "are removed now"
	}
	c.emit(reason.GarbageFound, "Objects in OpenStack belong to no Service of this cluster and "+remedy, found)
	c.emit(reason.GarbageSuspected, "Objects in OpenStack may belong to no Service of this cluster and are kept; the log has the reasons", suspected)
}

// count reports the number of objects of each kind.
func (c *Collector) count(items []Item) {
	counts := map[Kind]map[bool]int{}
	for _, kind := range kinds() {
		counts[kind] = map[bool]int{}
	}
	for _, item := range items {
		counts[item.Kind][item.State == Found]++
	}
	for kind, of := range counts {
		for _, proven := range []bool{true, false} {
			c.options.Cluster.Count(string(kind), proven, of[proven])
		}
	}
}

// emit emits an event about objects, unless there are none.
func (c *Collector) emit(why reason.Reason, text string, objects []string) {
	if len(objects) > 0 {
		c.options.Cluster.Event(why, text+": "+message.JoinLimited(objects))
	}
}

// words returns the name of an object. It is quoted, because other clients of the project choose
// it.
func words(item Item) string {
	return fmt.Sprintf("%s %s (%q)", item.Kind, item.ID, message.TruncateValue(item.Name))
}

// remove removes items, reports the results, and returns those that are gone.
func (c *Collector) remove(ctx context.Context, inventory Inventory, query Query, items []Item) map[key]bool {
	Remove(ctx, Options{
		Query: query, Octavia: c.options.Octavia, Neutron: c.options.Neutron, Clock: c.options.Clock,
		Living: c.services, Lock: c.options.Lock,
	}, inventory, items)
	gone := map[key]bool{}
	var removed, failed []string
	for _, item := range items {
		logger := klog.FromContext(ctx).WithValues("kind", item.Kind, "id", item.ID, "name", item.Name, "loadBalancer", item.LoadBalancer)
		if item.State == Removed {
			gone[key{item.Kind, item.ID, Found}] = true
			removed = append(removed, words(item))
			c.options.Cluster.Removed(string(item.Kind))
			logger.Info("Removed an object of no Service from OpenStack")
			continue
		}
		failed = append(failed, words(item)+": "+item.Why)
		logger.Info("Cannot remove an object of no Service from OpenStack", "why", item.Why)
	}
	c.emit(reason.GarbageRemoved, "Objects of no Service of this cluster were removed from OpenStack", removed)
	c.emit(reason.GarbageNotRemoved, "Objects of no Service of this cluster could not be removed from OpenStack; the controller retries", failed)
	return gone
}
