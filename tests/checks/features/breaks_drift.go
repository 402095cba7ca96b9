package features

// driftBreaks returns the breaks of the repair of changes by other clients.
func driftBreaks() []Break {
	return []Break{
		{
			Row: 89, What: "a changed load balancer is not checked for drift",
			File:  "pkg/loadbalancer/state/drift.go",
			Old:   `!lb.UpdatedAt.Equal(a.Seen.UpdatedAt)`,
			New:   `false`,
			Tests: []string{"TestDrift_RestoresPartsDeletedByOthers"},
		},
		{
			Row: 89, What: "a deleted floating IP is not detected",
			File:  "pkg/loadbalancer/state/drift.go",
			Old:   `return "the floating IP is gone"`,
			New:   `return ""`,
			Tests: []string{"TestFloatingIP_IsReplacedWhenLostBehindHostname"},
		},
		{
			Row: 89, What: "a disabled listener is not enabled again",
			File:  "pkg/loadbalancer/octavia/observe/convert.go",
			Old:   `!l.AdminStateUp`,
			New:   `false`,
			Tests: []string{"TestDrift_SwitchesOnWhatOthersSwitchedOff"},
		},
		{
			Row: 89, What: "changes by other clients during an own change are not detected",
			File:  "pkg/loadbalancer/octavia/apply/wait.go",
			Old:   `case how != "":`,
			New:   `case how != "" && false:`,
			Tests: []string{"TestDrift_OfPartsDuringOwnChangeIsRepairedAtItsEnd"},
		},
	}
}
