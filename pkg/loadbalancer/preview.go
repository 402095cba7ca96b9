package loadbalancer

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Preview is what a round for a Service would do now, as far as that is known before.
type Preview struct {
	// Deletes is set where the Service is to have no load balancer of ours: all that was made
	// for it is removed.
	Deletes bool
	// TakenOver is set where the load balancer was made by another controller, and no process of
	// this one is known to have served the Service.
	TakenOver bool
	// Steps are what would be changed in the cloud, in order, in all plans of the round. Of a
	// Service that is refused they keep what it has as it is.
	Steps []PreviewStep
	// Notes are what users would be told besides, in the words of the events.
	Notes []PreviewNote
	// Refusal is why the Service is refused; nil where it is not.
	Refusal *Refusal
	// Before is the address, or host name, that is published, After the one that would be: ""
	// where there is none, or OpenStack is yet to choose it.
	Before, After string
	// Address is what would become of the address.
	Address AddressChange
	// Status is what would be published; nil where that is nothing. An address that OpenStack
	// is yet to choose is empty in it.
	Status *v1.LoadBalancerStatus
}

// PreviewStep is one change of the cloud.
type PreviewStep struct {
	// Action is add, change or remove.
	Action Action `json:"action"`
	// Text is the line in the log and in events, as in
	// "listener TCP/443: allowed_cidrs [] → [10.0.0.0/8]".
	Text string `json:"text"`
	// Writes is the least number of requests that write: one, except for security groups.
	Writes int `json:"writes"`
	// Pending is set where the load balancer is in a PENDING state until the provider has
	// carried the step out.
	Pending bool `json:"pending"`
	// Pauses names the traffic that the step interrupts, "" for none.
	Pauses string `json:"pauses,omitempty"`
}

// Action is what a step does to something in the cloud.
type Action string

// The actions.
const (
	Adds    Action = "add"
	Changes Action = "change"
	Removes Action = "remove"
)

// PreviewNote is an event that the round would emit: what has no effect, what is left as it is
// and why, what OpenStack has chosen.
type PreviewNote struct {
	Reason reason.Reason `json:"reason"`
	Text   string        `json:"text"`
}

// Refusal is why a Service is not given what it asks for.
type Refusal struct {
	// Reason is one of refusal.Reasons, or ReasonInError.
	Reason string `json:"reason"`
	// Text is the error that the service controller would report. It includes the consequence for
	// the load balancer of the Service.
	Text string `json:"text"`
	// Kept is set where the Service has a load balancer, which goes on. Stuck is the reason why that
	// cannot follow the nodes; "" where it can.
	Kept  bool   `json:"kept"`
	Stuck string `json:"stuck,omitempty"`
}

// ReasonInError is the reason of a Refusal where the load balancer is in ERROR, and nothing
// that the controller may do leads it out of that. It is none of refusal.Reasons, as it is tried
// again as any error.
const ReasonInError = "in_error"

// AddressChange is what becomes of the address of a Service.
type AddressChange string

// What becomes of an address.
const (
	AddressNone    AddressChange = "none" // there is none, and will be none
	AddressKept    AddressChange = "kept"
	AddressNew     AddressChange = "new" // there was none
	AddressChanges AddressChange = "changes"
	AddressGoes    AddressChange = "goes"
)

// Writes returns how many requests that write the steps take at least.
func (p Preview) Writes() int {
	writes := 0
	for _, step := range p.Steps {
		writes += step.Writes
	}
	return writes
}

// LoadBalancerChanges returns how many changes of load balancers the steps are, each of which
// is a cycle through a PENDING state.
func (p Preview) LoadBalancerChanges() int {
	changes := 0
	for _, step := range p.Steps {
		if step.Pending {
			changes++
		}
	}
	return changes
}

// Preview returns what a round for a Service would do now: Ensure for one that is to have a load
// balancer of ours, Delete for any other. It sends OpenStack no request that writes, emits no
// event, and goes through the code of a round to its end: where a step depends on what an
// earlier one makes, that is supposed to be as it was asked for.
//
// Not known before is what OpenStack chooses (IDs, addresses, the subnet of a VIP in a network
// of several) and what it refuses (quotas, policies); a round goes on from that. A load balancer
// that is PENDING is waited for, as a round does: the context bounds that.
//
// The error is one of OpenStack, or of the context: it is not known then what a round would do.
// That a Service is refused is no error.
//
// What was read is remembered as after a round where nothing is to be done, so that the next
// Preview of the same costs no request, and WatchDrift names the Service once that is not so any
// more. Else it is only counted for max-services-per-namespace. A Reconciler is therefore asked
// either for rounds or for previews of a Service; many previews may be made at a time.
func (r *Reconciler) Preview(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (Preview, error) {
	dry, noted := r.rehearsing(svc)
	req := dispatch.Request{Operation: dispatch.Delete, Service: svc, Nodes: nodes, MayCreate: always}
	if dispatch.Wanted(svc) {
		req.Operation = dispatch.Ensure
	}
	recorded := r.engine().HasServed(svc) || r.store.Get(svc.UID).Applied != nil
	_, dryRound := dry.begin(ctx, req)
	status, err := dryRound.Step(ctx)
	p := Preview{Deletes: req.Operation == dispatch.Delete, Steps: noted.steps, Notes: noted.notes, Status: status}
	if p.Refusal = refusalOf(err); err != nil && p.Refusal == nil {
		return Preview{}, closed(err)
	}
	applied := dry.store.Get(svc.UID).Applied
	adopted := noted.adopted || applied != nil && applied.Contents != nil && applied.Contents.Adopted
	p.TakenOver = adopted && !p.Deletes && !recorded
	p.setAddress(svc)
	if len(p.Steps) == 0 && err == nil && !p.Deletes {
		r.store.Adopt(dry.store, svc.UID)
	} else if dry.store.Get(svc.UID).Namespace != "" {
		_ = r.store.Count(svc, 0) // no limit, no error
	}
	return p, nil
}

// refusalOf returns why a round has refused its Service; nil where it has not.
func refusalOf(err error) *Refusal {
	why := refusal.Reason(err)
	var blocked *refusal.BlockedError
	if why == "" && errors.As(err, &blocked) {
		return &Refusal{Reason: ReasonInError, Text: err.Error(), Kept: true, Stuck: blocked.Why}
	}
	if why == "" {
		return nil
	}
	return &Refusal{Reason: why, Text: err.Error(), Kept: !errors.Is(err, refusal.ErrNothingKept), Stuck: refusal.Stuck(err)}
}

// setAddress sets what becomes of the address.
func (p *Preview) setAddress(svc *v1.Service) {
	p.Before = published(&svc.Status.LoadBalancer)
	switch {
	case p.Refusal != nil && p.Status == nil: // what it has is left as it is
		p.After = p.Before
	case p.Status != nil:
		p.After = published(p.Status)
	}
	chosen := p.Status != nil && len(p.Status.Ingress) > 0 && p.After == ""
	switch {
	case p.Before == "" && (p.After != "" || chosen):
		p.Address = AddressNew
	case p.Before == "":
		p.Address = AddressNone
	case p.After == p.Before:
		p.Address = AddressKept
	case p.After == "" && !chosen:
		p.Address = AddressGoes
	default:
		p.Address = AddressChanges
	}
}

// published returns the address, or host name, in a status; "" where there is none, or it is
// not known.
func published(status *v1.LoadBalancerStatus) string {
	for _, ingress := range status.Ingress {
		switch {
		case ingress.IP != "":
			return ingress.IP
		case ingress.Hostname != "" && !strings.HasPrefix(ingress.Hostname, "."): // else it is made of an address
			return ingress.Hostname
		}
	}
	return ""
}
