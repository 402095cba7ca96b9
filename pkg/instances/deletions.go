package instances

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/providerid"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// AllowDeletion is the annotation with which an operator lets a Node go whose server is gone,
// at once and however many others are: "true".
const AllowDeletion = "node.openstack.org/allow-deletion"

const (
	// deletionWindow is how long a Node that was let go counts among those that go together,
	// and what is known of a Node that nobody asks about any more is kept.
	deletionWindow = 5 * time.Minute
	// reminderPeriod is how often an event on a Node says why it stays.
	reminderPeriod = time.Hour
)

// DeletionOptions are what Deletions need.
type DeletionOptions struct {
	Instances *Instances
	Node      config.Node
	Recorder  record.EventRecorder
	// Held is told how many Nodes stay because too many would go; nil: nobody asks.
	Held  func(nodes int)
	Clock clock.PassiveClock
}

// Deletions decide whether a Node whose server is gone is deleted. A 404 of Nova proves
// nothing in the wrong place, or of a database that was restored: where too many Nodes would
// go, all stay. Nil Deletions let all go.
type Deletions struct {
	options DeletionOptions

	mu sync.Mutex
	// nodes are those whose servers are gone, by name and UID.
	nodes map[string]*departure
}

// departure is a Node whose server is gone.
type departure struct {
	name, region         string
	since, asked         time.Time // when it was gone first, and last
	allowed, held, event time.Time // when it was let go or held last, and told to stay
}

// NewDeletions returns Deletions.
func NewDeletions(options DeletionOptions) *Deletions {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Deletions{options: options, nodes: map[string]*departure{}}
}

// Allow returns nil if a Node whose server is gone is to be deleted, else why it stays.
func (d *Deletions) Allow(ctx context.Context, node *v1.Node) error {
	if d == nil {
		return nil
	}
	if node.Annotations[AllowDeletion] == "true" {
		d.Seen(node) // nothing holds it any more
		return nil
	}
	now := d.options.Clock.Now()
	if left := d.note(node, now).Add(d.options.Node.DeletionGracePeriod.Duration).Sub(now); left > 0 {
		return fmt.Errorf("node %s: its server is gone; it is deleted in %s if that stays so ([Node] deletion-grace-period)",
			node.Name, left.Round(time.Second))
	}
	share := d.options.Node.MaxGonePercent
	if share >= 100 {
		return nil
	}
	region, missing, err := d.options.Instances.missing(ctx, node)
	if err != nil {
		return fmt.Errorf("node %s: its server is gone, and it stays until it is known how many others are: %w", node.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	gone, all := d.count(region, missing, now)
	entry := d.nodes[key(node)]
	if entry == nil { // seen by another call meanwhile
		return fmt.Errorf("node %s: its server was gone and is there again", node.Name)
	}
	entry.region = region
	if gone < 2 || gone*100 <= all*share {
		entry.allowed, entry.held = now, time.Time{}
		d.tell()
		return nil
	}
	entry.held = now
	d.tell()
	return d.refuse(node, entry, fmt.Sprintf("region %q has no servers of %d of its %d Nodes, more than %d percent ([Node] max-gone-percent)", region, gone, all, share))
}

// Seen forgets what was known of the server of a Node, which is there.
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
	d.tell()
}

// note returns since when the Node's server is gone.
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

// forget drops what nobody has asked about lately. The caller holds the lock.
func (d *Deletions) forget(now time.Time) {
	for key, entry := range d.nodes {
		if !now.Before(entry.asked.Add(deletionWindow)) {
			delete(d.nodes, key)
		}
	}
}

// count returns how many Nodes of a region have no server, those that were let go lately
// among them, and how many Nodes there are or were. The caller holds the lock.
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

// tell tells how many Nodes are held. The caller holds the lock.
func (d *Deletions) tell() {
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

// refuse returns why a Node stays, with the way out, which an event says once in a
// while and the log of k8s.io/cloud-provider in each round. The caller holds the lock.
func (d *Deletions) refuse(node *v1.Node, entry *departure, why string) error {
	err := fmt.Errorf("node %s: Nova has no server %s, but %s: all stay until credentials, region or Nova are mended. "+
		"If its server is gone indeed: kubectl annotate node %s %s=true", node.Name, providerid.Server(node.Spec.ProviderID), why, node.Name, AllowDeletion)
	if now := entry.held; entry.event.IsZero() || !now.Before(entry.event.Add(reminderPeriod)) {
		entry.event = now
		reason.NodeDeletionHeld.Emit(d.options.Recorder, node, err.Error())
	}
	return err
}

// key tells a Node from another one of its name, before or after it.
func key(node *v1.Node) string { return node.Name + "/" + string(node.UID) }

// missing returns the region of a node that has a provider ID, and which of the nodes that
// are there for certain have no server in its list.
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

// placeOf returns the region that a node is in for certain, and the ID of its server.
func (i *Instances) placeOf(node *v1.Node) (*fleet, string, error) {
	named, id, err := providerid.Parse(node.Spec.ProviderID)
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
