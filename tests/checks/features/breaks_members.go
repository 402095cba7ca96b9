package features

// memberBreaks returns the breaks of members, and of the number of requests.
func memberBreaks() []Break {
	const desire, plan = "pkg/loadbalancer/spec/desire/", "pkg/loadbalancer/plan/"
	return []Break{
		{
			Row: 33, What: "the requested subnet of the members is ignored",
			File:  "pkg/loadbalancer/octavia/lookup/lookup.go",
			Old:   `case s.Members.SubnetID != "":`,
			New:   `case false:`,
			Tests: []string{"TestMembers_MoveToOtherSubnetInBatchesOrOneByOne"},
		},
		{
			Row: 52, What: "the node selector is ignored",
			File:  "pkg/loadbalancer/spec/members/standing.go",
			Old:   `case !s.Members.NodeSelector.Matches(labels.Set(node.Labels)):`,
			New:   `case labels.Set(node.Labels) == nil && standing == Last:`,
			Tests: []string{"TestMembers_FollowNodeSelector"},
		},
		{
			Row: 55, What: "nodes without endpoints become members",
			File:  "pkg/loadbalancer/goal/endpoints.go",
			Old:   `if !s.FollowsEndpoints(drv) {`,
			New:   `if true || !s.FollowsEndpoints(drv) {`,
			Tests: []string{"TestEndpoints_CostOneBatchPerPoolAndMove"},
		},
		{
			Row: 55, What: "a pool is emptied when its Service has no endpoint",
			File:  "pkg/loadbalancer/spec/desire/desire.go",
			Old:   `p.Held = on.Held`,
			New:   `p.Held = false`,
			Tests: []string{"TestEndpoints_AreNotNeededForCreation"},
		},
		{
			Row: 55, What: "a node with terminating endpoints is removed, which cuts connections",
			File:  "pkg/loadbalancer/spec/members/follow.go",
			Old:   `if cuts || len(names) == 0 {`,
			New:   `if len(names) == 0 {`,
			Tests: []string{"TestEndpoints_LeaveWithoutCuttingConnections"},
		},
		{
			Row: 55, What: "an adopted load balancer loses its members without endpoints",
			File:  "pkg/loadbalancer/spec/settings/follow.go",
			Old:   `s.Members.Mode == "" && s.Members.Adopted`,
			New:   `s.Members.Mode == annotation.MembersPods && s.Members.Adopted`,
			Tests: []string{"TestEndpoints_AreNotFollowedByAdoptedLoadBalancer"},
		},
		{
			Row: 55, What: "a round that has waited for minutes writes the endpoints of its start",
			File:  "pkg/loadbalancer/serve.go",
			Old:   `rd.pursuit, rd.renewed = nil, true`,
			New:   `rd.renewed = true`,
			Tests: []string{"TestRollout_TakesOneBatchAfterLongPending"},
		},
		{
			Row: 143, What: "pods that stop too early are not noticed",
			File:  "pkg/loadbalancer/spec/members/rollout.go",
			Old:   `case r.Grace < r.Removal:`,
			New:   `case r.Grace < 0:`,
			Tests: []string{"TestEndpoints_ReportThatPodsStopBeforeRemoval"},
		},
		{
			Row: 144, What: "the address that does not exist of a gateway takes the nodes out of the load balancer",
			File:  "pkg/loadbalancer/spec/members/follow.go",
			Old:   `if endpoints.some(Endpoint.serves) && !endpoints.some(Endpoint.hasNode) {`,
			New:   `if false {`,
			Tests: []string{"TestGateways_AreServed"},
		},
		{
			Row: 56, What: "pods get no subnet with a driver that needs one",
			File:  "pkg/loadbalancer/goal/pods.go",
			Old:   `want.Facts.MemberSubnetID, want.Facts.MemberSubnets = "", reach.Subnets`,
			New:   `want.Facts.MemberSubnetID, want.Facts.MemberSubnets = "", nil`,
			Tests: []string{"TestPods_AreMembersWithTheirAddressesAndPorts"},
		},
		{
			Row: 56, What: "pods that cannot be reached become members",
			File:  "pkg/loadbalancer/goal/pods.go",
			Old:   `err = reach.Unreachable()`,
			New:   `err = nil`,
			Tests: []string{"TestPods_AreRefusedUnlessReachable"},
		},
		{
			Row: 57, What: "a Service without NodePorts is refused although pods are its members",
			File:  "pkg/loadbalancer/spec/settings/validate.go",
			Old:   `case s.ByPods():`,
			New:   `case false:`,
			Tests: []string{"TestPods_AreMembersWithTheirAddressesAndPorts"},
		},
		{
			Row: 68, What: "a load balancer is created empty and filled afterwards",
			File:  plan + "diff.go",
			Old:   `case createsEmpty(desired, opts):`,
			New:   `case true:`,
			Tests: []string{"TestEnsure_CreatesWithOneLoadBalancerPostAndOneFloatingIPPost"},
		},
		{
			Row: 69, What: "a load balancer is created in one request although its provider does not support it",
			File:  plan + "diff.go",
			Old:   `case createsEmpty(desired, opts):`,
			New:   `case false:`,
			Tests: []string{"TestProvider_ThatIsSerialGetsOneObjectAtATime"},
		},
		{
			Row: 70, What: "members are written one by one",
			File:  plan + "members.go",
			Old:   `if !d.opts.Driver.Supports(driver.MemberBatches) {`,
			New:   `if d.opts.Driver.Supports(driver.MemberBatches) {`,
			Tests: []string{"TestUpdate_WritesOneBatchPerPortWhenManyNodesChange"},
		},
		{
			Row: 71, What: "the applied state of a Service is not stored",
			File:  "pkg/loadbalancer/goal/results.go",
			Old:   `	s.store.SetApplied(uid, applied)`,
			New:   ``,
			Tests: []string{"TestEnsure_CostsNothingWhenNothingChanged"},
		},
		{
			Row: 71, What: "the record of a Service is not read after a restart",
			File:  "pkg/loadbalancer/goal/memory.go",
			Old:   `state.ParseRecord(m.Records.Get(owner))`,
			New:   `state.ParseRecord("")`,
			Tests: []string{"TestRestart_CostsFewRequestsForManyUnchangedServices"},
		},
		{
			Row: 72, What: "the controller takes its own load-balancer-id for a user's request to move",
			File:  "pkg/loadbalancer/goal/recall.go",
			Old:   `named != applied.LoadBalancer.Named && named != applied.LoadBalancer.ID`,
			New:   `named != applied.LoadBalancer.Named`,
			Tests: []string{"TestRecord_OnServiceCostsNextEnsureNoRequest"},
		},
	}
}
