package features

// errorBreaks returns the breaks of load balancers in ERROR or PENDING, and of exhausted quotas.
func errorBreaks() []Break {
	const plan, goal = "pkg/loadbalancer/plan/", "pkg/loadbalancer/goal/"
	return []Break{
		{
			Row: 80, What: "quota errors are reported like other errors",
			File:  goal + "trouble.go",
			Old:   `case refusal.ByCloud(err) && apierror.IsQuota(err):`,
			New:   `case false:`,
			Tests: []string{"TestQuota_IsToldOnceWithNumbersAndHealsWithRoom", "TestQuota_IsToldAgainWhenMetAgain"},
		},
		{
			Row: 80, What: "an exhausted port quota is not recognized when a VIP needs a port",
			File:  "pkg/openstack/apierror/apierror.go",
			Old:   `return r.isVIPQuota()`,
			New:   `return false`,
			Tests: []string{"TestQuota_IsToldOnceWithNumbersAndHealsWithRoom"},
		},
		{
			Row: 80, What: "members that leave occupy the quota of those that come",
			File:  goal + "change.go",
			Old:   `again := !r.Batched`,
			New:   `again := false`,
			Tests: []string{"TestOVN_ExchangesFewMembersWithinQuota"},
		},
		{
			Row: 80, What: "each Service leaks a port while a quota for listeners or pools is exhausted",
			File:  "pkg/loadbalancer/state/shortage.go",
			Old:   `return now.Before(s.until)`,
			New:   `return now.IsZero()`,
			Tests: []string{"TestQuota_OfPartsLosesOnePortForAllServices"},
		},
		{
			Row: 82, What: "parts in ERROR below an ACTIVE load balancer are not repaired",
			File:  "pkg/loadbalancer/model/status.go",
			Old:   `return s.Provisioning == "" || s.Provisioning == StatusActive`,
			New:   `return true`,
			Tests: []string{"TestEnsure_RepairsChildrenInErrorBelowActiveLoadBalancer", "TestRepair_OfPartInErrorTakesOneWriteWithEveryProvider"},
		},
		{
			Row: 82, What: "parts of a load balancer that stay in ERROR are retried at a constant interval",
			File:  goal + "trouble.go",
			Old:   `after = min(2*after, longest)`,
			New:   `after = min(first, longest)`,
			Tests: []string{"TestRepair_OfPartThatStaysInErrorIsBoundedAndTold"},
		},
		{
			Row: 82, What: "a load balancer in ERROR is not failed over",
			File:  plan + "failover.go",
			Old:   `if opts.Failover.Now {`,
			New:   `if false {`,
			Tests: []string{"TestFailover_LeadsPublishedLoadBalancerOutOfError"},
		},
		{
			Row: 82, What: "a failover that Octavia forbids is requested again at each sync",
			File:  goal + "failover.go",
			Old:   `case now.Before(f.forbidden):`,
			New:   `case false:`,
			Tests: []string{"TestFailover_IsNotAskedForAgainWithoutRole"},
		},
		{
			Row: 82, What: "failovers of a load balancer are not recorded",
			File:  goal + "failover.go",
			Old:   `failovers{f.byID[id].count + 1, now}`,
			New:   `failovers{}`,
			Tests: []string{"TestFailover_IsBoundedWithGrowingPauses"},
		},
		{
			Row: 82, What: "a restarted controller fails over again at once",
			File:  goal + "failover.go",
			Old:   `known || !now.Before(next)`,
			New:   `known || !now.Before(next) || true`,
			Tests: []string{"TestFailover_AfterRestartWaitsForThatOfLastProcess"},
		},
		{
			Row: 82, What: "a failover is retried after the load balancer has left ERROR",
			File:  "pkg/loadbalancer/octavia/apply/run.go",
			Old:   `case failsOver && apierror.IsLocked(err):`,
			New:   `case failsOver && false:`,
			Tests: []string{"TestFailover_SparesLoadBalancerThatIsBeingRecovered"},
		},
		{
			Row: 82, What: "a load balancer in ERROR is never replaced",
			File:  plan + "failover.go",
			Old:   `!opts.Failover.Now && opts.Replacement != nil && replaceable(lb)`,
			New:   `!opts.Failover.Now && opts.Replacement != nil && replaceable(lb) && false`,
			Tests: []string{"TestFailover_GivesWayToReplacementWherePermitted", "TestReplacement_OfLoadBalancerInErrorNeedsPermission"},
		},
		{
			Row: 82, What: "no event reports a load balancer that stays PENDING",
			File:  goal + "trouble.go",
			Old:   `case expired && errors.As(err, &pending):`,
			New:   `case expired && false:`,
			Tests: []string{"TestEnsure_TellsSinceWhenLoadBalancerIsPending"},
		},
	}
}
