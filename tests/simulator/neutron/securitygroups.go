package neutron

import "slices"

// CreateSecurityGroup creates a group with Neutron's two egress rules. Errors
// are *Error (quota).
func (n *Neutron) CreateSecurityGroup(spec SecurityGroupSpec) (SecurityGroup, error) {
	n.lock()
	defer n.unlock()
	record, err := n.createSecurityGroup(spec)
	if err != nil {
		return SecurityGroup{}, err
	}
	return record.view(), nil
}

// DeleteSecurityGroup deletes a group; ports that use it refuse with 409.
func (n *Neutron) DeleteSecurityGroup(id string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.securityGroups.get(id)
	if !ok {
		return securityGroupNotFound(id)
	}
	return n.dropSecurityGroup(record)
}

// SecurityGroups lists all groups in the order they were made.
func (n *Neutron) SecurityGroups() []SecurityGroup {
	n.lock()
	defer n.unlock()
	return views(n.securityGroups.all(), (*securityGroup).view)
}

func (n *Neutron) createSecurityGroup(spec SecurityGroupSpec) (*securityGroup, error) {
	n.defaultGroup(spec.ProjectID)
	if err := n.checkQuota("security_group", spec.ProjectID, 1); err != nil {
		return nil, err
	}
	return n.storeGroup(spec), nil
}

// defaultGroup returns a project's group "default", which Neutron makes when
// the project first uses the network service.
func (n *Neutron) defaultGroup(projectID string) *securityGroup {
	for _, group := range n.securityGroups.all() {
		if group.ProjectID == projectID && group.Name == "default" {
			return group
		}
	}
	group := n.storeGroup(SecurityGroupSpec{ProjectID: projectID, Name: "default", Description: "Default security group"})
	n.storeDefaultRules(group, "ingress", group.ID)
	return group
}

func (n *Neutron) storeGroup(spec SecurityGroupSpec) *securityGroup {
	group := &securityGroup{
		standard: n.newStandard("", spec.ProjectID, spec.Description, nil),
		Name:     spec.Name, Stateful: true,
	}
	n.securityGroups.put(group.ID, group)
	n.storeDefaultRules(group, "egress", "")
	return group
}

// storeDefaultRules adds the rule for both IP versions that a new group has.
// The rules are part of making the group: its revision is 1 after them.
func (n *Neutron) storeDefaultRules(group *securityGroup, direction, remoteGroupID string) {
	for _, etherType := range []string{"IPv4", "IPv6"} {
		n.storeRule(group, &securityGroupRule{
			standard:  n.newStandard("", group.ProjectID, "", nil),
			Direction: direction, EtherType: etherType, RemoteGroupID: pointerTo(remoteGroupID), SecurityGroupID: group.ID,
		})
	}
	group.RevisionNumber = 1
}

func (n *Neutron) dropSecurityGroup(record *securityGroup) error {
	if record.Name == "default" {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, user := range n.ports.all() {
		if slices.Contains(user.SecurityGroups, record.ID) {
			return conflict("SecurityGroupInUse", "Security Group %s in use.", record.ID)
		}
	}
	n.securityGroups.remove(record.ID)
	n.changed = true
	n.dropRulesTo(record.ID)
	return nil
}

func (r *securityGroup) view() SecurityGroup {
	return SecurityGroup{
		ID: r.ID, ProjectID: r.ProjectID, Name: r.Name, Description: r.Description,
		Rules: views(r.Rules, (*securityGroupRule).view), Tags: slices.Clone(r.Tags),
	}
}

// dropRulesTo removes the rules of other groups with a deleted group as their remote.
func (n *Neutron) dropRulesTo(remoteGroupID string) {
	for _, group := range n.securityGroups.all() {
		for _, rule := range group.Rules {
			if valueOf(rule.RemoteGroupID) == remoteGroupID {
				n.dropRule(rule)
			}
		}
	}
}
