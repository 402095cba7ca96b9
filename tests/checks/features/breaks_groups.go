package features

// groupBreaks returns the breaks of the security groups of nodes.
func groupBreaks() []Break {
	return []Break{
		{
			Row: 85, What: "ports of removed nodes keep the security group",
			File:  "pkg/loadbalancer/securitygroup/plan.go",
			Old:   `p.Close = append(p.Close, LeavePorts{d.Name, leave})`,
			New:   `p.Close = append(p.Close, JoinPorts{d.Name, leave})`,
			Tests: []string{"TestSecurityGroups_CostOnePortChangeWhenNodeComesOrGoes"},
		},
		{
			Row: 86, What: "security groups of a port are written without a revision check",
			File:  "pkg/openstack/neutron/port.go",
			Old:   `SecurityGroups: &groupIDs, RevisionNumber: port.Revision`,
			New:   `SecurityGroups: &groupIDs`,
			Tests: []string{"TestSecurityGroups_LeaveGroupsOfOthersOnPorts"},
		},
		{
			Row: 86, What: "a Service removes rules that other Services share",
			File:  "pkg/loadbalancer/securitygroup/plan.go",
			Old:   `h.Common || h.Text == "" &&`,
			New:   `h.Common && h.Text == "" &&`,
			Tests: []string{"TestSecurityGroups_SharedTakeRulesOfAllServices"},
		},
		{
			Row: 87, What: "security groups of the nodes are not managed",
			File:  "pkg/loadbalancer/goal/securitygroups.go",
			Old:   `if !managesGroups(in) {`,
			New:   `if true {`,
			Tests: []string{"TestSecurityGroups_PerServiceAreOnPortsOfItsNodes"},
		},
	}
}
