package features

// errorBreaks are those of load balancers in ERROR, and of what only others can end.
func errorBreaks() []Break {
	const plan, goal = "pkg/loadbalancer/plan/", "pkg/loadbalancer/goal/"
	return []Break{
		{
			Row: 80, What: "a quota is an error like any other",
			File:  goal + "trouble.go",
			Old:   `case refusal.ByCloud(err) && apierror.IsQuota(err):`,
			New:   `case false:`,
			Tests: []string{"TestQuota_IsToldOnceWithNumbersAndHealsWithRoom", "TestQuota_IsToldAgainWhenMetAgain"},
		},
		{
			Row: 80, What: "there is no room for the port of a VIP",
			File:  "pkg/openstack/apierror/apierror.go",
			Old:   `return r.isVIPQuota()`,
			New:   `return false`,
			Tests: []string{"TestQuota_IsToldOnceWithNumbersAndHealsWithRoom"},
		},
		{
			Row: 80, What: "each Service loses a port of its own",
			File:  "pkg/loadbalancer/state/trouble.go",
			Old:   `return now.Before(s.partsShort)`,
			New:   `return now.IsZero()`,
			Tests: []string{"TestQuota_OfPartsLosesOnePortForAllServices"},
		},
		{
			Row: 82, What: "parts in ERROR are taken for sound",
			File:  "pkg/loadbalancer/model/status.go",
			Old:   `return s.Provisioning == "" || s.Provisioning == StatusActive`,
			New:   `return true`,
			Tests: []string{"TestEnsure_RepairsChildrenInErrorBelowActiveLoadBalancer", "TestRepair_OfPartInErrorTakesOneWriteWithEveryProvider"},
		},
		{
			Row: 82, What: "parts that stay in ERROR are written at the same pace for ever",
			File:  goal + "trouble.go",
			Old:   `after = min(2*after, longest)`,
			New:   `after = min(first, longest)`,
			Tests: []string{"TestRepair_OfPartThatStaysInErrorIsBoundedAndTold"},
		},
		{
			Row: 82, What: "nothing is failed over",
			File:  plan + "failover.go",
			Old:   `if opts.Failover.Now {`,
			New:   `if false {`,
			Tests: []string{"TestFailover_LeadsPublishedLoadBalancerOutOfError"},
		},
		{
			Row: 82, What: "a role that is missing is asked for each time",
			File:  goal + "failover.go",
			Old:   `case now.Before(f.forbidden):`,
			New:   `case false:`,
			Tests: []string{"TestFailover_IsNotAskedForAgainWithoutRole"},
		},
		{
			Row: 82, What: "failovers are not counted",
			File:  goal + "failover.go",
			Old:   `failovers{f.byID[id].count + 1, now}`,
			New:   `failovers{}`,
			Tests: []string{"TestFailover_IsBoundedWithGrowingPauses"},
		},
		{
			Row: 82, What: "each process fails over anew",
			File:  goal + "failover.go",
			Old:   `known || !now.Before(next)`,
			New:   `known || !now.Before(next) || true`,
			Tests: []string{"TestFailover_AfterRestartWaitsForThatOfLastProcess"},
		},
		{
			Row: 82, What: "what is not in ERROR any more is failed over too",
			File:  "pkg/loadbalancer/octavia/apply/run.go",
			Old:   `case failsOver && apierror.IsLocked(err):`,
			New:   `case failsOver && false:`,
			Tests: []string{"TestFailover_SparesLoadBalancerThatIsBeingRecovered"},
		},
		{
			Row: 82, What: "it is never replaced",
			File:  plan + "failover.go",
			Old:   `!opts.Failover.Now && opts.Replacement != nil && replaceable(lb)`,
			New:   `!opts.Failover.Now && opts.Replacement != nil && replaceable(lb) && false`,
			Tests: []string{"TestFailover_GivesWayToReplacementWherePermitted", "TestReplacement_OfLoadBalancerInErrorNeedsPermission"},
		},
		{
			Row: 82, What: "nobody is told what stays PENDING",
			File:  goal + "trouble.go",
			Old:   `case expired && errors.As(err, &pending):`,
			New:   `case expired && false:`,
			Tests: []string{"TestEnsure_TellsSinceWhenLoadBalancerIsPending"},
		},
	}
}
