package drift

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

const (
	// recordInterval is the time between two searches for due records: nothing waits for them, and
	// while many load balancers are created, each search covers those of five minutes.
	recordInterval = 5 * time.Second
	// confirmRetry is the time until records are confirmed again after a failure, if drift is not
	// watched.
	confirmRetry = time.Minute
)

// WriteRecord writes ID and address of a load balancer into the annotations of a Service.
type WriteRecord func(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error

// PersistRecords persists the knowledge of load balancers: ID and address with write, for people
// and other tools, some time after they are known; the record, for the next
// process, after a snapshot of Watch has confirmed it. It retries failed writes. If drift is not
// watched, it takes the snapshots itself. When the context ends, it records the rest, confirmed or
// not, and returns.
func (d *Detector) PersistRecords(ctx context.Context, write WriteRecord) {
	p := &persister{d.options, d.inspector, write}
	p.run(ctx)
}

// persister persists the knowledge of load balancers.
type persister struct {
	options   Options
	inspector *inspector
	write     WriteRecord
}

func (p *persister) run(ctx context.Context) {
	var pause time.Time
	for {
		timer := p.options.Clock.NewTimer(recordInterval)
		select {
		case <-timer.C():
			if now := p.options.Clock.Now(); p.options.Interval == 0 && now.After(pause) && !p.confirmDue(ctx) {
				pause = now.Add(confirmRetry)
			}
			p.persistDue(ctx)
		case <-ctx.Done():
			timer.Stop()
			p.recordRest()
			return
		}
	}
}

// recordRest records states that were confirmed since the last persistDue, and unconfirmed ones,
// which a snapshot of the next process will confirm. States that are being changed, or were changed
// by others, even if that is only reported, must be read by the next process.
func (p *persister) recordRest() {
	entered := state.EnteredBy(p.options.Store.All())
	for uid, applied := range p.options.Store.AllApplied() {
		if len(applied.Reported) > 0 || entered[applied.LoadBalancer.ID] {
			continue
		}
		if applied.RecordDue() {
			p.inspector.record(uid, applied, "")
		}
		refused := p.options.Store.Get(uid).Refusal != (state.Refusal{})
		if applied.Confirmed || applied.Seen.ChangedByOthers || applied.Depth == model.Settings || applied.LoadBalancer.Shared != nil ||
			refused || p.inspector.changing(uid, applied) {
			continue
		}
		if parts := knownParts(applied); parts != "" {
			p.inspector.record(uid, applied, parts)
		}
	}
}

// persistDue persists new knowledge, except drift that is only reported (drift-policy=report). A load balancer to which
// another Service moves is not recorded: the next process must read it to find the parts of a move that is taken back.
func (p *persister) persistDue(ctx context.Context) {
	entered := state.EnteredBy(p.options.Store.All())
	for uid, applied := range p.options.Store.Unpersisted() {
		persisted := applied.Persisted
		if len(applied.Reported) > 0 {
			continue
		}
		if applied.RecordDue() && !entered[applied.LoadBalancer.ID] {
			p.inspector.record(uid, applied, "")
			persisted.Record = true
		}
		if addressDue(applied, p.options.Clock.Now()) && !p.options.Brought(applied.Service, uid) {
			err := p.write(ctx, applied.Service, uid, RecordOf(uid, applied))
			if err != nil {
				klog.FromContext(ctx).V(2).Info("Cannot write the address of a load balancer, retrying", "service", applied.Service, "err", err)
			}
			persisted.Address = err == nil
		}
		if persisted != applied.Persisted {
			known := *applied
			known.Persisted = persisted
			p.options.Store.Update(uid, func(e *state.Entry) { e.ReplaceApplied(applied, &known) })
		}
	}
	p.unname(ctx)
}

// unname removes the load balancer of another provider from the annotations of Services with provider router, once
// all writes before have reached the informer.
func (p *persister) unname(ctx context.Context) {
	now := p.options.Clock.Now()
	for uid, routed := range p.options.Store.AllRouted() {
		if routed.Unnamed || now.Sub(routed.Since) < state.ConfirmAfter || p.options.Brought(routed.Service, uid) {
			continue
		}
		if err := p.write(ctx, routed.Service, uid, RecordOfRouted(uid, routed)); err != nil {
			klog.FromContext(ctx).V(2).Info("Cannot remove the ID of a left load balancer, retrying", "service", routed.Service, "err", err)
			continue
		}
		known := *routed
		known.Unnamed = true
		p.options.Store.Update(uid, func(e *state.Entry) { e.ReplaceRouted(routed, &known) })
	}
}

// RecordOfRouted returns the record for the annotations of a Service with provider router.
func RecordOfRouted(uid types.UID, routed *state.Routed) annotation.Record {
	if routed.Unnamed {
		return annotation.Record{}
	}
	return annotation.Record{Service: uid, Left: true}
}

// RecordOf returns the record for the annotations of a Service; the zero Record for drift that is
// only reported (drift-policy=report).
func RecordOf(uid types.UID, applied *state.Applied) annotation.Record {
	if len(applied.Reported) > 0 {
		return annotation.Record{}
	}
	return annotation.Record{Service: uid, LoadBalancerID: applied.LoadBalancer.ID, Address: applied.Address, Named: applied.LoadBalancer.Named, Share: applied.LoadBalancer.Share}
}

// addressDue reports whether ID and address must be written.
func addressDue(applied *state.Applied, now time.Time) bool {
	return !applied.Persisted.Address && (applied.Confirmed || now.Sub(applied.Seen.Since) >= state.ConfirmAfter)
}

// confirmDue confirms changes that have come to rest, and drops states that another client has
// changed. It reports whether none is left: this process may be changing them, or the cloud may not
// answer.
func (p *persister) confirmDue(ctx context.Context) bool {
	all, now := p.options.Store.AllApplied(), p.options.Clock.Now()
	maps.DeleteFunc(all, func(_ types.UID, applied *state.Applied) bool { return !applied.Confirmable(now) })
	if len(all) == 0 {
		return true
	}
	snap, err := p.options.Project.Snapshot(ctx, 0)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read changed load balancers, retrying", "err", err)
		return false
	}
	p.options.Store.Sweep(snap)
	done := true
	for uid, read := range p.inspector.together(ctx, all, snap) {
		applied := all[uid]
		if p.inspector.changing(uid, applied) {
			done = false
			continue
		}
		if p.inspector.inspect(ctx, uid, applied, snap, read) != "" {
			p.options.Store.Update(uid, func(e *state.Entry) { e.DropAppliedIf(applied) })
		}
		done = done && p.options.Store.Get(uid).Applied != applied
	}
	return done
}
