package features

// groupBreaks are those of the security groups of nodes.
func groupBreaks() []Break {
	return []Break{
		{
			Row: 85, What: "the group stays on their ports",
			File:  "pkg/loadbalancer/securitygroup/plan.go",
			Old:   `p.Close = append(p.Close, LeavePorts{d.Name, leave})`,
			New:   `p.Close = append(p.Close, JoinPorts{d.Name, leave})`,
			Tests: []string{"TestSecurityGroups_CostOnePortChangeWhenNodeComesOrGoes"},
		},
		{
			Row: 86, What: "the groups of a port are written whatever has become of it",
			File:  "pkg/openstack/neutron/securitygroup.go",
			Old:   `SecurityGroups: &groupIDs, RevisionNumber: port.Revision`,
			New:   `SecurityGroups: &groupIDs`,
			Tests: []string{"TestSecurityGroups_LeaveGroupsOfOthersOnPorts"},
		},
		{
			Row: 86, What: "each Service takes the whole group along",
			File:  "pkg/loadbalancer/securitygroup/plan.go",
			Old:   `h.Common || h.Text == "" &&`,
			New:   `h.Common && h.Text == "" &&`,
			Tests: []string{"TestSecurityGroups_SharedTakeRulesOfAllServices"},
		},
		{
			Row: 87, What: "they are not managed",
			File:  "pkg/loadbalancer/goal/securitygroups.go",
			Old:   `if !managesGroups(in) {`,
			New:   `if true {`,
			Tests: []string{"TestSecurityGroups_PerServiceAreOnPortsOfItsNodes"},
		},
	}
}
