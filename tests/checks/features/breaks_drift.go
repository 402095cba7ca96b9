package features

// driftBreaks are those of what another client changes.
func driftBreaks() []Break {
	return []Break{
		{
			Row: 89, What: "a load balancer that was changed is not looked at",
			File:  "pkg/loadbalancer/state/drift.go",
			Old:   `!lb.UpdatedAt.Equal(a.Seen.UpdatedAt)`,
			New:   `false`,
			Tests: []string{"TestDrift_RestoresPartsDeletedByOthers"},
		},
		{
			Row: 89, What: "a floating IP that is gone is not missed",
			File:  "pkg/loadbalancer/state/drift.go",
			Old:   `return "the floating IP is gone"`,
			New:   `return ""`,
			Tests: []string{"TestFloatingIP_IsReplacedWhenLostBehindHostname"},
		},
		{
			Row: 89, What: "a listener that is switched off stays so",
			File:  "pkg/loadbalancer/octavia/observe/convert.go",
			Old:   `!l.AdminStateUp`,
			New:   `false`,
			Tests: []string{"TestDrift_SwitchesOnWhatOthersSwitchedOff"},
		},
		{
			Row: 89, What: "what changes at the same time is taken for ours",
			File:  "pkg/loadbalancer/octavia/apply/wait.go",
			Old:   `case how != "":`,
			New:   `case how != "" && false:`,
			Tests: []string{"TestDrift_OfPartsDuringOwnChangeIsRepairedAtItsEnd"},
		},
	}
}
