package features

// garbageBreaks returns the breaks of the search for orphaned objects.
func garbageBreaks() []Break {
	const collector, services = "pkg/loadbalancer/octavia/garbage/collector.go", "pkg/loadbalancer/octavia/garbage/services.go"
	return []Break{
		{
			Row: 88, What: "no event reports orphaned objects",
			File:  "pkg/loadbalancer/octavia/garbage/report.go",
			Old:   `if len(objects) > 0 {`,
			New:   `if false {`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "objects are reported as orphans when they are first found",
			File:  collector,
			Old:   `case c.seen[k]:`,
			New:   `case true:`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "orphans are deleted without garbage-policy=delete",
			File:  collector,
			Old:   `if c.options.Policy == PolicyDelete {`,
			New:   `if true {`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "Services are not read again before an orphan is deleted",
			File:  "pkg/loadbalancer/octavia/garbage/remove.go",
			Old:   `query.Services, err = r.Living(ctx)`,
			New:   `_, err = r.Living(ctx)`,
			Tests: []string{"TestGarbage_IsNotWhatServiceGetsMeanwhile"},
		},
		{
			Row: 88, What: "listeners are deleted before their pools, which cannot be found afterwards",
			File:  collector,
			Old:   `case a.Kind == Pool && b.Kind == Listener:`,
			New:   `case a.Kind == Pool && b.Kind == Listener && false:`,
			Tests: []string{"TestGarbage_IsRemovedByTheNextProcess"},
		},
		{
			Row: 88, What: "objects of other clusters count as orphans",
			File:  services,
			Old:   `proven := t.ID != "" && slices.Contains(s.ClusterIDs, t.ID)`,
			New:   `proven := len(s.ClusterIDs) > 0`,
			Tests: []string{"TestList_FollowsTruthTableOfServices", "TestGarbage_IsRemovedAndNothingElse"},
		},
		{
			Row: 88, What: "a Service of the same name but another UID counts as the owner",
			File:  services,
			Old:   `if len(ids) == 0 {`,
			New:   `if true {`,
			Tests: []string{"TestList_FollowsTruthTableOfServices", "TestGarbage_OfServiceThatWasRecreatedUnderItsNameIsRemoved"},
		},
		{
			Row: 88, What: "load balancers that Services use are reported as orphans",
			File:  services,
			Old:   `if owner == theirs || !service.Copied {`,
			New:   `if owner == theirs {`,
			Tests: []string{"TestList_FollowsTruthTableOfServices"},
		},
	}
}
