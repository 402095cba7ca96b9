// Package events emits the events on Services of type LoadBalancer. A Recorder has one method for
// each kind of event. Lasting states, such as settings without effect, are Warnings, which it emits only when they
// have changed.
package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Object is the object of an event, and the place that it shows.
type Object struct {
	Owner model.Owner
	// LoadBalancerID and Address are recorded in the object, "" for none.
	LoadBalancerID, Address string
}

// reference returns the object as events name it.
func (o Object) reference() *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: "v1", Kind: o.Owner.Kind, Namespace: o.Owner.Namespace, Name: o.Owner.Name, UID: o.Owner.UID}
}

// Memory stores the last emitted events.
type Memory interface {
	// Warn stores the text on a subject of a Service, "" for none, and reports whether to emit it:
	// it differs from the last one.
	Warn(service types.UID, subject, text string) bool
	// Announce stores the next change of a subject of a Service, and reports whether to emit it: it
	// is no retry of the last one.
	Announce(service types.UID, subject, change string) bool
	// Place returns the load balancer of a Service and its address, "" for none, for events that do
	// not name them.
	Place(of Object) (loadBalancerID, address string)
}

// Recorder emits events on Services. Its methods may be called concurrently.
type Recorder struct {
	recorder record.EventRecorder
	memory   Memory
}

// New returns a Recorder that emits events with another recorder, in at most message.MaxEvent
// bytes.
func New(recorder record.EventRecorder, memory Memory) *Recorder {
	return &Recorder{recorder: message.LimitEvents(recorder), memory: memory}
}

// emit emits an event, with the load balancer and the address of the Service, if they are known.
func (r *Recorder) emit(on Object, why reason.Reason, text string) {
	id, address := r.memory.Place(on)
	why.Emit(r.recorder, on.reference(), message.At(text, id, address))
}

func (r *Recorder) emitf(on Object, why reason.Reason, format string, args ...any) {
	r.emit(on, why, fmt.Sprintf(format, args...))
}

// Warn emits warnings, except for those that are the last ones on their subjects, or over.
func (r *Recorder) Warn(on Object, all ...Warning) {
	for _, w := range all {
		if r.memory.Warn(on.Owner.UID, w.Subject, cmp.Or(w.Key, w.Text)) {
			r.emit(on, w.Reason, w.Text)
		}
	}
}

// Planned emits the changes of a plan, and the objects that it cannot change or does not delete.
func (r *Recorder) Planned(on Object, p plan.Plan) {
	for _, text := range p.Notices {
		r.emit(on, reason.SettingImmutable, text)
	}
	for _, text := range p.Retained {
		r.emit(on, reason.NotDeleted, text)
	}
	r.changing(on, "load balancer", Summary(p.Steps))
}

// GroupsChanging emits the changes of security groups, unless the summary is empty, or the same
// change is retried.
func (r *Recorder) GroupsChanging(on Object, summary string) {
	r.changing(on, "security groups", summary)
}

func (r *Recorder) changing(on Object, subject, summary string) {
	if summary != "" && r.memory.Announce(on.Owner.UID, subject, summary) {
		r.emit(on, reason.Changing, summary)
	}
}

// DriftReverted emits another client's change, with the summary of the steps that revert it, unless
// one of them is empty.
func (r *Recorder) DriftReverted(on Object, change, summary string) {
	if change != "" && summary != "" {
		r.emitf(on, reason.Drifted, "Changed by another client: %s. It is being reverted (actual → desired): %s", change, summary)
	}
}

// DriftReported is DriftReverted for a change that drift-policy=report does not revert.
func (r *Recorder) DriftReported(on Object, change, summary string) {
	if change != "" && summary != "" {
		r.emitf(on, reason.Drifted, "Changed by another client: %s. It is left as it is because of drift-policy=report; this would revert it (actual → desired): %s",
			change, summary)
	}
}

// Ready emits the load balancer and the address of a Service that has no published address yet.
func (r *Recorder) Ready(on Object, lb *model.LoadBalancer, addresses []string) {
	if on.Address != "" {
		return
	}
	vip := ""
	if lb.VIP.Address == "" { // of port forwardings
		r.emitf(on, reason.Ready, "Port forwardings of floating IP %s serve the Service at %s", lb.ID, strings.Join(addresses, " and "))
		return
	}
	if fip := lb.FloatingIP; fip != nil && slices.Contains(addresses, fip.Address) {
		what := "floating IP"
		if len(addresses) > 1 {
			what = fip.Address + " is the floating IP"
		}
		vip = fmt.Sprintf(", %s of its VIP %s", what, cmp.Or(lb.VIP.FixedAddress(), lb.VIP.Address))
	}
	r.emitf(on, reason.Ready, "Load balancer %s (%s) serves the Service at %s%s", lb.Name, lb.ID, strings.Join(addresses, " and "), vip)
}

// AddressChanged emits the address that replaces the one before, "" for none.
func (r *Recorder) AddressChanged(on Object, before, now string) {
	if before != "" && before != now {
		r.emitf(on, reason.AddressChanged, "The address changed from %s to %s", before, now)
	}
}

// NotDeleted emits the reason why a load balancer that may be the Service's is not deleted with it.
func (r *Recorder) NotDeleted(on Object, why error) {
	r.emitf(on, reason.NotDeleted, "Not deleted: %v", why)
}

// Chosen emits the networks that the controller chose for the addresses of a plan, because neither
// the Service nor cloud.conf does.
func (r *Recorder) Chosen(on Object, facts desire.Facts, p plan.Plan) {
	if facts.NoFloatingIP != "" && p.Creates() {
		r.emit(on, reason.ForcedInternal, facts.NoFloatingIP)
	}
	if facts.ChosenSubnet != "" && p.Creates() {
		r.emit(on, reason.SubnetChosen, facts.ChosenSubnet)
	}
	if facts.Chosen != "" && p.CreatesFloatingIP() {
		r.emit(on, reason.ExternalNetworkChosen, facts.Chosen)
	}
}

// SharedWithoutFloatingIP emits that an external Service is reachable only at the VIP of another
// Service's load balancer, which has no floating IP.
func (r *Recorder) SharedWithoutFloatingIP(on Object, vip string) {
	r.emitf(on, reason.ForcedInternal, "The load balancer that the Service shares has no floating IP: the Service is reachable at its VIP %s only", vip)
}

// ForeignFloatingIP emits the floating IP that another client attached to a VIP that should have
// none.
func (r *Recorder) ForeignFloatingIP(on Object, fip model.FloatingIP, vip string) {
	r.emitf(on, reason.ForeignFloatingIP, "Another client attached floating IP %s (%s) to VIP %s of the load balancer, which should have none: "+
		"it is left attached, and clients can reach the Service through it", fip.Address, fip.ID, vip)
}

// Summary formats the first steps of a plan for an event, and the number of the others; "" for
// none.
func Summary[Step fmt.Stringer](steps []Step) string {
	texts := make([]string, 0, len(steps))
	for _, step := range steps {
		texts = append(texts, step.String())
	}
	return SummaryOf(texts)
}

// SummaryOf is Summary for formatted steps.
func SummaryOf(steps []string) string {
	const most = 5
	var lines []string
	for _, step := range steps[:min(most, len(steps))] {
		lines = append(lines, message.Truncate(step, message.MaxEvent/(most+1)))
	}
	if more := len(steps) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
