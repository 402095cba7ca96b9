package state

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Unsettled describes a Service that does not have its desired state. The zero value is of a
// settled Service, or one unknown to this process.
type Unsettled struct {
	// Since is the time at which the first round for the desired state started or began to wait for
	// its turn, set when that round has ended.
	Since time.Time
	// Deleting is set if the Service is being deleted.
	Deleting bool
	// Spent are the times that its rounds have taken since.
	Spent telemetry.Times
}

// MarkDeleting records that the Service is being deleted from now on, unless that is recorded.
func (u *Unsettled) MarkDeleting(now time.Time) {
	if !u.Deleting {
		*u = Unsettled{Since: now, Deleting: true}
	}
}

// Spend adds the times of a round that ends now, if the Service is unsettled.
func (u *Unsettled) Spend(now time.Time, times telemetry.Times) {
	if !u.Since.IsZero() {
		u.Since, u.Spent = u.Began(now, times), u.Spent.Plus(times)
	}
}

// Began returns the beginning of the first round, including its wait, if one with these times ends
// now.
func (u Unsettled) Began(now time.Time, times telemetry.Times) time.Time {
	if began := now.Add(-times.Sum()); u.Since.IsZero() || began.Before(u.Since) {
		return began
	}
	return u.Since
}

// Phase is the progress of a Service.
type Phase string

// The phases of a Service.
const (
	Settled  Phase = "settled"  // it has its desired state
	Pending  Phase = "pending"  // it is being changed
	Refused  Phase = "refused"  // it is refused
	Deleting Phase = "deleting" // its objects are being removed
)

// Phases returns all phases.
func Phases() []Phase { return []Phase{Settled, Pending, Refused, Deleting} }

// Part is a type and a status of parts of load balancers.
type Part struct {
	Kind string
	model.Status
}

// Census counts all Services by phase.
type Census struct {
	// Services are in each phase, the oldest of them since a time; zero if there is none.
	Services map[Phase]int
	Oldest   map[Phase]time.Time
}

// CensusOf counts the Services.
func CensusOf(all iter.Seq2[types.UID, Entry]) Census {
	c := Census{Services: map[Phase]int{}, Oldest: map[Phase]time.Time{}}
	for _, e := range all {
		phase := e.phase()
		if phase == "" {
			continue
		}
		c.Services[phase]++
		if oldest := c.Oldest[phase]; phase != Settled && (oldest.IsZero() || e.Unsettled.Since.Before(oldest)) {
			c.Oldest[phase] = e.Unsettled.Since
		}
	}
	return c
}

// PartsOf counts the parts of the Services' load balancers by their statuses in the last read.
// Operating statuses of members are not kept.
func PartsOf(all map[types.UID]*Applied) map[Part]int {
	parts := map[Part]int{}
	for _, applied := range all {
		if applied.Depth != model.Listed {
			countParts(parts, applied.Contents)
		}
	}
	return parts
}

// phase returns the phase of the Service; "" if it is not known to want a load balancer.
func (e *Entry) phase() Phase {
	switch {
	case e.Unsettled.Deleting:
		return Deleting
	case e.Refusal.Reason != "":
		return Refused
	case !e.Unsettled.Since.IsZero():
		return Pending
	case e.Accepted != nil:
		return Settled
	}
	return ""
}

func countParts(parts map[Part]int, lb *model.LoadBalancer) {
	for _, l := range lb.Listeners {
		parts[Part{"listener", l.Status}]++
		if !l.Protocol.HasPool() {
			continue
		}
		parts[Part{"pool", l.Pool.Status}]++
		if l.Pool.Monitor != nil {
			parts[Part{"health_monitor", l.Pool.Monitor.Status}]++
		}
		for kind, members := range l.Pool.Members.Kinds() {
			parts[Part{"member", model.Status{Provisioning: kind.Status.Provisioning}}] += members
		}
	}
}
