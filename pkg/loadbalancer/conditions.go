package loadbalancer

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Conditions writes conditions into the status of Services. *conditions.Writer implements it.
type Conditions interface {
	// Set writes these conditions of a Service soon, and leaves the others unchanged. If they need
	// a write, the same write updates its annotations.
	Set(service types.NamespacedName, uid types.UID, said []conditions.Condition, record annotation.Record)
	// Brings reports whether such a write is in progress or queued.
	Brings(service types.NamespacedName, uid types.UID) bool
}

// conditionReporter reports states of Services as conditions. Its zero value reports nothing.
type conditionReporter struct {
	*services
	writer Conditions
	// watched is set if changes of other clients are looked for.
	watched bool
}

// round reports the result of a round, and the state of the Service's load balancer.
func (r *conditionReporter) round(svc *v1.Service, round conditions.Round) {
	if r.writer == nil {
		return
	}
	known := r.store.Get(svc.UID)
	round.Watched = r.watched
	var record annotation.Record
	if applied := known.Applied; applied != nil {
		record = drift.RecordOf(svc.UID, applied)
		round.LoadBalancerID, round.Address, round.Drift = applied.LoadBalancer.ID, applied.Address, left(applied.Reported)
	} else if routed := known.Routed; routed != nil {
		record = drift.RecordOfRouted(svc.UID, routed)
		round.LoadBalancerID, round.Address, round.Drift = routed.LoadBalancer.ID, goal.AddressOf(routed.LoadBalancer), left(routed.Reported)
	} else if round.Err == nil {
		if r.engine().Config.LoadBalancer.DriftPolicy != drift.PolicyReport {
			return // the state is unknown, and the load balancer not deleted
		}
		round.Drift = "Another client has deleted the load balancer, which is left so because of drift-policy=report"
	}
	if change := known.Drift.Reason; round.Err != nil && change != "" && change != state.ReasonFailed {
		round.Drift = fmt.Sprintf("Another client has changed something, and it could not be reverted yet: %s", change)
	}
	if round.Err == nil || round.Refusal != "" {
		_, ignored, _ := r.engine().Settings.Parse(svc)
		if known.Applied != nil && known.Applied.LoadBalancer.AllNodes {
			ignored = append(ignored, settings.EndpointsForbidden())
		}
		round.Ignored = events.Listed(ignored)
	}
	if round.Refusal != "" {
		round.Kept = refusal.WithIgnored(round.Kept, round.Ignored)
	}
	if said := round.Conditions(svc); len(said) > 0 {
		r.writer.Set(cluster.Key(svc), svc.UID, said, record)
	}
}

// left describes the changes of other clients that are only reported, by the steps that would revert them; "" for
// none.
func left(reported map[string]bool) string {
	if len(reported) == 0 {
		return ""
	}
	return "Changed by another client, and left as it is because of drift-policy=report; this would revert it (actual → desired): " +
		events.SummaryOf(slices.Sorted(maps.Keys(reported)))
}

// health reports the observed operating status of a Service's load balancer.
func (r *conditionReporter) health(uid types.UID, applied *state.Applied) {
	if r.writer == nil {
		return
	}
	var pools []string
	if applied.Depth != model.Listed {
		for _, listener := range applied.Contents.Listeners {
			if listener.Pool.Status.Operating == "ERROR" {
				pools = append(pools, listener.Key().String())
			}
		}
	}
	if said := conditions.Health(applied.LoadBalancer.ID, applied.Seen.OperatingStatus, pools); said != nil {
		r.writer.Set(applied.Service, uid, said, drift.RecordOf(uid, applied))
	}
}

// brought reports whether the annotations of a Service are about to be written with its conditions.
func (r *conditionReporter) brought(service types.NamespacedName, uid types.UID) bool {
	return r.writer != nil && r.writer.Brings(service, uid)
}

// watchesDrift reports whether the project is read at intervals.
func watchesDrift(conf config.LoadBalancer) bool {
	return conf.DriftInterval.Duration > 0 && conf.DriftPolicy != drift.PolicyOff
}
