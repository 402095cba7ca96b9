package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// rehearsal records the changes and events of a Preview in place of writing them.
type rehearsal struct {
	steps []PreviewStep
	notes []PreviewNote
	// serves is set if the Service has a published address.
	serves bool
	// adopted is set if another controller has created the load balancer.
	adopted bool
}

// rehearsing returns rounds with the same stages that write nothing, and have a copy of the Service's state.
func (r *rounds) rehearsing(svc *v1.Service) (*rounds, *rehearsal) {
	noted := &rehearsal{serves: len(svc.Status.LoadBalancer.Ingress) > 0}
	dry := *r
	dry.services = &services{store: r.store.Fork(svc.UID)}
	dry.groups = r.groups.With(state.SecurityGroups{Store: dry.store})
	dry.conditions = new(conditionReporter) // they report actual states only
	dry.engines.Store(r.engine().Rehearsing(goal.Rehearsal{
		Applier: &apply.Rehearsal{Applier: r.applier, Note: noted.changes},
		Groups:  rehearsedGroups{dry.groups, noted},
		Store:   dry.store,
		Events:  events.New(noted, unsent{}),
	}))
	return &dry, noted
}

// changes records the steps of a plan.
func (r *rehearsal) changes(steps []plan.Step, writes []int, before model.Observed) {
	pauses := plan.Pauses(steps, before)
	r.adopted = r.adopted || before.LoadBalancer != nil && before.LoadBalancer.Adopted
	for i, step := range steps {
		noted := PreviewStep{Text: step.String(), Action: actionOf(step), Writes: writes[i], Pending: plan.ChangesLoadBalancer(step)}
		if r.serves {
			noted.Pauses = pauses[i]
		}
		r.steps = append(r.steps, noted)
	}
}

// groupSteps records steps of security groups, each once: the next read still shows the groups
// without them.
func (r *rehearsal) groupSteps(steps []securitygroup.Step) {
	for _, step := range steps {
		noted := PreviewStep{Text: step.String(), Action: groupActionOf(step), Writes: securitygroup.Writes(step)}
		if !slices.Contains(r.steps, noted) {
			r.steps = append(r.steps, noted)
		}
	}
}

// joins records the step of a Service that joins a load balancer that does not exist yet: a listener
// and a pool for each port. It returns false if the error of the rehearsal has another reason.
func (r *rehearsal) joins(svc *v1.Service, err error) bool {
	var waits *goal.WaitsError
	if !errors.As(err, &waits) {
		return false
	}
	r.steps = append(r.steps, PreviewStep{
		Action: Adds, Text: fmt.Sprintf("a listener and a pool for each port: %v", waits), Writes: 2 * len(svc.Spec.Ports), Pending: true,
	})
	return true
}

// actionOf returns the kind of a step.
func actionOf(step plan.Step) Action {
	switch s := step.(type) {
	case plan.CreateLoadBalancer, plan.CreateVIP, plan.CreateListener, plan.CreatePool, plan.AddMember, plan.CreateMonitor, plan.CreateFloatingIP:
		return Adds
	case plan.DeleteLoadBalancer, plan.DeleteVIP, plan.DeleteListener, plan.DeletePool, plan.RemoveMember, plan.DeleteMonitor, plan.DeleteFloatingIP:
		return Removes
	case plan.SetForwardings:
		switch {
		case len(s.From) == 0:
			return Adds
		case len(s.To) == 0:
			return Removes
		}
	case plan.SetMembers:
		switch {
		case s.Added.Len() > 0 && s.Removed.Len()+s.Changed.Len() == 0:
			return Adds
		case s.Removed.Len() > 0 && s.Added.Len()+s.Changed.Len() == 0:
			return Removes
		}
	}
	return Changes
}

// groupActionOf returns the kind of a step of security groups.
func groupActionOf(step securitygroup.Step) Action {
	switch step.(type) {
	case securitygroup.CreateGroup, securitygroup.AddRules, securitygroup.JoinPorts:
		return Adds
	case securitygroup.DeleteRules, securitygroup.LeavePorts, securitygroup.DeleteGroup, securitygroup.LeaveShared:
		return Removes
	}
	return Changes
}

// Event implements record.EventRecorder. It drops events that repeat the steps and the address.
func (r *rehearsal) Event(_ runtime.Object, _, why, message string) {
	if slices.Contains([]reason.Reason{reason.Changing, reason.Ready, reason.AddressChanged}, reason.Reason(why)) {
		return
	}
	if note := (PreviewNote{Reason: reason.Reason(why), Text: message}); !slices.Contains(r.notes, note) {
		r.notes = append(r.notes, note)
	}
}

// Eventf implements record.EventRecorder.
func (r *rehearsal) Eventf(object runtime.Object, eventtype, why, format string, args ...any) {
	r.Event(object, eventtype, why, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *rehearsal) AnnotatedEventf(object runtime.Object, _ map[string]string, eventtype, why, format string, args ...any) {
	r.Event(object, eventtype, why, fmt.Sprintf(format, args...))
}

// unsent is an events.Memory without earlier events. A Preview has the Service's place in other
// fields.
type unsent struct{}

// Warn implements events.Memory.
func (unsent) Warn(_ types.UID, _, text string) bool { return text != "" }

// Announce implements events.Memory.
func (unsent) Announce(types.UID, string, string) bool { return true }

// Place implements events.Memory.
func (unsent) Place(events.Object) (loadBalancerID, address string) { return "", "" }

// rehearsedGroups are the security groups of nodes in a rehearsal.
type rehearsedGroups struct {
	*securitygroup.Groups
	to *rehearsal
}

// Open implements goal.NodeGroups.
func (g rehearsedGroups) Open(_ context.Context, t *securitygroup.Task) error {
	g.to.groupSteps(t.Plan.Open)
	g.Suppose(t, t.Plan.Open)
	t.Plan.Open = nil
	return nil
}

// Close implements goal.NodeGroups. It stores the state, as after a round.
func (g rehearsedGroups) Close(ctx context.Context, t *securitygroup.Task) error {
	g.to.groupSteps(t.Plan.Close)
	g.Suppose(t, t.Plan.Close)
	t.Plan.Close = nil
	return g.Groups.Close(ctx, t)
}

// Remove implements goal.NodeGroups.
func (g rehearsedGroups) Remove(ctx context.Context, id ownership.Identity) error {
	steps, err := g.Groups.Removal(ctx, id)
	g.to.groupSteps(steps)
	return err
}
