package features

// conditionBreaks are those of what is said of Services.
func conditionBreaks() []Break {
	return []Break{
		{
			Row: 100, What: "an outage is written to the status of each Service",
			File:  "pkg/loadbalancer/conditions/round.go",
			Old:   `case len(svc.Status.LoadBalancer.Ingress) == 0 && meta`,
			New:   `case true || meta`,
			Tests: []string{"TestRound_SaysWhatItHasFoundAndNothingElse", "TestConditions_FollowTheLifeOfAService"},
		},
		{
			Row: 100, What: "each attempt of a refused Service is a write",
			File:  "pkg/loadbalancer/conditions/conditions.go",
			Old:   `noise.ReplaceAllString(a, "") == noise.ReplaceAllString(b, "")`,
			New:   `false`,
			Tests: []string{"TestChanges_AreNoneForTheNoiseOfMessages"},
		},
		{
			Row: 100, What: "a member that does not answer is a degradation",
			File:  "pkg/loadbalancer/conditions/round.go",
			Old:   `case "ONLINE", "DEGRADED", "NO_MONITOR":`,
			New:   `case "ONLINE", "NO_MONITOR":`,
			Tests: []string{"TestHealth_IsDegradedOnlyWhereAPoolServesNobody"},
		},
		{
			Row: 100, What: "conditions stay on a Service of another class",
			File:  "pkg/cluster/service.go",
			Old:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil`,
			New:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer`,
			Tests: []string{"TestWriter_TakesConditionsOffServicesThatAreNotOursAnyMore"},
		},
		{
			Row: 100, What: "a Service that a user has just changed gets annotations of the one before",
			File:  "pkg/loadbalancer/conditions/writer.go",
			Old:   `metadata["annotations"], metadata["resourceVersion"] = annotations, svc.ResourceVersion`,
			New:   `metadata["annotations"] = annotations`,
			Tests: []string{"TestWriter_WritesAnnotationsWithConditionsAndNeverAlone"},
		},
		{
			Row: 100, What: "a Service is said to be provisioned before its address is published",
			File:  "pkg/loadbalancer/conditions/writer.go",
			Old:   `!pending.waited && pending.conditions[reason.Provisioned].Is && len(svc.Status.LoadBalancer.Ingress) == 0`,
			New:   `false`,
			Tests: []string{"TestWriter_SaysThatServiceIsProvisionedWhenItsAddressIsPublished"},
		},
		{
			Row: 90, What: "a preview says of a Service how it is served",
			File:  "pkg/loadbalancer/rehearsal.go",
			Old:   `	dry.options.Conditions = nil // they report actual states only`,
			New:   `	_ = dry.options.Conditions`,
			Tests: []string{"TestPreview_ForetellsWhatTheRoundDoes"},
		},
		{
			Row: 90, What: "a dry run has conditions to write",
			File: "pkg/cloudprovider/connect.go",
			Old: `	if c.DryRun == nil {
		options.Conditions`,
			New: `	if true {
		options.Conditions`,
			Tests: []string{"TestDryRun_GivesOnlyPreviewsAndReadsToTheControllers"},
		},
		{
			Row: 101, What: "an event does not say which load balancer it is about",
			File:  "pkg/loadbalancer/reconciler.go",
			Old:   `return cmp.Or(m.LoadBalancerID(svc.UID), written), address`,
			New:   `return cmp.Or("", written), address`,
			Tests: []string{"TestEvents_NameLoadBalancerAndAddressOfWhatIsServed"},
		},
	}
}
