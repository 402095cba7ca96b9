package securitygroup

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Open executes the steps that must precede any traffic of the load balancer. After an error the
// cloud is read again.
func (g *Groups) Open(ctx context.Context, t *Task) error {
	steps := t.Plan.Open
	if g.mode == Shared && t.desired != nil && len(steps) > 0 {
		release, err := g.holdShared(ctx, t)
		if err != nil {
			return err
		}
		defer release()
		t.Plan.Open = Diff(t.desired, *t.state).Open // another client may have done a part of it
	}
	err := g.run(ctx, t, t.Plan.Open)
	t.Plan.Open = nil
	return err
}

// Close executes the steps that must wait until the load balancer sends no more traffic there, and
// then records the state.
func (g *Groups) Close(ctx context.Context, t *Task) error {
	if err := g.run(ctx, t, t.Plan.Close); err != nil {
		return err
	}
	t.Plan.Close = nil
	g.keep(t.id.ServiceUID, *t.state, true)
	return nil
}

// Remove removes all objects of a Service, first from the ports.
func (g *Groups) Remove(ctx context.Context, id ownership.Identity) error {
	s, err := g.remains(ctx, id)
	if err != nil {
		return err
	}
	err = g.run(ctx, &Task{id: id, state: s}, Diff(nil, *s).Close)
	g.Forget(id.ServiceUID)
	return err
}

// Removal returns the steps of Remove. It writes nothing.
func (g *Groups) Removal(ctx context.Context, id ownership.Identity) ([]Step, error) {
	s, err := g.remains(ctx, id)
	if err != nil {
		return nil, err
	}
	return Diff(nil, *s).Close, nil
}

func (g *Groups) run(ctx context.Context, t *Task, steps []Step) error {
	if len(steps) == 0 {
		return nil
	}
	g.Forget(t.id.ServiceUID) // until all of it is done
	for _, step := range steps {
		if err := g.send(ctx, t, step); err != nil {
			if g.mode == Shared {
				g.shared.unset()
			}
			return err
		}
	}
	g.keep(t.id.ServiceUID, *t.state, false)
	return nil
}

// send executes one step, and logs it.
func (g *Groups) send(ctx context.Context, t *Task, step Step) (err error) {
	ctx, end := telemetry.Step(ctx, g.clock, message.Truncate(step.String(), message.MaxEvent))
	defer func() { end(err, "securityGroup", groupOf(step, t)) }()
	return g.do(ctx, t, step)
}

func groupOf(step Step, t *Task) string {
	switch s := step.(type) {
	case DeleteGroup:
		return s.ID
	case LeaveShared:
		return s.ID
	}
	return t.state.GroupID
}

func (g *Groups) do(ctx context.Context, t *Task, step Step) error {
	switch s := step.(type) {
	case CreateGroup:
		return g.createGroup(ctx, t, s)
	case TagGroup:
		if err := g.neutron.TagSecurityGroup(ctx, t.state.GroupID, s.Tags); err != nil {
			return err
		}
		t.state.Untagged = false
		return nil
	case AddRules:
		return g.addRules(ctx, t)
	case DeleteRules:
		return g.deleteRules(ctx, t, s.Rules)
	case JoinPorts:
		return g.changePorts(ctx, t, s.Ports, true)
	case LeavePorts:
		return g.changePorts(ctx, t, s.Ports, false)
	case DeleteGroup:
		if err := g.deleteGroup(ctx, s.ID); err != nil {
			return err
		}
		t.state.Obsolete = slices.DeleteFunc(slices.Clone(t.state.Obsolete), func(id string) bool { return id == s.ID })
		return nil
	case LeaveShared:
		if err := g.leaveShared(ctx, t.id, s.ID); err != nil {
			return err
		}
		t.state.ObsoleteRules = ""
		return nil
	}
	return fmt.Errorf("there is no code for the step %T: this is a bug of the controller, ask the cluster's operator to report it", step)
}

// createGroup creates the group of a Service. After a lost answer it first searches for it.
func (g *Groups) createGroup(ctx context.Context, t *Task, s CreateGroup) error {
	made, err := g.neutron.CreateSecurityGroup(ctx, s.Name, s.Description)
	if apierror.IsUnsure(err) {
		found, lookErr := g.neutron.SecurityGroupsNamed(ctx, s.Name)
		if found = owned(found, t.id); g.mode == PerService && lookErr == nil && len(found) > 0 {
			made, err = &found[0], nil
		}
	}
	if err != nil {
		return quota(err, "raise the project's quota of security groups, or set security-group-mode=shared in cloud.conf, which needs one for the whole cluster")
	}
	t.state.GroupID, t.state.Rules = made.ID, nil
	if err := g.neutron.TagSecurityGroup(ctx, made.ID, s.Tags); err != nil {
		return err
	}
	return g.deleteRules(ctx, t, heldRules(made.Rules)) // they allow all egress
}

// quota adds the remedy to an error about an exhausted quota.
func quota(err error, help string) error {
	if apierror.IsQuota(err) {
		return fmt.Errorf("%w: %s", err, help)
	}
	return err
}

// addRules adds the missing rules in one request. Neutron refuses all of them if one exists
// already: then the existing rules are read and the others added.
func (g *Groups) addRules(ctx context.Context, t *Task) error {
	const tries = 3
	for try := 1; ; try++ {
		wanted := g.ruleOpts(t)
		if len(wanted) == 0 {
			return nil
		}
		made, err := g.neutron.CreateSecurityGroupRules(ctx, t.state.GroupID, wanted)
		if err == nil {
			t.state.Rules = slices.Concat(t.state.Rules, heldRules(made))
			return nil
		}
		if !apierror.IsRuleThere(err) || try == tries {
			return quota(err, "raise the project's quota of security group rules")
		}
		if err := g.readRules(ctx, t); err != nil {
			return err
		}
	}
}

func (g *Groups) ruleOpts(t *Task) []rules.CreateOpts {
	var opts []rules.CreateOpts
	add := func(wanted []Rule, description string) {
		for _, r := range missing(wanted, t.state.Rules) {
			opts = append(opts, rules.CreateOpts{
				Direction: rules.DirIngress, EtherType: rules.RuleEtherType(r.EtherType()), Protocol: rules.RuleProtocol(r.neutronProtocol()),
				PortRangeMin: r.Port, PortRangeMax: r.Port, RemoteIPPrefix: r.Prefix, Description: description,
			})
		}
	}
	own := ""
	if g.mode == Shared {
		own = t.id.RuleDescription()
	}
	add(t.desired.Own, own)
	add(t.desired.Common, ownership.CommonRuleDescription)
	return opts
}

// readRules reads all rules of the group. In a shared group, a wanted rule may exist with the
// description of another Service, which used the NodePort before and has not released it yet: it is
// deleted, because a rule's description cannot be changed.
func (g *Groups) readRules(ctx context.Context, t *Task) error {
	all, err := g.neutron.SecurityGroupRules(ctx, t.state.GroupID)
	if err != nil {
		return err
	}
	if g.mode == PerService {
		t.state.Rules = heldRules(all)
		return nil
	}
	t.state.Rules = nil
	for _, r := range all {
		h := held(r)
		switch h.Common = ownership.IsCommonRule(r.Description); {
		case h.Common, r.Description == t.id.RuleDescription():
			t.state.Rules = append(t.state.Rules, h)
		case h.Text == "" && (slices.Contains(t.desired.Own, h.Rule) || slices.Contains(t.desired.Common, h.Rule)):
			if err := g.neutron.DeleteSecurityGroupRule(ctx, r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Groups) deleteRules(ctx context.Context, t *Task, which []Held) error {
	for _, h := range which {
		if err := g.neutron.DeleteSecurityGroupRule(ctx, h.ID); err != nil {
			return err
		}
		t.state.Rules = slices.DeleteFunc(slices.Clone(t.state.Rules), func(o Held) bool { return o.ID == h.ID })
	}
	return nil
}

func (g *Groups) changePorts(ctx context.Context, t *Task, which []NodePort, member bool) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(portsAtOnce)
	for _, port := range which {
		group.Go(func() error {
			there, err := g.ports.change(ctx, port.ID, nil, t.state.GroupID, member, t.current)
			if err != nil {
				return err
			}
			if member {
				g.shared.use(t.state.GroupID, port.ID, there)
			}
			mu.Lock()
			defer mu.Unlock()
			t.state.Ports = with(t.state.Ports, port.ID, member && there)
			return nil
		})
	}
	return group.Wait()
}

// deleteGroup deletes a group that any ports use.
func (g *Groups) deleteGroup(ctx context.Context, id string) error {
	if err := g.ports.deleteGroup(ctx, id); err != nil {
		return err
	}
	g.inventory.drop(id)
	return nil
}
