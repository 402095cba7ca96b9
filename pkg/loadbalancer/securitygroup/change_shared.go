package securitygroup

import "context"

// holdShared creates the shared group if necessary, and prevents its deletion until release is
// called.
func (c change) holdShared(ctx context.Context) (release func(), err error) {
	for {
		if err := c.shared.find(ctx, c.id); err != nil {
			return nil, err
		}
		if err := c.makeShared(ctx); err != nil {
			return nil, err
		}
		release, err := c.shared.hold(ctx, together)
		if err != nil {
			return nil, err
		}
		id, ports := c.shared.snapshot()
		if id != "" && c.shared.found() {
			if id != c.state.GroupID {
				c.state.Rules = nil // those of a deleted group
			}
			c.state.GroupID, c.state.Ports = id, ports
			return release, nil
		}
		release() // its last Service has left meanwhile
	}
}

// makeShared creates the shared group without rules.
func (c change) makeShared(ctx context.Context) error {
	if c.shared.ready() {
		return nil // without waiting for its holders
	}
	release, err := c.shared.hold(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	if !c.shared.found() {
		return nil // search for it again first
	}
	c.shared.mu.Lock()
	id, left := c.shared.id, c.shared.remnants
	c.shared.mu.Unlock()
	made := change{c.common, &Task{id: c.id, state: &State{GroupID: id}}}
	d := c.desired
	if id != "" {
		return made.tidyShared(ctx, left, d.Tags)
	}
	if err := made.send(ctx, CreateGroup{d.Name, d.Description, d.Tags}); err != nil {
		c.shared.unset()
		return err
	}
	c.shared.set(made.state.GroupID, nil)
	return nil
}

// tidyShared completes an interrupted creation, and deletes its remnants.
func (c change) tidyShared(ctx context.Context, left remnants, tags []string) error {
	name := c.id.SharedGroup().Name
	if left.untagged {
		if err := c.send(ctx, TagGroup{Name: name, Tags: tags}); err != nil {
			return err
		}
	}
	if len(left.stray) > 0 {
		if err := c.send(ctx, DeleteRules{Name: name, Rules: left.stray}); err != nil {
			return err
		}
	}
	for _, id := range left.duplicates {
		if err := c.send(ctx, DeleteGroup{ID: id}); err != nil {
			return err
		}
	}
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	c.shared.remnants = remnants{}
	return nil
}

// leaveShared deletes a Service's rules in the shared group, and the group if no other Service has
// rules there.
func (c change) leaveShared(ctx context.Context, groupID string) error {
	own, err := c.neutron.SecurityGroupRules(ctx, groupID, c.id.RuleDescription())
	if err != nil {
		return err
	}
	for _, r := range own {
		if err := c.neutron.DeleteSecurityGroupRule(ctx, r.ID); err != nil {
			return err
		}
	}
	release, err := c.shared.hold(ctx, alone)
	if err != nil {
		return err
	}
	defer release()
	used, err := inUse(ctx, c.neutron, groupID)
	if err != nil || used {
		return err
	}
	c.shared.unset()
	if err := c.deleteGroup(ctx, groupID); err != nil {
		return err
	}
	c.shared.set("", nil)
	return nil
}
