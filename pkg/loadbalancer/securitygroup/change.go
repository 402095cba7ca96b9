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

// change executes steps of a Task, and keeps its state as they leave it.
type change struct {
	*common
	*Task
}

// send executes one step, and logs it.
func (c change) send(ctx context.Context, step Step) (err error) {
	ctx, end := telemetry.Step(ctx, c.clock, message.Truncate(step.String(), message.MaxEvent))
	defer func() { end(err, "securityGroup", c.groupOf(step)) }()
	return c.do(ctx, step)
}

func (c change) groupOf(step Step) string {
	switch s := step.(type) {
	case DeleteGroup:
		return s.ID
	case LeaveShared:
		return s.ID
	}
	return c.state.GroupID
}

func (c change) do(ctx context.Context, step Step) error {
	switch s := step.(type) {
	case CreateGroup:
		return c.createGroup(ctx, s)
	case TagGroup:
		if err := c.neutron.TagSecurityGroup(ctx, c.state.GroupID, s.Tags); err != nil {
			return err
		}
		c.state.Untagged = false
		return nil
	case AddRules:
		return c.addRules(ctx)
	case DeleteRules:
		return c.deleteRules(ctx, s.Rules)
	case JoinPorts:
		return c.changePorts(ctx, s.Ports, true)
	case LeavePorts:
		return c.changePorts(ctx, s.Ports, false)
	case DeleteGroup:
		if err := c.deleteGroup(ctx, s.ID); err != nil {
			return err
		}
		c.state.Obsolete = slices.DeleteFunc(slices.Clone(c.state.Obsolete), func(id string) bool { return id == s.ID })
		return nil
	case LeaveShared:
		if err := c.leaveShared(ctx, s.ID); err != nil {
			return err
		}
		c.state.ObsoleteRules = ""
		return nil
	}
	return fmt.Errorf("there is no code for the step %T: this is a bug of the controller, ask the cluster's operator to report it", step)
}

// createGroup creates the group of a Service. After a lost answer it first searches for it.
func (c change) createGroup(ctx context.Context, s CreateGroup) error {
	made, err := c.neutron.CreateSecurityGroup(ctx, s.Name, s.Description)
	if apierror.IsUnsure(err) {
		found, lookErr := c.neutron.SecurityGroupsNamed(ctx, s.Name)
		if found = owned(found, c.id); c.mode == PerService && lookErr == nil && len(found) > 0 {
			made, err = &found[0], nil
		}
	}
	if err != nil {
		return quota(err, "raise the project's quota of security groups, or set security-group-mode=shared in cloud.conf, which needs one for the whole cluster")
	}
	c.state.GroupID, c.state.Rules = made.ID, nil
	if err := c.neutron.TagSecurityGroup(ctx, made.ID, s.Tags); err != nil {
		return err
	}
	return c.deleteRules(ctx, heldRules(made.Rules)) // they allow all egress
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
func (c change) addRules(ctx context.Context) error {
	const tries = 3
	for try := 1; ; try++ {
		wanted := c.ruleOpts()
		if len(wanted) == 0 {
			return nil
		}
		made, err := c.neutron.CreateSecurityGroupRules(ctx, c.state.GroupID, wanted)
		if err == nil {
			c.state.Rules = slices.Concat(c.state.Rules, heldRules(made))
			return nil
		}
		if !apierror.IsRuleThere(err) || try == tries {
			return quota(err, "raise the project's quota of security group rules")
		}
		if err := c.readRules(ctx); err != nil {
			return err
		}
	}
}

func (c change) ruleOpts() []rules.CreateOpts {
	var opts []rules.CreateOpts
	add := func(wanted []Rule, description string) {
		for _, r := range missing(wanted, c.state.Rules) {
			opts = append(opts, rules.CreateOpts{
				Direction: rules.DirIngress, EtherType: rules.RuleEtherType(r.EtherType()), Protocol: rules.RuleProtocol(r.neutronProtocol()),
				PortRangeMin: r.Port, PortRangeMax: r.Port, RemoteIPPrefix: r.Prefix, Description: description,
			})
		}
	}
	own := ""
	if c.mode == Shared {
		own = c.id.RuleDescription()
	}
	add(c.desired.Own, own)
	add(c.desired.Common, ownership.CommonRuleDescription)
	return opts
}

// readRules reads all rules of the group. In a shared group, a wanted rule may exist with the
// description of another Service, which used the NodePort before and has not released it yet: it is
// deleted, because a rule's description cannot be changed.
func (c change) readRules(ctx context.Context) error {
	all, err := c.neutron.SecurityGroupRules(ctx, c.state.GroupID)
	if err != nil {
		return err
	}
	if c.mode == PerService {
		c.state.Rules = heldRules(all)
		return nil
	}
	c.state.Rules = nil
	for _, r := range all {
		h := held(r)
		switch h.Common = ownership.IsCommonRule(r.Description); {
		case h.Common, r.Description == c.id.RuleDescription():
			c.state.Rules = append(c.state.Rules, h)
		case h.Text == "" && (slices.Contains(c.desired.Own, h.Rule) || slices.Contains(c.desired.Common, h.Rule)):
			if err := c.neutron.DeleteSecurityGroupRule(ctx, r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c change) deleteRules(ctx context.Context, which []Held) error {
	for _, h := range which {
		if err := c.neutron.DeleteSecurityGroupRule(ctx, h.ID); err != nil {
			return err
		}
		c.state.Rules = slices.DeleteFunc(slices.Clone(c.state.Rules), func(o Held) bool { return o.ID == h.ID })
	}
	return nil
}

func (c change) changePorts(ctx context.Context, which []NodePort, member bool) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(portsAtOnce)
	for _, port := range which {
		group.Go(func() error {
			there, err := c.ports.change(ctx, port.ID, nil, c.state.GroupID, member, c.current)
			if err != nil {
				return err
			}
			if member {
				c.shared.use(c.state.GroupID, port.ID, there)
			}
			mu.Lock()
			defer mu.Unlock()
			c.state.Ports = with(c.state.Ports, port.ID, member && there)
			return nil
		})
	}
	return group.Wait()
}

// deleteGroup deletes a group that any ports use.
func (c change) deleteGroup(ctx context.Context, id string) error {
	if err := c.ports.deleteGroup(ctx, id); err != nil {
		return err
	}
	c.inventory.drop(id)
	return nil
}
