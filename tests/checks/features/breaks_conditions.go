package features

// conditionBreaks returns the breaks of conditions and events of Services.
func conditionBreaks() []Break {
	return []Break{
		{
			Row: 100, What: "an outage of OpenStack changes the conditions of all Services",
			File:  "pkg/loadbalancer/conditions/round.go",
			Old:   `case len(svc.Status.LoadBalancer.Ingress) == 0 && meta`,
			New:   `case true || meta`,
			Tests: []string{"TestRound_SaysWhatItHasFoundAndNothingElse", "TestConditions_FollowTheLifeOfAService"},
		},
		{
			Row: 100, What: "each retry of a refused Service writes its conditions again",
			File:  "pkg/loadbalancer/conditions/conditions.go",
			Old:   `noise.ReplaceAllString(a, "") == noise.ReplaceAllString(b, "")`,
			New:   `false`,
			Tests: []string{"TestChanges_AreNoneForTheNoiseOfMessages"},
		},
		{
			Row: 100, What: "a single failed member sets the condition Degraded",
			File:  "pkg/loadbalancer/conditions/round.go",
			Old:   `case "ONLINE", "DEGRADED", "NO_MONITOR":`,
			New:   `case "ONLINE", "NO_MONITOR":`,
			Tests: []string{"TestHealth_IsDegradedOnlyWhereAPoolServesNobody"},
		},
		{
			Row: 100, What: "conditions stay on a Service that changes its class",
			File:  "pkg/cluster/service.go",
			Old:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil`,
			New:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer`,
			Tests: []string{"TestWriter_TakesConditionsOffServicesThatAreNotOursAnyMore"},
		},
		{
			Row: 100, What: "annotations are written although the Service has changed meanwhile",
			File:  "pkg/loadbalancer/conditions/writer.go",
			Old:   `metadata["annotations"], metadata["resourceVersion"] = annotations, svc.ResourceVersion`,
			New:   `metadata["annotations"] = annotations`,
			Tests: []string{"TestWriter_WritesAnnotationsWithConditionsAndNeverAlone"},
		},
		{
			Row: 100, What: "the condition Provisioned becomes true before the address is published",
			File:  "pkg/loadbalancer/conditions/writer.go",
			Old:   `!pending.waited && pending.conditions[reason.Provisioned].Is && len(svc.Status.LoadBalancer.Ingress) == 0`,
			New:   `false`,
			Tests: []string{"TestWriter_SaysThatServiceIsProvisionedWhenItsAddressIsPublished"},
		},
		{
			Row: 90, What: "a preview writes conditions",
			File:  "pkg/loadbalancer/rehearsal.go",
			Old:   `	dry.conditions = new(conditionReporter) // they report actual states only`,
			New:   ``,
			Tests: []string{"TestPreview_ForetellsWhatTheRoundDoes"},
		},
		{
			Row: 90, What: "a dry run writes conditions",
			File: "pkg/cloudprovider/connect.go",
			Old: `	if c.DryRun == nil {
		options.Conditions`,
			New: `	if true {
		options.Conditions`,
			Tests: []string{"TestDryRun_GivesOnlyPreviewsAndReadsToTheControllers"},
		},
		{
			Row: 101, What: "events do not name the load balancer",
			File:  "pkg/loadbalancer/rounds.go",
			Old:   `return cmp.Or(m.store.Get(of.Owner.UID).LoadBalancerID(), of.LoadBalancerID), of.Address`,
			New:   `return cmp.Or("", of.LoadBalancerID), of.Address`,
			Tests: []string{"TestEvents_NameLoadBalancerAndAddressOfWhatIsServed"},
		},
	}
}
