package drift

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

const (
	// recordInterval is how often records are looked for that are due: nothing waits for them, and while
	// many load balancers are made, each look passes those of five minutes.
	recordInterval = 5 * time.Second
	// confirmRetry is when records are confirmed again after some could not be, where drift
	// is not watched.
	confirmRetry = time.Minute
)

// WriteRecord writes ID and address of a load balancer into the annotations of a Service.
type WriteRecord func(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error

// PersistRecords persists what is known of load balancers: by write ID and address, for
// people and other tools, a while after they are known; in Records the fingerprint, for the
// next process, when a snapshot of Watch has confirmed it. What cannot be written is written
// later. Where drift is not watched, it takes those snapshots itself. When the context ends, it
// records what is left to record, confirmed or not, and returns.
func (d *Detector) PersistRecords(ctx context.Context, write WriteRecord) {
	var pause time.Time
	for {
		timer := d.options.Clock.NewTimer(recordInterval)
		select {
		case <-timer.C():
			if now := d.options.Clock.Now(); d.options.Interval == 0 && now.After(pause) && !d.confirmDue(ctx) {
				pause = now.Add(confirmRetry)
			}
			d.persistDue(ctx, write)
		case <-ctx.Done():
			timer.Stop()
			d.recordRest()
			return
		}
	}
}

// recordRest records what was confirmed since persistDue has looked last, and what no snapshot has
// confirmed yet, which the next process has done by one of its own. Of what is being changed, or was by
// others, also where that is only reported, it has to find out itself what it is.
func (d *Detector) recordRest() {
	for uid, applied := range d.options.Store.AllApplied() {
		if len(applied.Reported) > 0 {
			continue
		}
		if applied.FingerprintDue() {
			d.record(uid, applied, "")
		}
		refused := d.options.Store.Get(uid).Refusal != (state.Refusal{})
		if applied.Seen.Confirmed || applied.Seen.ChangedByOthers || applied.Brief || applied.LoadBalancer.Shared != nil ||
			refused || d.changing(uid, applied) {
			continue
		}
		if parts := knownParts(applied); parts != "" {
			d.record(uid, applied, parts)
		}
	}
}

// record records a fingerprint; parts are "" where it is confirmed.
func (d *Detector) record(uid types.UID, applied *state.Applied, parts string) {
	fingerprint := applied.Fingerprint(uid)
	fingerprint.Parts, fingerprint.Warnings = parts, d.options.Store.Warnings(uid)
	d.options.Records.Set(uid, fingerprint.String())
}

// persistDue persists what is known and not persisted yet. Of drift that is only reported
// (drift-policy=report) that is nothing.
func (d *Detector) persistDue(ctx context.Context, write WriteRecord) {
	for uid, applied := range d.options.Store.Unpersisted() {
		persisted := applied.Persisted
		if len(applied.Reported) > 0 {
			continue
		}
		if applied.FingerprintDue() {
			d.record(uid, applied, "")
			persisted.Fingerprint = true
		}
		if addressDue(applied, d.options.Clock.Now()) && !d.options.Brought(applied.Service, uid) {
			err := write(ctx, applied.Service, uid, RecordOf(uid, applied))
			if err != nil {
				klog.FromContext(ctx).V(2).Info("Cannot write the address of a load balancer, trying again", "service", applied.Service, "err", err)
			}
			persisted.Address = err == nil
		}
		if persisted != applied.Persisted {
			known := *applied
			known.Persisted = persisted
			d.options.Store.ReplaceApplied(uid, applied, &known)
		}
	}
}

// RecordOf returns what the annotations of a Service are to say of what was applied; the zero
// Record where that is nothing, as drift is only reported (drift-policy=report).
func RecordOf(uid types.UID, applied *state.Applied) annotation.Record {
	if len(applied.Reported) > 0 {
		return annotation.Record{}
	}
	return annotation.Record{Service: uid, LoadBalancerID: applied.LoadBalancer.ID, Address: applied.Address, Named: applied.LoadBalancer.Named}
}

// addressDue reports whether ID and address are to be written.
func addressDue(applied *state.Applied, now time.Time) bool {
	return !applied.Persisted.Address && (applied.Seen.Confirmed || now.Sub(applied.Seen.Since) >= state.ConfirmAfter)
}

// confirmDue confirms what has changed and has come to rest, and drops what another client
// has changed. It reports whether nothing is left: this process may be changing it, or the
// cloud may not answer.
func (d *Detector) confirmDue(ctx context.Context) bool {
	all, now := d.options.Store.AllApplied(), d.options.Clock.Now()
	maps.DeleteFunc(all, func(_ types.UID, applied *state.Applied) bool { return !applied.Confirmable(now) })
	if len(all) == 0 {
		return true
	}
	snap, err := d.options.Snapshots.Snapshot(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot look at load balancers that were changed, trying again", "err", err)
		return false
	}
	d.options.Store.Sweep(snap)
	done := true
	for uid, read := range d.together(ctx, all, snap) {
		applied := all[uid]
		if d.changing(uid, applied) {
			continue
		}
		if d.inspect(ctx, uid, applied, snap, read) != "" {
			d.options.Store.DropAppliedIf(uid, applied)
		}
		done = done && d.options.Store.Get(uid).Applied != applied
	}
	return done
}
