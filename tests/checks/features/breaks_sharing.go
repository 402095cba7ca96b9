package features

// sharingBreaks are those of shared load balancers, and of whose is what.
func sharingBreaks() []Break {
	const identity = "pkg/loadbalancer/ownership/"
	return []Break{
		{
			Row: 58, What: "load-balancer-id is not heard",
			File:  "pkg/loadbalancer/spec/settings/named.go",
			Old:   `return id`,
			New:   `return ""`,
			Tests: []string{"TestSharing_UsesOneLoadBalancerAndItsFloatingIP"},
		},
		{
			Row: 58, What: "the last Service leaves the load balancer behind",
			File:  "pkg/loadbalancer/model/model.go",
			Old:   `lb.Shared.Removable && (lb.Shared.Left || lb.Holds())`,
			New:   `false`,
			Tests: []string{"TestSharing_EndsWithLastServiceWhichRemovesLoadBalancer"},
		},
		{
			Row: 59, What: "nothing is published where there is no floating IP",
			File:  "pkg/loadbalancer/goal/address.go",
			Old:   `	return lb.VIP.Address`,
			New:   `	return ""`,
			Tests: []string{"TestSharing_OfInternalLoadBalancerAddsNoFloatingIP"},
		},
		{
			Row: 61, What: "no other namespace is asked for its consent",
			File:  "pkg/loadbalancer/sharing/sharing.go",
			Old:   `return slices.Contains(allowed, "*") || slices.Contains(allowed, of.Namespace), err`,
			New:   `return allowed != nil || err == nil, err`,
			Tests: []string{"TestSharing_AcrossNamespacesNeedsConsent"},
		},
		{
			Row: 62, What: "it goes with the last Service",
			File:  "pkg/loadbalancer/model/model.go",
			Old:   `lb.Shared.Removable && `,
			New:   ``,
			Tests: []string{"TestSharing_UsesManualLoadBalancerAndLeavesIt"},
		},
		{
			Row: 63, What: "whatever cluster had it made is taken for ours",
			File:  identity + "owner.go",
			Old:   `return o.ClusterID == i.ClusterID`,
			New:   `return true`,
			Tests: []string{"TestSharing_AcrossClustersNeedsProjectScope"},
		},
		{
			Row: 64, What: "they end with the same hash",
			File:  identity + "names.go",
			Old:   `hex.EncodeToString(sum[:])[:hashLength]`,
			New:   `hex.EncodeToString(sum[:0]) + "0123456789abcdef"[:hashLength]`,
			Tests: []string{"TestOwnership_SeparatesServicesWithLongNames", "TestIdentity_KeepsCutNamesDistinct"},
		},
		{
			Row: 67, What: "what has another cluster's name is not looked at",
			File:  identity + "names.go",
			Old:   `strings.HasSuffix(name, "_"+i.Namespace+"_"+i.Service)`,
			New:   `false`,
			Tests: []string{"TestAdoption_TakesLoadBalancersOfAllAges"},
		},
		{
			Row: 120, What: "pools are not known by their names",
			File:  identity + "names.go",
			Old:   `return i.isChild(name) || slices.ContainsFunc(names, func(of string) bool { return isChildOf(name, of) })`,
			New:   `return name == ""`,
			Tests: []string{"TestAdoption_TakesLoadBalancersOfAllAges"},
		},
		{
			Row: 66, What: "monitors are not tagged",
			File:  "pkg/loadbalancer/spec/desire/desire.go",
			Old:   `p.Monitor.Name, p.Monitor.Tags = id.MonitorName(i), p.Tags`,
			New:   `p.Monitor.Name = id.MonitorName(i)`,
			Tests: []string{"TestOwnership_IsMarkedOnEveryObject"},
		},
	}
}
