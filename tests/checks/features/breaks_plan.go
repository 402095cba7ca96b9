package features

// planBreaks returns the breaks of previews.
func planBreaks() []Break {
	const engine = "pkg/loadbalancer/"
	return []Break{
		{
			Row: 90, What: "a preview does not apply planned steps to its simulated state",
			File:  engine + "octavia/apply/rehearsal.go",
			Old:   `		plan.Advance(&observed, step)`,
			New:   `		_ = step`,
			Tests: []string{"TestPreview_ForetellsWhatTheRoundDoes"},
		},
		{
			Row: 90, What: "a preview changes security groups",
			File:  engine + "rehearsal.go",
			Old:   `		Groups:  rehearsedGroups{dry.groups, noted},`,
			New:   `		Groups:  dry.groups,`,
			Tests: []string{"TestPreview_ForetellsRandomRounds"},
		},
		{
			Row: 90, What: "a preview does not recognize load balancers to adopt",
			File:  engine + "preview.go",
			Old:   `p.TakenOver = adopted && !p.Deletes && !recorded`,
			New:   `p.TakenOver = adopted && p.Deletes && !recorded`,
			Tests: []string{"TestPreview_SaysWhatIsTakenOver"},
		},
	}
}
