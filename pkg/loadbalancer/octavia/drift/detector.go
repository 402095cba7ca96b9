package drift

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Values of drift-policy in cloud.conf.
const (
	PolicyReport = "report"
	PolicyOff    = "off"
)

// Project reads the whole project.
type Project interface {
	// Snapshot returns one that is no older than maxAge.
	Snapshot(ctx context.Context, maxAge time.Duration) (*project.Snapshot, error)
	// SettingsOf reads listeners, pools and monitors of the load balancers of several Services, by
	// the ID of the load balancer. It omits one if tags do not show all of its parts.
	SettingsOf(ctx context.Context, services []ownership.Identity) (map[string]observe.Parts, error)
}

// Octavia is the part of the load balancer service that a Detector uses.
type Octavia interface {
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Observer reads the parts of a load balancer.
type Observer interface {
	// Settings reads listeners, pools and monitors.
	Settings(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (observe.Parts, error)
	// MembersChanged records which members are out of service, and reports whether other settings
	// of members have changed; with weighed, also whether the weight 0 of one has. Depth is that of lb.
	MembersChanged(ctx context.Context, lb *model.LoadBalancer, depth model.Depth, weighed bool) (bool, error)
}

// Records store the records of Services for the next process.
type Records interface {
	Set(service types.UID, text string)
}

// SecurityGroups are the security groups that the controller manages.
type SecurityGroups interface {
	// Drifted returns the changes of other clients, by the UID of a Service that repairs them, in
	// each call until Reread.
	Drifted(ctx context.Context) (map[string]string, error)
	// Reread makes the next round of a Service read its groups.
	Reread(uid string)
}

// Routed finds drift of Services of provider router.
type Routed interface {
	// Detect calls drifted for every Service to repair, after recording its drift.
	Detect(ctx context.Context, drifted func(types.NamespacedName))
	// Mark records drift of a Service, and returns it. It reports whether the Service has that provider, and
	// whether the drift is recorded.
	Mark(uid types.UID, reason string) (service types.NamespacedName, is, marked bool)
}

// Options are the dependencies and settings of a Detector.
type Options struct {
	// ClusterID is the UID of the namespace kube-system, "" if it could not be read.
	ClusterID string
	// Interval is the time between two snapshots; 0 disables them.
	Interval       time.Duration
	Store          *state.Store
	Project        Project
	Octavia        Octavia
	Observer       Observer
	SecurityGroups SecurityGroups
	Routed         Routed
	Records        Records
	// Busy reports whether this process is changing something for a Service, or on its load
	// balancer for another Service.
	Busy func(uid types.UID, loadBalancerID string) bool
	// Seen is called in each interval for each load balancer without drift; may be nil.
	Seen func(uid types.UID, applied *state.Applied)
	// Brought reports whether the annotations of a Service are about to be written with its
	// conditions.
	Brought func(service types.NamespacedName, uid types.UID) bool
	Clock   clock.WithTicker
}

// Detector finds drift. Watch and PersistRecords may run at the same time.
type Detector struct {
	options   Options
	inspector *inspector
}

// New returns a Detector.
func New(options Options) *Detector {
	return &Detector{options, &inspector{options, comparer{options.Octavia, options.Observer}}}
}

// startsPerInterval divides the interval: the first look takes a snapshot that is no older than one part,
// because the rounds of a start read one at the same time.
const startsPerInterval = 100

// Watch compares the project with the applied states, now and at intervals: all load balancers with
// one request, all floating IPs with another, and the rules and ports of managed security groups
// with two more. It calls drifted for every Service to repair, after storing its drift. Watch
// returns when the context ends, or at once if drift is not watched.
func (d *Detector) Watch(ctx context.Context, drifted func(types.NamespacedName)) {
	if d.options.Interval == 0 {
		return
	}
	for age := d.options.Interval / startsPerInterval; ; age = 0 {
		d.detect(ctx, age, drifted)
		// Many clusters do not send their requests at the same time.
		timer := d.options.Clock.NewTimer(wait.Jitter(d.options.Interval*9/10, 0.2))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// detect compares the project once, in a snapshot that is no older than age.
func (d *Detector) detect(ctx context.Context, age time.Duration, drifted func(types.NamespacedName)) {
	snap, err := d.options.Project.Snapshot(ctx, age)
	switch {
	case auth.IsNoOctavia(err) && len(d.options.Store.AllApplied()) == 0: // all Services have provider router
	case err != nil:
		klog.FromContext(ctx).Error(err, "Cannot look for changes of other clients")
		return
	default:
		d.detectLoadBalancers(ctx, snap, drifted)
		d.detectLeft(ctx, snap, drifted)
		d.detectParts(ctx, snap, drifted)
	}
	d.options.Routed.Detect(ctx, drifted)
	d.detectSecurityGroups(ctx, drifted)
}

// detectLoadBalancers compares load balancers and floating IPs once.
func (d *Detector) detectLoadBalancers(ctx context.Context, snap *project.Snapshot, drifted func(types.NamespacedName)) {
	d.options.Store.Sweep(snap)
	all := d.options.Store.AllApplied()
	for uid, read := range d.inspector.together(ctx, all, snap) {
		applied := all[uid]
		if d.inspector.changing(uid, applied) {
			continue
		}
		reason := cmp.Or(d.inspector.inspect(ctx, uid, applied, snap, read), duplicate(d.identity(uid), applied, snap))
		if reason != "" && d.mark(uid, applied, reason) {
			klog.FromContext(ctx).Info("Another client changed a load balancer", "service", applied.Service, "loadBalancer", applied.LoadBalancer.ID, "change", reason)
			drifted(applied.Service)
		}
		if known := d.options.Store.Get(uid).Applied; reason == "" && known != nil && d.options.Seen != nil {
			d.options.Seen(uid, known)
		}
	}
}

// identity returns the identity of a Service in tags.
func (d *Detector) identity(uid types.UID) ownership.Identity {
	return ownership.Identity{ClusterID: d.options.ClusterID, ServiceUID: string(uid)}
}

// detectLeft finds load balancers of Services with provider router: those of an interrupted change to another
// provider that was taken back. It skips Services with steps that are only reported.
func (d *Detector) detectLeft(ctx context.Context, snap *project.Snapshot, drifted func(types.NamespacedName)) {
	for uid, routed := range d.options.Store.AllRouted() {
		if len(routed.Reported) > 0 {
			continue
		}
		id := d.identity(uid)
		for _, lb := range snap.Tagged(id.ServiceTag()) {
			if id.Claim(lb.Tags, "") != ownership.Ours {
				continue
			}
			const reason = "a load balancer of the Service is left in Octavia"
			if service, _, marked := d.options.Routed.Mark(uid, reason); marked {
				d.options.Store.Update(uid, func(e *state.Entry) { e.Made.Enter(lb.ID) })
				klog.FromContext(ctx).Info("A Service of provider router has a load balancer", "service", service, "loadBalancer", lb.ID)
				drifted(service)
			}
		}
	}
}

// detectParts finds parts of Services on load balancers that do not serve them: those of an interrupted move that was
// taken back. The other Services on the load balancer show them, because they have moved its updated_at.
func (d *Detector) detectParts(ctx context.Context, snap *project.Snapshot, drifted func(types.NamespacedName)) {
	all := d.options.Store.AllApplied()
	for _, on := range all {
		id := on.LoadBalancer.ID
		if on.Contents == nil || !snap.LoadBalancers[id].UpdatedAt.Equal(on.Seen.UpdatedAt) {
			continue
		}
		for _, part := range on.Contents.Foreign {
			uid := types.UID(part.ServiceUID)
			of, is := all[uid]
			if !is || of.LoadBalancer.ID == id || len(of.Reported) > 0 || snap.Began.Before(of.Seen.Since) || slices.Contains(d.options.Store.Get(uid).Made.Entered, id) {
				continue
			}
			if d.mark(uid, of, "parts of the Service are left on another load balancer") {
				d.options.Store.Update(uid, func(e *state.Entry) { e.Made.Enter(id) })
				klog.FromContext(ctx).Info("A Service has parts on a load balancer that does not serve it", "service", of.Service, "loadBalancer", id, "part", part.ID)
				drifted(of.Service)
			}
		}
	}
}

// detectSecurityGroups compares the security groups once.
func (d *Detector) detectSecurityGroups(ctx context.Context, drifted func(types.NamespacedName)) {
	changed, err := d.options.SecurityGroups.Drifted(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot look for changes of security groups by other clients")
	}
	for id, reason := range changed {
		uid := types.UID(id)
		service, is, marked := d.markGroup(uid, reason)
		if marked || !is { // otherwise a change is in progress: the next interval reports it again
			d.options.SecurityGroups.Reread(id)
		}
		if marked {
			klog.FromContext(ctx).Info("Another client changed a security group", "service", service, "change", reason)
			drifted(service)
		}
	}
}

// markGroup records drift of the security groups of a Service of any provider. It reports whether the Service has
// an applied state, and whether it has recorded the drift.
func (d *Detector) markGroup(uid types.UID, reason string) (service types.NamespacedName, is, marked bool) {
	if applied := d.options.Store.Get(uid).Applied; applied != nil {
		return applied.Service, true, d.mark(uid, applied, reason)
	}
	return d.options.Routed.Mark(uid, reason)
}

// mark records drift, unless this process is changing something there. It reports whether it has.
func (d *Detector) mark(uid types.UID, applied *state.Applied, reason string) (marked bool) {
	if !d.inspector.changing(uid, applied) {
		d.options.Store.Update(uid, func(e *state.Entry) { marked = e.MarkDrifted(applied, reason) })
	}
	return marked
}
