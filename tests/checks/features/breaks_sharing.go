package features

// sharingBreaks returns the breaks of shared load balancers and of ownership.
func sharingBreaks() []Break {
	const identity = "pkg/loadbalancer/ownership/"
	return []Break{
		{
			Row: 58, What: "load-balancer-id is ignored",
			File:  "pkg/loadbalancer/spec/settings/named.go",
			Old:   `return id`,
			New:   `return ""`,
			Tests: []string{"TestSharing_UsesOneLoadBalancerAndItsFloatingIP"},
		},
		{
			Row: 58, What: "the last Service does not delete a shared load balancer",
			File:  "pkg/loadbalancer/model/model.go",
			Old:   `lb.Shared.Removable && (lb.Shared.Left || lb.Holds())`,
			New:   `false`,
			Tests: []string{"TestSharing_EndsWithLastServiceWhichRemovesLoadBalancer"},
		},
		{
			Row: 59, What: "a load balancer without a floating IP publishes no address",
			File:  "pkg/loadbalancer/goal/address.go",
			Old:   `addresses = append(addresses, of...)`,
			New:   `addresses = append(addresses, make([]string, len(of))...)`,
			Tests: []string{"TestSharing_OfInternalLoadBalancerAddsNoFloatingIP"},
		},
		{
			Row: 60, What: "a Service that joins a share does not join its load balancer",
			File:  "pkg/loadbalancer/sharing/byname.go",
			Old:   `	if len(having) == 0 {`,
			New:   `	if len(having) < 9 {`,
			Tests: []string{"TestShare_HasOneLoadBalancerFromFirstServiceToLast"},
		},
		{
			Row: 60, What: "Services of a share that come together do not wait for each other",
			File:  "pkg/loadbalancer/goal/share.go",
			Old:   `creator.UID == svc.UID`,
			New:   `creator.UID != ""`,
			Tests: []string{"TestShare_OfServicesThatComeTogetherCreatesOneLoadBalancer"},
		},
		{
			Row: 60, What: "an older Service that joins a share takes the others to its own load balancer",
			File:  "pkg/loadbalancer/goal/share.go",
			Old:   `Settled: under == share`,
			New:   `Settled: false`,
			Tests: []string{"TestShare_LetsServicesMoveInAndOutWithoutTouchingOthers"},
		},
		{
			Row: 60, What: "a Service waits for the load balancer of another one without an event",
			File:  "pkg/loadbalancer/goal/share.go",
			Old:   `s.events.Warn(ObjectOf(svc), events.ShareWaits(why.Error()))`,
			New:   `_ = why`,
			Tests: []string{"TestShare_NamesServiceThatOthersWaitForTooLong"},
		},
		{
			Row: 61, What: "load balancers are shared with other namespaces without permission",
			File:  "pkg/loadbalancer/sharing/sharing.go",
			Old:   `return slices.Contains(allowed, "*") || slices.Contains(allowed, of.Namespace), err`,
			New:   `return allowed != nil || err == nil, err`,
			Tests: []string{"TestSharing_AcrossNamespacesNeedsConsent"},
		},
		{
			Row: 62, What: "a load balancer created by hand is deleted with its last Service",
			File:  "pkg/loadbalancer/model/model.go",
			Old:   `lb.Shared.Removable && `,
			New:   ``,
			Tests: []string{"TestSharing_UsesManualLoadBalancerAndLeavesIt"},
		},
		{
			Row: 63, What: "load balancers of other clusters count as this cluster's",
			File:  identity + "owner.go",
			Old:   `return o.ClusterID == i.ClusterID`,
			New:   `return true`,
			Tests: []string{"TestSharing_AcrossClustersNeedsProjectScope"},
		},
		{
			Row: 64, What: "long names end with the same hash",
			File:  identity + "names.go",
			Old:   `hex.EncodeToString(sum[:])[:hashLength]`,
			New:   `hex.EncodeToString(sum[:0]) + "0123456789abcdef"[:hashLength]`,
			Tests: []string{"TestOwnership_SeparatesServicesWithLongNames", "TestIdentity_KeepsCutNamesDistinct"},
		},
		{
			Row: 67, What: "load balancers with an earlier cluster name are not found",
			File:  identity + "names.go",
			Old:   `strings.HasSuffix(name, "_"+i.Namespace+"_"+i.Service)`,
			New:   `false`,
			Tests: []string{"TestAdoption_TakesLoadBalancersOfAllAges"},
		},
		{
			Row: 120, What: "listeners and pools are not recognized by their names",
			File:  identity + "names.go",
			Old:   `return isChild(name, i.fullName()) || slices.ContainsFunc(names, func(of string) bool { return isChildOf(name, of) })`,
			New:   `return name == ""`,
			Tests: []string{"TestAdoption_TakesLoadBalancersOfAllAges"},
		},
		{
			Row: 66, What: "monitors have no tags",
			File:  "pkg/loadbalancer/spec/desire/desire.go",
			Old:   `p.Monitor.Name, p.Monitor.Tags = id.MonitorName(i), p.Tags`,
			New:   `p.Monitor.Name = id.MonitorName(i)`,
			Tests: []string{"TestOwnership_IsMarkedOnEveryObject"},
		},
	}
}
