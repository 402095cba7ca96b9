package features

// faultBreaks returns the breaks of failed requests, vanished objects, waits and concurrency.
func faultBreaks() []Break {
	const plan = "pkg/loadbalancer/plan/"
	return []Break{
		{
			Row: 78, What: "load balancer creations are not throttled",
			File:  "pkg/openstack/transport/limiter/limits.go",
			Old:   `{4, l.LoadBalancerCreates}`,
			New:   `{100, 1000}`,
			Tests: []string{"TestTransport_CreatesManyLoadBalancersInBusyCloud"},
		},
		{
			Row: 78, What: "concurrent updates overwrite each other's security groups on a port",
			File:  "pkg/openstack/neutron/port.go",
			Old:   `SecurityGroups: &groupIDs, RevisionNumber: port.Revision`,
			New:   `SecurityGroups: &groupIDs`,
			Tests: []string{"TestSecurityGroups_ComeAndGoWithManyServicesAtOnce"},
		},
		{
			Row: 79, What: "an immutable load balancer fails the sync at once",
			File:  "pkg/loadbalancer/octavia/apply/run.go",
			Old:   `!apierror.IsLocked(err) || !r.holdable(r.steps[0]) || r.current.tried == tries-1`,
			New:   `err != nil || r.current.tried == tries-1`,
			Tests: []string{"TestEnsure_WaitsForLoadBalancerThatIsImmutable"},
		},
		{
			Row: 80, What: "Retry-After is ignored",
			File:  "pkg/openstack/transport/retry.go",
			Old:   `apierror.RetryAfterHeader(out.resp.Header, now); ok {`,
			New:   `apierror.RetryAfterHeader(out.resp.Header, now); ok && false {`,
			Tests: []string{"TestRetryAfter_IsWaitedFor"},
		},
		{
			Row: 80, What: "a request that a quota refuses is retried at once",
			File: "pkg/openstack/transport/retry.go",
			Old: `case http.StatusTooManyRequests:
		return true`,
			New: `case http.StatusTooManyRequests, http.StatusForbidden:
		return true`,
			Tests: []string{"TestEnsure_RepeatsNoRefusedCreationWithinOneCall"},
		},
		{
			Row: 81, What: "a load balancer whose creation failed is not recreated",
			File:  plan + "diff.go",
			Old:   `return replace(desired, observed, opts)`,
			New:   `return Plan{Blocked: inError(lb, "")}`,
			Tests: []string{"TestEnsure_ReplacesFailedCreationAndKeepsFloatingIP", "TestEnsure_RecreatesLoadBalancerWhoseCreationEndsInError"},
		},
		{
			Row: 83, What: "the floating IP of a vanished load balancer is not reused",
			File:  plan + "floatingip.go",
			Old:   `case want.Asked() || fip.Owned:`,
			New:   `case want.Asked():`,
			Tests: []string{"TestRepair_RestoresVanishedLoadBalancerWithFloatingIP"},
		},
		{
			Row: 84, What: "the floating IP of a vanished load balancer is not deleted",
			File:  plan + "delete.go",
			Old:   `if fip.Owned && !opts.KeepFloatingIP {`,
			New:   `if false {`,
			Tests: []string{"TestDelete_RemovesFloatingIPWhenLoadBalancerVanished"},
		},
		{
			Row: 116, What: "objects have no tag that identifies their Service",
			File:  "pkg/loadbalancer/ownership/identity.go",
			Old:   `return append(tags, i.ServiceTag())`,
			New:   `return tags`,
			Tests: []string{"TestRun_LeavesNothingBehindWhenOneWriteFails"},
		},
		{
			Row: 117, What: "the simulator's error message differs from Octavia's",
			File:  "tests/simulator/octavia/errors.go",
			Old:   `%s %s is immutable and cannot be updated.`,
			New:   `%s %s is locked and cannot be updated.`,
			Tests: []string{"TestSimulator_AnswersLikeRecordedReleases"},
		},
		{
			Row: 74, What: "the polling interval grows without a limit",
			File:  "pkg/loadbalancer/octavia/watcher/watcher.go",
			Old:   `min(p.interval+p.interval/2, p.pace.Cap)`,
			New:   `p.interval + p.interval/2`,
			Tests: []string{"TestSettled_AsksSoonAndThenAtCappedPace"},
		},
		{
			Row: 75, What: "a wait ignores the end of its context",
			File:  "pkg/async/await.go",
			Old:   "case <-ctx.Done():",
			New:   "case <-context.Background().Done():",
			Tests: []string{"TestSettled_EndsOneWaitWithItsContext"},
		},
		{
			Row: 73, What: "waiting calls occupy all workers of the service controller",
			File:  "pkg/loadbalancer/dispatch/calls.go",
			Old:   `return c.workers > 0 && c.held >`,
			New:   `return c.workers < 0 && c.held >`,
			Tests: []string{"TestCall_DoesNotWaitInCrowd"},
		},
		{
			Row: 73, What: "each sync waits until the previous one has ended",
			File: "pkg/resync/controller.go",
			Old: `c.sync(ctx, key, func(err error) {
					defer work.Done()
					c.ended(ctx, key, err)
				})`,
			New: `ended := make(chan struct{})
				c.sync(ctx, key, func(err error) {
					defer close(ended)
					defer work.Done()
					c.ended(ctx, key, err)
				})
				<-ended`,
			Tests: []string{"TestController_StuckLoadBalancersHoldUpNobody"},
		},
		{
			Row: 76, What: "Services change a shared load balancer concurrently",
			File:  "pkg/async/guard.go",
			Old:   `locks.Lock(ctx, key)`,
			New:   `new(Locks).Lock(ctx, key)`,
			Tests: []string{"TestSharing_SerializesWritesOfServices"},
		},
		{
			Row: 89, What: "a changed load balancer is not detected in a snapshot",
			File:  "pkg/loadbalancer/state/drift.go",
			Old:   `case !lb.UpdatedAt.Equal(a.Seen.UpdatedAt):`,
			New:   `case false:`,
			Tests: []string{"TestApplied_ReportsWhatASnapshotShowsChanged"},
		},
		{
			Row: 115, What: "features that a provider rejects are not recorded",
			File:  "pkg/loadbalancer/driver/registry.go",
			Old:   `if profileOf(provider).sourceKnown && !onItsWay || r.refused[provider].has(f) {`,
			New:   `if true {`,
			Tests: []string{"TestProvider_IsAskedOnceForWhatItCannotDo"},
		},
		{
			Row: 74, What: "polling intervals have no jitter",
			File:  "pkg/loadbalancer/octavia/watcher/watcher.go",
			Old:   `0.9 + 0.2*rand.Float64()`,
			New:   `1 + 0*rand.Float64()`,
			Tests: []string{"TestSettled_SpreadsItsIntervals"},
		},
		{
			Row: 73, What: "a call occupies its worker until the load balancer is ready",
			File: "pkg/loadbalancer/dispatch/calls.go",
			Old: `case <-timer.C():
	case <-waits:`,
			New:   `case <-waits:`,
			Tests: []string{"TestEnsure_LetsOneWorkerStartAllServicesDuringCreations"},
		},
	}
}
