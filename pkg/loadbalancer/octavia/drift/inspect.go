package drift

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Knowledge of a load balancer is only as reliable as its updated_at. After a change of ours that
// time is read when the change is done: another client can have changed something in between, or
// within the same second, because Octavia's clock has seconds. The parts are compared at once, in
// the status tree. The settings are read once, by the first snapshot after that second, of this
// process or of the next one.

// inspector compares load balancers in snapshots with their applied states, and stores what it learns.
type inspector struct {
	options  Options
	comparer comparer
}

// inspect compares a load balancer with its applied state, and reads the settings that a snapshot
// lacks. It returns a description of the difference, "" for none or if it cannot be determined now.
//
//	the snapshot shows                        is read
//	no change, confirmed                      nothing
//	no change, unconfirmed                    settings: this confirms it, also the record of the last process; if
//	                                          there is nothing to compare with, a round reads it: the last change
//	                                          was that of another Service
//	updated_at and operating status moved     the status tree: members' health has changed, which is no drift
//	updated_at moved                          settings: health can have changed twice; and those of members: those
//	                                          out of service are repaired only if the Service weighs its members, but
//	                                          must be known; again in the confirmation, because statuses come late
//	anything else                             nothing: it is drift
//
// Settings in read are not read again.
func (in *inspector) inspect(ctx context.Context, uid types.UID, applied *state.Applied, snap *project.Snapshot, read settingsRead) string {
	reason := applied.DriftIn(snap)
	moved := reason == state.ReasonChanged && applied.Depth != model.Listed && applied.FloatingIPDriftIn(snap) == ""
	if reason == "" && !applied.ConfirmableBy(snap) || reason != "" && !moved {
		return reason
	}
	seen := snap.LoadBalancers[applied.LoadBalancer.ID]
	switch {
	case applied.Depth == model.Listed && applied.Parts == "":
		return state.ReasonChanged
	case applied.Depth == model.Listed:
		return in.inspectRestored(ctx, uid, applied, seen)
	}
	i := inspection{
		began: snap.Began, seen: seen, contents: applied.Contents.Clone(),
		moved: moved, health: moved && seen.Operating != applied.Seen.OperatingStatus,
		others: moved || applied.Seen.ChangedByOthers, depth: applied.Depth, settings: read,
		weighed: applied.LoadBalancer.Weighed,
	}
	same, err := in.comparer.read(ctx, applied.Identity, i)
	return in.judge(ctx, uid, applied, same, err, func() *state.Applied { return i.confirm(applied, in.options.Clock.Now()) })
}

// inspectRestored is inspect for a load balancer that is only known from the record of the previous
// process, and unchanged in a snapshot.
func (in *inspector) inspectRestored(ctx context.Context, uid types.UID, applied *state.Applied, seen project.LoadBalancer) string {
	same, err := in.comparer.sameAsRecorded(ctx, applied, seen)
	if err == nil && !same {
		unknown := *applied
		unknown.Digests = state.Digests{}
		in.record(uid, &unknown, "") // otherwise the round that repairs it would trust the record again
	}
	return in.judge(ctx, uid, applied, same, err, func() *state.Applied {
		known := *applied
		known.Confirmed, known.Contents, known.Parts = true, nil, ""
		return &known
	})
}

// judge returns the difference between a read load balancer and its applied state; without one it
// records the new knowledge.
func (in *inspector) judge(ctx context.Context, uid types.UID, applied *state.Applied, same bool, err error, known func() *state.Applied) string {
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Cannot read a load balancer, retrying in the next interval", "service", applied.Service, "loadBalancer", applied.LoadBalancer.ID, "err", err)
		return ""
	case !same:
		return state.ReasonChanged
	}
	now := known()
	in.options.Store.Update(uid, func(e *state.Entry) { e.ReplaceApplied(applied, now) })
	return ""
}

// record stores the record of a Service; parts are "" if it is confirmed.
func (in *inspector) record(uid types.UID, applied *state.Applied, parts string) {
	record := applied.Record(uid)
	record.Parts, record.Warnings = parts, in.options.Store.Get(uid).Warnings.String()
	in.options.Records.Set(uid, record.String())
}

// changing reports whether this process is changing something for a Service or on its load
// balancer, or has done so since the state was recorded: then it has caused the difference itself.
// A failed round is followed by another, which reads; a refused Service keeps its state.
func (in *inspector) changing(uid types.UID, applied *state.Applied) bool {
	entry := in.options.Store.Get(uid)
	failed := !entry.Unsettled.Since.IsZero() && entry.Refusal == (state.Refusal{})
	return in.options.Busy(uid, applied.LoadBalancer.ID) || entry.Applied != applied || failed
}

// inspection is a load balancer to read, because a snapshot lacks its settings.
type inspection struct {
	// began is the start of the snapshot, seen its load balancer.
	began time.Time
	seen  project.LoadBalancer
	// contents is the applied state; the read adds which members are out of service.
	contents *model.LoadBalancer
	// moved is set if updated_at has moved, health if the members' health caused that.
	moved, health bool
	// others is set if another client has changed something since the last confirmation.
	others bool
	// depth is that of contents, weighed that of state.LoadBalancer.
	depth   model.Depth
	weighed bool
	// settings were read in the group.
	settings settingsRead
}

// confirm returns the knowledge of a load balancer in its applied state.
func (i inspection) confirm(applied *state.Applied, now time.Time) *state.Applied {
	known := *applied
	known.Seen.UpdatedAt, known.Seen.OperatingStatus = i.seen.UpdatedAt, i.seen.Operating
	if i.others {
		i.contents.UpdatedAt = i.seen.UpdatedAt
		known.Contents = i.contents
		if outOfService(i.contents) {
			known.Digests.Nodeless = "" // which does not cover it
		}
	}
	known.Confirmed = !i.health && (!i.moved || i.began.Sub(i.seen.UpdatedAt) > state.AtRest)
	known.Seen.ChangedByOthers = i.others && !known.Confirmed
	if i.moved {
		known.Seen.Since, known.Persisted.Record = now, false
	}
	return &known
}

// serviceChanged reports whether the operating status of a member contradicts the knowledge that it
// is in or out of service.
func serviceChanged(lb *model.LoadBalancer) bool {
	return anyMember(lb, func(m model.Member) bool {
		switch m.Status.Operating {
		case "ONLINE":
			return m.Drained || m.AdminDown
		case "DRAINING":
			return !m.Drained
		case "OFFLINE":
			return !m.AdminDown
		}
		return false
	})
}

// outOfService reports whether another client has taken a member out of service.
func outOfService(lb *model.LoadBalancer) bool {
	return anyMember(lb, func(m model.Member) bool { return m.Drained || m.AdminDown })
}

func anyMember(lb *model.LoadBalancer, is func(model.Member) bool) bool {
	return slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool {
		for kind := range l.Pool.Members.Kinds() {
			if is(kind) {
				return true
			}
		}
		return false
	})
}

// duplicate reports a second load balancer of a Service in a snapshot; it returns "" if there is
// none, if it is known and ignored, or if it is being created.
func duplicate(id ownership.Identity, applied *state.Applied, snap *project.Snapshot) string {
	if applied.LoadBalancer.Shared != nil || snap.Began.Before(applied.Seen.Since) {
		return ""
	}
	for _, lb := range snap.Tagged(id.ServiceTag()) {
		replaced, _ := ownership.Replaces(lb.Tags)
		switch {
		case lb.ID == applied.LoadBalancer.ID, slices.Contains(applied.LoadBalancer.Duplicates, lb.ID), id.Claim(lb.Tags, "") != ownership.Ours:
		case replaced == applied.LoadBalancer.ID: // it is about to replace this one
		case lb.Status == model.StatusActive, lb.Status == model.StatusError:
			return "a second load balancer was made"
		}
	}
	return ""
}
