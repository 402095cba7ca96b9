package neutron

// storeRule adds a rule that is known to be valid and new.
func (n *Neutron) storeRule(group *securityGroup, rule SecurityGroupRule) *securityGroupRule {
	record := &securityGroupRule{
		standard:  n.newStandard("", group.ProjectID, rule.Description, nil),
		Direction: rule.Direction, EtherType: rule.EtherType, Protocol: pointerTo(rule.Protocol),
		PortRangeMin: pointerTo(rule.PortRangeMin), PortRangeMax: pointerTo(rule.PortRangeMax),
		RemoteGroupID: pointerTo(rule.RemoteGroupID), RemoteIPPrefix: pointerTo(rule.RemoteIPPrefix),
		SecurityGroupID: group.ID,
	}
	group.Rules = append(group.Rules, record)
	n.bump(&group.standard)
	return record
}

func (r *securityGroupRule) view() SecurityGroupRule {
	return SecurityGroupRule{
		ID: r.ID, SecurityGroupID: r.SecurityGroupID, ProjectID: r.ProjectID,
		Direction: r.Direction, EtherType: r.EtherType, Protocol: valueOf(r.Protocol),
		PortRangeMin: valueOf(r.PortRangeMin), PortRangeMax: valueOf(r.PortRangeMax),
		RemoteIPPrefix: valueOf(r.RemoteIPPrefix), RemoteGroupID: valueOf(r.RemoteGroupID), Description: r.Description,
	}
}
