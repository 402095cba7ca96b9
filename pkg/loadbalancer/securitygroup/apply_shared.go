package securitygroup

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// holdShared creates the shared group if necessary, and prevents its deletion until release is
// called.
func (g *Groups) holdShared(ctx context.Context, t *Task) (release func(), err error) {
	for {
		if err := g.shared.find(ctx, t.id); err != nil {
			return nil, err
		}
		if err := g.makeShared(ctx, t); err != nil {
			return nil, err
		}
		release, err := g.shared.hold(ctx, together)
		if err != nil {
			return nil, err
		}
		id, ports := g.shared.snapshot()
		if id != "" && g.shared.found() {
			if id != t.state.GroupID {
				t.state.Rules = nil // those of a deleted group
			}
			t.state.GroupID, t.state.Ports = id, ports
			return release, nil
		}
		release() // its last Service has left meanwhile
	}
}

// makeShared creates the shared group without rules.
func (g *Groups) makeShared(ctx context.Context, t *Task) error {
	if g.shared.ready() {
		return nil // without waiting for its holders
	}
	release, err := g.shared.hold(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	if !g.shared.found() {
		return nil // search for it again first
	}
	g.shared.mu.Lock()
	id, stray, duplicates := g.shared.id, g.shared.stray, g.shared.duplicates
	g.shared.mu.Unlock()
	made := &Task{id: t.id, state: &State{GroupID: id}}
	if id != "" {
		return g.tidyShared(ctx, made, stray, duplicates)
	}
	d := t.desired
	if err := g.send(ctx, made, CreateGroup{d.Name, d.Description, d.Tags}); err != nil {
		g.shared.unset()
		return err
	}
	g.shared.set(made.state.GroupID, nil)
	return nil
}

// tidyShared deletes the remnants of an interrupted creation.
func (g *Groups) tidyShared(ctx context.Context, t *Task, stray []Held, duplicates []string) error {
	if len(stray) > 0 {
		if err := g.send(ctx, t, DeleteRules{Name: t.id.SharedGroupName(), Rules: stray}); err != nil {
			return err
		}
	}
	for _, id := range duplicates {
		if err := g.send(ctx, t, DeleteGroup{ID: id}); err != nil {
			return err
		}
	}
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	g.shared.stray, g.shared.duplicates = nil, nil
	return nil
}

// leaveShared deletes a Service's rules in the shared group, and the group if no other Service has
// rules there.
func (g *Groups) leaveShared(ctx context.Context, id ownership.Identity, groupID string) error {
	own, err := g.neutron.SecurityGroupRules(ctx, groupID, id.RuleDescription())
	if err != nil {
		return err
	}
	for _, r := range own {
		if err := g.neutron.DeleteSecurityGroupRule(ctx, r.ID); err != nil {
			return err
		}
	}
	release, err := g.shared.hold(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	used, err := inUse(ctx, g.neutron, groupID)
	if err != nil || used {
		return err
	}
	g.shared.unset()
	if err := g.deleteGroup(ctx, groupID); err != nil {
		return err
	}
	g.shared.set("", nil)
	return nil
}
