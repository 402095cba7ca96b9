package features

// operatorBreaks returns the breaks of tools for operators: checks and previews, alerts, policies,
// versions and releases.
func operatorBreaks() []Break {
	return append(checkBreaks(), releaseBreaks()...)
}

func checkBreaks() []Break {
	return []Break{
		{
			Row: 121, What: "check does not report a denied permission",
			File:  "pkg/cli/check/rights.go",
			Old:   `case apierror.IsForbidden(err):`,
			New:   `case false:`,
			Tests: []string{"TestCheck_MatchesGoldenFilesAndReference"},
		},
		{
			Row: 122, What: "plan reports an adopted load balancer as unchanged",
			File:  "pkg/cli/plan/plan.go",
			Old:   `case p.TakenOver:`,
			New:   `case false:`,
			Tests: []string{"TestPlan_MatchesGoldenFilesAndReference"},
		},
		{
			Row: 122, What: "a preview does not recognize load balancers to adopt",
			File:  "pkg/loadbalancer/preview.go",
			Old:   `adopted && !p.Deletes && !recorded`,
			New:   `adopted && p.Deletes && !recorded`,
			Tests: []string{"TestPreview_SaysWhatIsTakenOver"},
		},
		{
			Row: 123, What: "a dry run writes Leases other than its own",
			File:  "pkg/dryrun/kubernetes.go",
			Old:   `return info.Name == k.Lease.Name`,
			New:   `return true`,
			Tests: []string{"TestKubernetes_SendsNoWriteBesideItsLease"},
		},
		{
			Row: 124, What: "the limit on the share of Nodes without a server is ignored",
			File:  "pkg/instances/deletions.go",
			Old:   `gone < 2 || gone*100 <= all*share`,
			New:   `gone < 2 || gone <= all`,
			Tests: []string{"TestDeletions_KeepAllNodesWhileTooManyWouldGo"},
		},
		{
			Row: 124, What: "an operator cannot allow the deletion of Nodes",
			File:  "pkg/instances/deletions.go",
			Old:   `node.Annotations[AllowDeletion] == "true"`,
			New:   `node.Annotations[AllowDeletion] == "yes"`,
			Tests: []string{"TestDeletions_LetNodesGoThatOperatorAllows"},
		},
		{
			Row: 136, What: "the generated policy file lacks a rule",
			File:  "pkg/cli/check/rights.go",
			Old:   `rules: []string{"update_floatingip", "delete_floatingip"}`,
			New:   `rules: []string{"update_floatingip"}`,
			Tests: []string{"TestPolicyReference_GrantsRightsThatCheckAsksFor"},
		},
		{
			Row: 137, What: "no warning precedes the expiry of credentials",
			File:  "pkg/reload/expiry.go",
			Old:   `rest > noticePeriod`,
			New:   `rest > 0`,
			Tests: []string{"TestWatcher_TellsThatCredentialsExpire"},
		},
		{
			Row: 138, What: "members of a refused Service keep a NodePort that kube-proxy has closed",
			File:  "pkg/loadbalancer/spec/desire/follow.go",
			Old:   `member.Port, member.SubnetID = b.Port,`,
			New:   `member.Port, member.SubnetID = member.Port,`,
			Tests: []string{"TestRefusal_GoesWhereKubeProxyServes"},
		},
	}
}

func releaseBreaks() []Break {
	return []Break{
		{
			Row: 133, What: "the version matrix lists a release that no test covers",
			File:  "docs/versions.md",
			Old:   `| 2024.2 | 15.0.0 |`,
			New:   `| 2023.2 | 13.0.0 |`,
			Tests: []string{"TestVersionsReference_TablesAreWhatTestsRunAgainst"},
		},
		{
			Row: 134, What: "the admission policy only warns about refused Services",
			File:  "manifests/admission/admission.go",
			Old:   `binding(Refuse, admissionv1.Deny)`,
			New:   `binding(Refuse, admissionv1.Warn)`,
			Tests: []string{"TestPolicyReference_IsMadeFromTheTableOfAnnotations"},
		},
		{
			Row: 135, What: "an alert links to a missing runbook",
			File:  "manifests/monitoring/prometheusrule.yaml",
			Old:   `docs/runbooks/OpenStackCCMDrift.md`,
			New:   `docs/runbooks/Drift.md`,
			Tests: []string{"TestRunbooks_AreThereForEachAlert"},
		},
		{
			Row: 139, What: "files in the image carry the time of the build",
			File:  "tests/checks/release/image.go",
			Old:   `ModTime: created`,
			New:   `ModTime: time.Now()`,
			Tests: []string{"TestImage_IsTheSameBytesTwiceAndHoldsTogether"},
		},
		{
			Row: 139, What: "the SBOM lists no licenses",
			File:  "tests/checks/release/papers.go",
			Old:   `cmp.Or(declared[path], "NOASSERTION")`,
			New:   `cmp.Or("NOASSERTION", declared[path])`,
			Tests: []string{"TestLicenses_OfEveryModuleAreKnownAndInTheText"},
		},
	}
}
