package features

// garbageBreaks are those of what is of no Service.
func garbageBreaks() []Break {
	const collector, services = "pkg/loadbalancer/octavia/garbage/collector.go", "pkg/loadbalancer/octavia/garbage/services.go"
	return []Break{
		{
			Row: 88, What: "what is of no Service is not told of",
			File:  "pkg/loadbalancer/octavia/garbage/report.go",
			Old:   `if len(objects) > 0 {`,
			New:   `if false {`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "one look is enough",
			File:  collector,
			Old:   `case c.seen[k]:`,
			New:   `case true:`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "what is told of is removed without being asked for",
			File:  collector,
			Old:   `if c.options.Policy == PolicyDelete {`,
			New:   `if true {`,
			Tests: []string{"TestGarbage_IsReportedAtTheSecondLookAndStays"},
		},
		{
			Row: 88, What: "the Services are not read again before a removal",
			File:  "pkg/loadbalancer/octavia/garbage/remove.go",
			Old:   `if query.Services, err = r.Living(ctx); err != nil {`,
			New:   `if _, err = r.Living(ctx); err != nil {`,
			Tests: []string{"TestGarbage_IsNotWhatServiceGetsMeanwhile"},
		},
		{
			Row: 88, What: "listeners go before their pools, which nobody finds then",
			File:  collector,
			Old:   `case a.Kind == Pool && b.Kind == Listener:`,
			New:   `case a.Kind == Pool && b.Kind == Listener && false:`,
			Tests: []string{"TestGarbage_IsRemovedByTheNextProcess"},
		},
		{
			Row: 88, What: "what other clusters have is garbage",
			File:  services,
			Old:   `proven := t.ID != "" && slices.Contains(s.ClusterIDs, t.ID)`,
			New:   `proven := len(s.ClusterIDs) > 0`,
			Tests: []string{"TestList_FollowsTruthTableOfServices", "TestGarbage_IsRemovedAndNothingElse"},
		},
		{
			Row: 88, What: "a Service of the name is the Service",
			File:  services,
			Old:   `if len(ids) == 0 {`,
			New:   `if true {`,
			Tests: []string{"TestList_FollowsTruthTableOfServices", "TestGarbage_OfServiceThatWasRecreatedUnderItsNameIsRemoved"},
		},
		{
			Row: 88, What: "what Services use is garbage",
			File:  services,
			Old:   `if owner == theirs || !service.Copied {`,
			New:   `if owner == theirs {`,
			Tests: []string{"TestList_FollowsTruthTableOfServices"},
		},
	}
}
