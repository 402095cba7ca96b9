package features

// dryRunBreaks are those of a controller that runs beside another one and writes nothing.
func dryRunBreaks() []Break {
	return []Break{
		{
			Row: 90, What: "a write reaches OpenStack",
			File:  "pkg/openstack/transport/readonly.go",
			Old:   `if signIn || !rest.IsWrite(req.Method) {`,
			New:   `if signIn || !rest.IsWrite(req.Method) || req.Method == http.MethodPatch {`,
			Tests: []string{"TestReadOnly_SendsNoWrite"},
		},
		{
			Row: 90, What: "the lease of the controller that works is taken",
			File:  "pkg/dryrun/kubernetes.go",
			Old:   `return info.Name == k.Lease.Name`,
			New:   `return true`,
			Tests: []string{"TestKubernetes_SendsNoWriteBesideItsLease"},
		},
		{
			Row: 90, What: "a node without a server is deleted again and again",
			File:  "pkg/cloudprovider/dryrun.go",
			Old:   `return exists || err == nil, err`,
			New:   `return exists, err`,
			Tests: []string{"TestDryRun_ReportsNodesAndRoutesInPlaceOfChangingThem"},
		},
		{
			Row: 90, What: "a Service that others have served is reported for ever",
			File:  "pkg/dryrun/report.go",
			Old:   `if s.Outcome != Unchanged {`,
			New:   `if false {`,
			Tests: []string{"TestDryRun_LooksAgainWhereSomethingWouldBeDone"},
		},
	}
}
