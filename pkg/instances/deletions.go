package instances

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// AllowDeletion is the annotation with which an operator permits the deletion of a Node without a
// server, immediately and regardless of the number of others. Its value is "true".
const AllowDeletion = "node.openstack.org/allow-deletion"

const (
	// deletionWindow is how long a permitted deletion counts when the number of simultaneous
	// deletions is determined, and how long the state of a Node is kept after its last check.
	deletionWindow = 5 * time.Minute
	// reminderPeriod is the interval between events on a Node that is not deleted.
	reminderPeriod = time.Hour
)

// DeletionOptions configure Deletions.
type DeletionOptions struct {
	Instances *Instances
	Node      config.Node
	Recorder  record.EventRecorder
	// Held, if set, is called with the number of Nodes that are kept because too many would be
	// deleted.
	Held  func(nodes int)
	Clock clock.PassiveClock
}

// Deletions decide whether a Node without a server is deleted. Nova's 404 proves nothing if the
// credentials or the region are wrong, or if Nova's database was restored. Therefore all such Nodes
// are kept if too many would be deleted. Nil Deletions permit all deletions.
type Deletions struct {
	options DeletionOptions

	mu sync.Mutex
	// nodes are the Nodes without a server, by name and UID.
	nodes map[string]*departure
}

// departure is the state of a Node without a server.
type departure struct {
	name, region         string
	since, asked         time.Time // when the server was missing for the first and for the last time
	allowed, held, event time.Time // when the deletion was permitted, held, and reported, for the last time
}

// NewDeletions returns Deletions.
func NewDeletions(options DeletionOptions) *Deletions {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Deletions{options: options, nodes: map[string]*departure{}}
}

// Allow returns nil if a Node without a server may be deleted, else the reason to keep it.
func (d *Deletions) Allow(ctx context.Context, node *v1.Node) error {
	if d == nil {
		return nil
	}
	if node.Annotations[AllowDeletion] == "true" {
		d.Seen(node) // it is no longer held
		return nil
	}
	now := d.options.Clock.Now()
	if left := d.note(node, now).Add(d.options.Node.DeletionGracePeriod.Duration).Sub(now); left > 0 {
		return fmt.Errorf("node %s: its server is gone; it is deleted in %s unless the server reappears ([Node] deletion-grace-period)",
			node.Name, left.Round(time.Second))
	}
	share := d.options.Node.MaxGonePercent
	if share >= 100 {
		return nil
	}
	region, missing, err := d.options.Instances.missing(ctx, node)
	if err != nil {
		return fmt.Errorf("node %s: its server is gone; it is kept until the number of others is known: %w", node.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	gone, all := d.count(region, missing, now)
	entry := d.nodes[key(node)]
	if entry == nil { // another call has seen the server meanwhile
		return fmt.Errorf("node %s: its server was gone and has reappeared", node.Name)
	}
	entry.region = region
	if gone < 2 || gone*100 <= all*share {
		entry.allowed, entry.held = now, time.Time{}
		d.reportHeld()
		return nil
	}
	entry.held = now
	d.reportHeld()
	return d.refuse(node, entry, fmt.Sprintf("region %q has no servers of %d of its %d Nodes, more than %d percent ([Node] max-gone-percent)", region, gone, all, share))
}

// Seen forgets the state of a Node with a server.
func (d *Deletions) Seen(node *v1.Node) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.nodes) == 0 {
		return
	}
	delete(d.nodes, key(node))
	d.forget(d.options.Clock.Now())
	d.reportHeld()
}

// note records a check of a Node and returns the time since which its server is missing.
func (d *Deletions) note(node *v1.Node, now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(now)
	entry := d.nodes[key(node)]
	if entry == nil {
		entry = &departure{name: node.Name, since: now}
		d.nodes[key(node)] = entry
	}
	entry.asked = now
	return entry.since
}

// forget drops Nodes without a recent check. The caller holds the lock.
func (d *Deletions) forget(now time.Time) {
	for key, entry := range d.nodes {
		if !now.Before(entry.asked.Add(deletionWindow)) {
			delete(d.nodes, key)
		}
	}
}

// count returns the number of Nodes of a region without a server and the number of all Nodes. Both
// include those that were deleted recently. The caller holds the lock.
func (d *Deletions) count(region string, missing map[string]bool, now time.Time) (gone, all int) {
	all = len(missing)
	for _, lost := range missing {
		if lost {
			gone++
		}
	}
	for _, entry := range d.nodes {
		_, there := missing[entry.name]
		if !there && entry.region == region && now.Before(entry.allowed.Add(deletionWindow)) {
			gone, all = gone+1, all+1
		}
	}
	return gone, all
}

// reportHeld reports the number of Nodes that are held. The caller holds the lock.
func (d *Deletions) reportHeld() {
	if d.options.Held == nil {
		return
	}
	held := 0
	for _, entry := range d.nodes {
		if !entry.held.IsZero() {
			held++
		}
	}
	d.options.Held(held)
}

// refuse returns the reason to keep a Node, with the remedy. It emits an event once per
// reminderPeriod; k8s.io/cloud-provider logs the error in each round. The caller holds the lock.
func (d *Deletions) refuse(node *v1.Node, entry *departure, why string) error {
	err := fmt.Errorf("node %s: Nova has no server %s, but %s: all are kept until credentials, region or Nova are fixed. "+
		"If its server is really gone: kubectl annotate node %s %s=true", node.Name, cluster.ServerID(node.Spec.ProviderID), why, node.Name, AllowDeletion)
	if now := entry.held; entry.event.IsZero() || !now.Before(entry.event.Add(reminderPeriod)) {
		entry.event = now
		reason.NodeDeletionHeld.Emit(d.options.Recorder, node, err.Error())
	}
	return err
}

// key distinguishes a Node from others of the same name, before or after it.
func key(node *v1.Node) string { return node.Name + "/" + string(node.UID) }

// missing returns the region of a node that has a provider ID, and the nodes that are certainly in
// that region but not in its list of servers.
func (i *Instances) missing(ctx context.Context, node *v1.Node) (name string, missing map[string]bool, err error) {
	at, _, err := i.placeOf(node)
	if err != nil {
		return "", nil, err
	}
	servers, err := at.list(ctx, &at.monitored)
	if err != nil {
		return "", nil, err
	}
	missing = map[string]bool{node.Name: true}
	for _, other := range i.known() {
		region, id, err := i.placeOf(other)
		if err != nil || region != at || other.Name == node.Name {
			continue
		}
		server := servers[id]
		missing[other.Name] = server == nil || gone(server)
	}
	return at.Name, missing, nil
}

// placeOf returns the region that a node is certainly in, and the ID of its server.
func (i *Instances) placeOf(node *v1.Node) (*fleet, string, error) {
	named, id, err := cluster.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return nil, "", err
	}
	regions, err := i.regionsOf(node, named)
	if err == nil && len(regions) > 1 {
		err = fmt.Errorf("node %s: it may be in any of the regions %s", node.Name, i.served())
	}
	if err != nil {
		return nil, "", err
	}
	return regions[0], id, nil
}
