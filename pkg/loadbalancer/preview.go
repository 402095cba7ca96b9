package loadbalancer

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Preview is the predicted result of a round for a Service.
type Preview struct {
	// Deletes is set if the Service shall have no load balancer of this controller: the round
	// deletes all of its objects.
	Deletes bool
	// TakenOver is set if another controller created the load balancer, and this one has never
	// served the Service, as far as recorded.
	TakenOver bool
	// Steps are the changes in the cloud, in order, of all plans of the round. For a refused
	// Service, they keep its current state.
	Steps []PreviewStep
	// Notes are the events besides.
	Notes []PreviewNote
	// Refusal is set if the Service is refused.
	Refusal *Refusal
	// Before is the published address or host name, After the predicted one: "" if there is none,
	// or OpenStack chooses it.
	Before, After string
	Address       AddressChange
	// Status is the predicted status; nil if none is published. An address that OpenStack chooses
	// is empty in it.
	Status *v1.LoadBalancerStatus
}

// PreviewStep is a change in the cloud.
type PreviewStep struct {
	Action Action `json:"action"`
	// Text is the line in the log and in events, such as "listener TCP/443: allowed_cidrs [] →
	// [10.0.0.0/8]".
	Text string `json:"text"`
	// Writes is the minimum number of writing requests: one, except for security groups, VIPs of provider router, and port
	// forwardings.
	Writes int `json:"writes"`
	// Pending is set if the load balancer is PENDING until the provider has done the step.
	Pending bool `json:"pending"`
	// Pauses names the traffic that the step interrupts, "" for none.
	Pauses string `json:"pauses,omitempty"`
}

// Action is the kind of a change.
type Action string

// The kinds of changes.
const (
	Adds    Action = "add"
	Changes Action = "change"
	Removes Action = "remove"
)

// PreviewNote is an event that the round would emit: settings without effect, deviations that stay,
// choices of OpenStack.
type PreviewNote struct {
	Reason reason.Reason `json:"reason"`
	Text   string        `json:"text"`
}

// Refusal is the reason why a Service does not get its desired state.
type Refusal struct {
	// Reason is one of refusal.Reasons, or ReasonInError.
	Reason string `json:"reason"`
	// Text is the error that the service controller would report. It includes the consequence for
	// the load balancer of the Service.
	Text string `json:"text"`
	// Kept is set if the Service keeps a load balancer. Stuck is the reason why that cannot follow
	// the nodes; "" if it can.
	Kept  bool   `json:"kept"`
	Stuck string `json:"stuck,omitempty"`
}

// ReasonInError is the reason of a Refusal if the load balancer is in ERROR, and no step of the
// controller can repair it. It is not in refusal.Reasons, because it is retried like any error.
const ReasonInError = "in_error"

// AddressChange is the predicted change of a Service's address.
type AddressChange string

// The changes of an address.
const (
	AddressNone    AddressChange = "none" // before and after
	AddressKept    AddressChange = "kept"
	AddressNew     AddressChange = "new" // the first one
	AddressChanges AddressChange = "changes"
	AddressGoes    AddressChange = "goes"
)

// Writes returns the minimum number of writing requests.
func (p Preview) Writes() int {
	writes := 0
	for _, step := range p.Steps {
		writes += step.Writes
	}
	return writes
}

// LoadBalancerChanges returns the number of changes of load balancers, each of which is a PENDING
// cycle.
func (p Preview) LoadBalancerChanges() int {
	changes := 0
	for _, step := range p.Steps {
		if step.Pending {
			changes++
		}
	}
	return changes
}

// Preview predicts a round for a Service: Ensure if it shall have a load balancer of this
// controller, else Delete. It sends no writing request to OpenStack, emits no event, and runs the
// code of a round to its end: if a step depends on the result of an earlier one, that result is
// assumed to be as requested.
//
// It cannot predict choices of OpenStack (IDs, addresses, the subnet of a VIP in a network with
// several) and its refusals (quotas, policies), which a round handles. Like a round, it waits for a
// load balancer that is PENDING, until the context ends.
//
// The error is one of OpenStack, or of the context: the result is unknown then. A refusal of the
// Service is not an error.
//
// If there is nothing to do, the observed state is stored like after a round: the next Preview of
// the same Service sends no request, and WatchDrift reports the Service after a change. Otherwise
// the Service is only counted for max-services-per-namespace. Therefore a Reconciler does either
// rounds or previews of a Service. Preview is safe for concurrent use.
func (r *Reconciler) Preview(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (Preview, error) {
	dry, noted := r.rounds.rehearsing(svc)
	req := dispatch.Request{Operation: dispatch.Delete, Service: svc, Nodes: nodes, MayCreate: always}
	if dispatch.Wanted(svc) {
		req.Operation = dispatch.Ensure
	}
	recorded := r.engine().Memory.HasServed(svc.UID) || r.store.Get(svc.UID).Applied != nil
	_, dryRound := dry.begin(ctx, req)
	status, err := dryRound.Step(ctx)
	if noted.joins(svc, err) {
		status, err = &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{}}}, nil
	}
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
		_ = r.store.Count(settings.OwnerOf(svc), 0) // no limit, no error
	}
	return p, nil
}

// refusalOf returns the refusal in the error of a round; nil for none.
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

// setAddress sets Before, After and Address.
func (p *Preview) setAddress(svc *v1.Service) {
	p.Before = published(&svc.Status.LoadBalancer)
	switch {
	case p.Refusal != nil && p.Status == nil: // the published address stays
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

// published returns the address or host name in a status; "" if there is none, or it is unknown.
func published(status *v1.LoadBalancerStatus) string {
	for _, ingress := range status.Ingress {
		switch {
		case ingress.IP != "":
			return ingress.IP
		case ingress.Hostname != "" && !strings.HasPrefix(ingress.Hostname, "."): // a leading dot: it contains an unknown address
			return ingress.Hostname
		}
	}
	return ""
}
