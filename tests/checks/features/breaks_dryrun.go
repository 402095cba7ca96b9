package features

// dryRunBreaks returns the breaks of a controller that runs beside another one and writes nothing.
func dryRunBreaks() []Break {
	return []Break{
		{
			Row: 90, What: "a dry run sends writes to OpenStack",
			File:  "pkg/openstack/transport/readonly.go",
			Old:   `if signIn || !rest.IsWrite(req.Method) {`,
			New:   `if signIn || !rest.IsWrite(req.Method) || req.Method == http.MethodPatch {`,
			Tests: []string{"TestReadOnly_SendsNoWrite"},
		},
		{
			Row: 90, What: "a dry run writes the Lease of the active controller",
			File:  "pkg/dryrun/kubernetes.go",
			Old:   `return info.Name == k.Lease.Name`,
			New:   `return true`,
			Tests: []string{"TestKubernetes_SendsNoWriteBesideItsLease"},
		},
		{
			Row: 90, What: "a dry run tries repeatedly to delete a node without a server",
			File:  "pkg/cloudprovider/dryrun.go",
			Old:   `return exists || err == nil, err`,
			New:   `return exists, err`,
			Tests: []string{"TestDryRun_ReportsNodesAndRoutesInPlaceOfChangingThem"},
		},
		{
			Row: 90, What: "a dry run keeps reporting changes that another controller has already made",
			File:  "pkg/dryrun/report.go",
			Old:   `if s.Outcome != Unchanged {`,
			New:   `if s.Outcome == "" {`,
			Tests: []string{"TestDryRun_LooksAgainWhereSomethingWouldBeDone"},
		},
	}
}
