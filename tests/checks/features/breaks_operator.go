package features

// operatorBreaks are those of what operators have beside the controller: its checks and previews, alerts,
// policies, versions and releases.
func operatorBreaks() []Break {
	return append(checkBreaks(), releaseBreaks()...)
}

func checkBreaks() []Break {
	return []Break{
		{
			Row: 121, What: "a right that is denied passes",
			File:  "pkg/cli/check/rights.go",
			Old:   `case apierror.IsForbidden(err):`,
			New:   `case false:`,
			Tests: []string{"TestCheck_MatchesGoldenFilesAndReference"},
		},
		{
			Row: 122, What: "what is taken over is not told from what is ours",
			File:  "pkg/cli/plan/plan.go",
			Old:   `case p.TakenOver:`,
			New:   `case false:`,
			Tests: []string{"TestPlan_MatchesGoldenFilesAndReference"},
		},
		{
			Row: 122, What: "what another controller has made counts as our own",
			File:  "pkg/loadbalancer/preview.go",
			Old:   `adopted && !p.Deletes && !recorded`,
			New:   `adopted && p.Deletes && !recorded`,
			Tests: []string{"TestPreview_SaysWhatIsTakenOver"},
		},
		{
			Row: 123, What: "any lease is written",
			File:  "pkg/dryrun/kubernetes.go",
			Old:   `return info.Name == k.Lease.Name`,
			New:   `return true`,
			Tests: []string{"TestKubernetes_SendsNoWriteBesideItsLease"},
		},
		{
			Row: 124, What: "the share of Nodes that are gone does not matter",
			File:  "pkg/instances/deletions.go",
			Old:   `gone < 2 || gone*100 <= all*share`,
			New:   `gone < 2 || gone <= all`,
			Tests: []string{"TestDeletions_KeepAllNodesWhileTooManyWouldGo"},
		},
		{
			Row: 124, What: "an operator cannot let Nodes go",
			File:  "pkg/instances/deletions.go",
			Old:   `node.Annotations[AllowDeletion] == "true"`,
			New:   `node.Annotations[AllowDeletion] == "yes"`,
			Tests: []string{"TestDeletions_LetNodesGoThatOperatorAllows"},
		},
		{
			Row: 136, What: "the policy lacks a rule",
			File:  "pkg/cli/check/rights.go",
			Old:   `rules: []string{"update_floatingip", "delete_floatingip"}`,
			New:   `rules: []string{"update_floatingip"}`,
			Tests: []string{"TestPolicyReference_GrantsRightsThatCheckAsksFor"},
		},
		{
			Row: 137, What: "nothing is said before credentials have expired",
			File:  "pkg/reload/expiry.go",
			Old:   `rest > noticePeriod`,
			New:   `rest > 0`,
			Tests: []string{"TestWatcher_TellsThatCredentialsExpire"},
		},
		{
			Row: 138, What: "a refused Service keeps the NodePort that kube-proxy has closed",
			File:  "pkg/loadbalancer/spec/desire/follow.go",
			Old:   `member.Port, member.SubnetID = port,`,
			New:   `member.Port, member.SubnetID = member.Port,`,
			Tests: []string{"TestRefusal_GoesWhereKubeProxyServes"},
		},
	}
}

func releaseBreaks() []Break {
	return []Break{
		{
			Row: 133, What: "the matrix has a release that nothing is tested against",
			File:  "docs/versions.md",
			Old:   `| 2024.2 | 15.0.0 |`,
			New:   `| 2023.2 | 13.0.0 |`,
			Tests: []string{"TestVersionsReference_TablesAreWhatTestsRunAgainst"},
		},
		{
			Row: 134, What: "what the controller refuses is only warned of",
			File:  "manifests/admission/admission.go",
			Old:   `binding(Refuse, admissionv1.Deny)`,
			New:   `binding(Refuse, admissionv1.Warn)`,
			Tests: []string{"TestPolicyReference_IsMadeFromTheTableOfAnnotations"},
		},
		{
			Row: 135, What: "an alert leads to no runbook",
			File:  "manifests/monitoring/prometheusrule.yaml",
			Old:   `docs/runbooks/OpenStackCCMDrift.md`,
			New:   `docs/runbooks/Drift.md`,
			Tests: []string{"TestRunbooks_AreThereForEachAlert"},
		},
		{
			Row: 139, What: "files of the image have the time of the build",
			File:  "tests/checks/release/image.go",
			Old:   `ModTime: created`,
			New:   `ModTime: time.Now()`,
			Tests: []string{"TestImage_IsTheSameBytesTwiceAndHoldsTogether"},
		},
		{
			Row: 139, What: "the SBOM has no license",
			File:  "tests/checks/release/papers.go",
			Old:   `cmp.Or(declared[path], "NOASSERTION")`,
			New:   `cmp.Or("NOASSERTION", declared[path])`,
			Tests: []string{"TestLicenses_OfEveryModuleAreKnownAndInTheText"},
		},
	}
}
