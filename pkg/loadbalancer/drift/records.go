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
	// recordInterval is how often records are looked for that are due.
	recordInterval = time.Second
	// confirmRetry is when records are confirmed again after some could not be, where drift
	// is not watched.
	confirmRetry = time.Minute
)

// WriteRecord writes what is to be kept in the annotations of a Service.
type WriteRecord func(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error

// PersistRecords calls write with what is to be kept in the annotations of a Service, for
// people and for the next process: ID and address a while after they are known, the
// fingerprint when a snapshot of Watch has confirmed it. What cannot be written is written
// later. Where drift is not watched, it takes those snapshots itself. It returns when the
// context ends.
func (d *Detector) PersistRecords(ctx context.Context, write WriteRecord) {
	var pause time.Time
	for {
		timer := d.options.Clock.NewTimer(recordInterval)
		select {
		case <-timer.C():
			if now := d.options.Clock.Now(); d.options.Interval == 0 && now.After(pause) && !d.confirmDue(ctx) {
				pause = now.Add(confirmRetry)
			}
			d.writeDue(ctx, write)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// writeDue writes the records that are known and not written yet.
func (d *Detector) writeDue(ctx context.Context, write WriteRecord) {
	for uid, applied := range d.options.Store.AllApplied() {
		if !due(applied, d.options.Clock.Now()) {
			continue
		}
		if err := write(ctx, applied.Service, uid, recordOf(applied, uid)); err != nil {
			klog.FromContext(ctx).V(2).Info("Cannot write down the state of a load balancer, trying again", "service", applied.Service, "err", err)
			continue
		}
		known := *applied
		known.Annotated = state.Annotated{Fingerprint: applied.Seen.Confirmed, Address: true}
		d.options.Store.ReplaceApplied(uid, applied, &known)
	}
}

// due reports whether something is to be written of what is known of a Service. Of drift
// that is only reported (drift-policy=report) that is nothing.
func due(applied *state.Applied, now time.Time) bool {
	if applied.Annotated.Fingerprint || len(applied.Reported) > 0 {
		return false
	}
	return applied.Seen.Confirmed || !applied.Annotated.Address && now.Sub(applied.Seen.Since) >= state.ConfirmAfter
}

// recordOf returns what is to be kept of a Service.
func recordOf(applied *state.Applied, uid types.UID) annotation.Record {
	record := annotation.Record{LoadBalancerID: applied.LoadBalancer.ID, Address: applied.Address, Named: applied.LoadBalancer.Named}
	if applied.Seen.Confirmed {
		record.Fingerprint = applied.Fingerprint(uid).String()
	}
	return record
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
	look, err := d.options.Snapshots.Snapshot(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot look at load balancers that were changed, trying again", "err", err)
		return false
	}
	done := true
	for uid, applied := range all {
		if d.changing(uid, applied) {
			continue
		}
		if d.inspect(ctx, uid, applied, look) != "" {
			d.options.Store.DropAppliedIf(uid, applied)
		}
		done = done && d.options.Store.Get(uid).Applied != applied
	}
	return done
}
