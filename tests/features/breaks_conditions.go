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
			Old:   `return noise.ReplaceAllString(text, "")`,
			New:   `return text`,
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
			File:  "pkg/loadbalancer/conditions/conditions.go",
			Old:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil`,
			New:   `svc.Spec.Type == v1.ServiceTypeLoadBalancer`,
			Tests: []string{"TestWriter_TakesConditionsOffServicesThatAreNotOursAnyMore"},
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
