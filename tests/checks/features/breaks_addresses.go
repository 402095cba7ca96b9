package features

// addressBreaks returns the breaks of floating IPs and VIPs.
func addressBreaks() []Break {
	const desire, settings, plan = "pkg/loadbalancer/spec/desire/", "pkg/loadbalancer/spec/settings/", "pkg/loadbalancer/plan/"
	return []Break{
		{
			Row: 101, What: "no event reports a new load balancer",
			File:  "pkg/loadbalancer/events/recorder.go",
			Old:   `	vip := ""`,
			New:   `	vip := ""; if true { return }`,
			Tests: []string{"TestEnsure_ReportsNewLoadBalancerWithAddressOnce"},
		},
		{
			Row: 17, What: "no floating IP is created",
			File:  plan + "floatingip.go",
			Old:   `steps = append(steps, CreateFloatingIP{FloatingIP: *want})`,
			New:   `steps = append(steps)`,
			Tests: []string{"TestFloatingIP_ComesFromFoundExternalNetworkAndReportsChoiceOnce", "TestEnsure_CreatesWithOneLoadBalancerPostAndOneFloatingIPPost"},
		},
		{
			Row: 18, What: "loadBalancerIP does not select the floating IP",
			File:  settings + "floating.go",
			Old:   `return model.FloatingIP{Address: s.LoadBalancerIP},`,
			New:   `return model.FloatingIP{},`,
			Tests: []string{"TestFloatingIP_NamedByServiceIsUsedAndOutlivesIt"},
		},
		{
			Row: 19, What: "the annotation for the floating IP's ID is ignored",
			File:  settings + "floating.go",
			Old:   `return model.FloatingIP{ID: s.Floating.ID},`,
			New:   `return model.FloatingIP{},`,
			Tests: []string{"TestFloatingIP_NamedByServiceIsUsedAndOutlivesIt"},
		},
		{
			Row: 19, What: "the annotation for the floating IP's tag is ignored",
			File:  settings + "floating.go",
			Old:   `return model.FloatingIP{Tag: s.Floating.Tag},`,
			New:   `return model.FloatingIP{},`,
			Tests: []string{"TestFloatingIP_NamedByServiceIsUsedAndOutlivesIt"},
		},
		{
			Row: 20, What: "a request for another floating IP is ignored while one is attached",
			File:  plan + "floatingip.go",
			Old:   `	if fits(want, attached) {`,
			New:   `	if attached != nil {`,
			Tests: []string{"TestFloatingIP_NamedByServiceIsUsedAndOutlivesIt"},
		},
		{
			Row: 21, What: "a floating IP to keep is deleted with its Service",
			File:  plan + "delete.go",
			Old:   `!fip.Owned || opts.KeepFloatingIP {`,
			New:   `!lb.FloatingIP.Owned {`,
			Tests: []string{"TestFloatingIP_KeptIsFoundAgainByServiceOfSameName"},
		},
		{
			Row: 22, What: "floating IPs of other Services count as the Service's own",
			File:  "pkg/loadbalancer/ownership/identity.go",
			Old:   `return false // there can be thousands of others, and regular expressions are slow`,
			New:   `return proof.MatchString(description)`,
			Tests: []string{"TestFloatingIP_KeptIsNotDeletedWithNextServiceThatUsesIt"},
		},
		{
			Row: 23, What: "patterns and tags do not select the subnet of the floating IP",
			File:  settings + "floating.go",
			Old:   `return f.SubnetID == "" && (f.Pattern != "" || f.Tags != "")`,
			New:   `return false`,
			Tests: []string{"TestFloatingIP_ComesFromSubnetsThatFit"},
		},
		{
			Row: 25, What: "a load balancer that becomes internal keeps its floating IP",
			File:  plan + "floatingip.go",
			Old:   `case attached == nil || opts.foreign(*attached):`,
			New:   `case true:`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers"},
		},
		{
			Row: 25, What: "internal load balancers get a floating IP",
			File:  settings + "floating.go",
			Old:   `return !s.Internal && s.Family`,
			New:   `return s.Family`,
			Tests: []string{"TestVIP_IsPublishedWithoutFloatingIPForInternalService"},
		},
		{
			Row: 26, What: "loadBalancerIP does not set the address of the VIP",
			File:  desire + "desire.go",
			Old:   `cmp.Or(v.Address, s.LoadBalancerIP)`,
			New:   `v.Address`,
			Tests: []string{"TestVIP_HasAddressThatServiceAsksForUnlessInUse"},
		},
		{
			Row: 27, What: "the annotation for the VIP's port is ignored",
			File:  desire + "desire.go",
			Old:   `PortID: s.VIP.PortID, `,
			New:   ``,
			Tests: []string{"TestVIP_UsesNamedPortWhichOutlivesService"},
		},
		{
			Row: 28, What: "security groups and QoS policy of the VIP are not set",
			File:  desire + "desire.go",
			Old:   `, VIPSettings: s.VIP.VIPSettings,`,
			New:   `,`,
			Tests: []string{"TestVIP_ChangesQoSPolicyAndSecurityGroupsInPlace", "TestVIP_ChangesWithOneRequest"},
		},
		{
			Row: 30, What: "members of an IPv4 Service get IPv6 addresses",
			File:  "pkg/loadbalancer/spec/members/members.go",
			Old:   `settings.InFamily(address, wanted)`,
			New:   `settings.InFamily(address, v1.IPv6Protocol)`,
			Tests: []string{"TestEnsure_ServesInternalAndIPv6ServicesWithoutWarning"},
		},
		{
			Row: 31, What: "members of an IPv6 Service get IPv4 addresses",
			File:  "pkg/loadbalancer/spec/members/members.go",
			Old:   `settings.InFamily(address, wanted)`,
			New:   `settings.InFamily(address, v1.IPv4Protocol)`,
			Tests: []string{"TestEnsure_ServesInternalAndIPv6ServicesWithoutWarning"},
		},
		{
			Row: 24, What: "the external network is not discovered",
			File:  "pkg/loadbalancer/octavia/lookup/floating.go",
			Old:   `return r.anyExternal(ctx, s, vip, facts)`,
			New:   `return nil, nil`,
			Tests: []string{"TestFloatingIP_ComesFromFoundExternalNetworkAndReportsChoiceOnce", "TestVIP_ServesWhenCloudHasNoFloatingIPs"},
		},
	}
}
