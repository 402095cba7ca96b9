package features

// planBreaks are those of what says before what would be done.
func planBreaks() []Break {
	const engine = "pkg/loadbalancer/"
	return []Break{
		{
			Row: 90, What: "what a plan makes is taken to be there at once, and in full",
			File:  engine + "octavia/apply/rehearsal.go",
			Old:   `		plan.Advance(&observed, step)`,
			New:   `		_ = step`,
			Tests: []string{"TestPreview_ForetellsWhatTheRoundDoes"},
		},
		{
			Row: 90, What: "security groups are changed by a preview",
			File:  engine + "rehearsal.go",
			Old:   `		Groups:  rehearsedGroups{dry.groups, noted},`,
			New:   `		Groups:  dry.groups,`,
			Tests: []string{"TestPreview_ForetellsRandomRounds"},
		},
		{
			Row: 90, What: "what another controller has made counts as our own",
			File:  engine + "preview.go",
			Old:   `p.TakenOver = adopted && !p.Deletes && !recorded`,
			New:   `p.TakenOver = adopted && p.Deletes && !recorded`,
			Tests: []string{"TestPreview_SaysWhatIsTakenOver"},
		},
	}
}
