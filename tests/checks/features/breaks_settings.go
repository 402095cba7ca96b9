package features

// settingBreaks are those of what cloud.conf, classes and annotations choose: providers,
// flavors, monitors, tags.
func settingBreaks() []Break {
	const desire, settings = "pkg/loadbalancer/spec/desire/", "pkg/loadbalancer/spec/settings/"
	return []Break{
		{
			Row: 34, What: "no class is heard",
			File:  settings + "parse.go",
			Old:   `r.section.With(class)`,
			New:   `r.section.With(&config.LoadBalancerClass{})`,
			Tests: []string{"TestCloudConf_YieldsToClassWhichYieldsToAnnotation", "TestAlgorithm_OfProviderOverridesClass"},
		},
		{
			Row: 38, What: "the annotation is not heard",
			File:  settings + "parse.go",
			Old:   `cmp.Or(ptr.Deref(values.Provider, ""), r.conf.LBProvider)`,
			New:   `r.conf.LBProvider`,
			Tests: []string{"TestProvider_IsChosenPerServiceAndThenStays"},
		},
		{
			Row: 39, What: "the availability zone is not asked for",
			File:  desire + "desire.go",
			Old:   `facts.AvailabilityZone,`,
			New:   `"",`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 39, What: "the flavor is not asked for",
			File:  desire + "desire.go",
			Old:   `facts.FlavorID,`,
			New:   `"",`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 45, What: "monitors of UDP are those of TCP",
			File:  settings + "monitor.go",
			Old:   `return model.MonitorUDPConnect`,
			New:   `return model.MonitorTCP`,
			Tests: []string{"TestMonitors_AreAcceptedForEveryProtocol"},
		},
		{
			Row: 46, What: "monitors ask at the NodePort",
			File:  settings + "monitor.go",
			Old:   `case s.Traffic.Local && asksKubeProxy:`,
			New:   `case false:`,
			Tests: []string{"TestMonitors_AreAlwaysMadeForPolicyLocalAndSuitProvider"},
		},
		{
			Row: 47, What: "it is without one where create-monitor is off",
			File:  settings + "monitor.go",
			Old:   `s.Monitor.Enabled || s.MonitoredByPolicy() && !s.Monitor.Unmonitored`,
			New:   `s.Monitor.Enabled`,
			Tests: []string{"TestMonitors_AreAlwaysMadeForPolicyLocalAndSuitProvider"},
		},
		{
			Row: 48, What: "the path is not heard",
			File:  settings + "monitor.go",
			Old:   `ptr.Deref(values.Path, "")`,
			New:   `""`,
			Tests: []string{"TestMonitors_ApplySettingsAtCreationAndLater"},
		},
		{
			Row: 49, What: "kube-proxy is not asked",
			File:  settings + "monitor.go",
			Old:   `m.KubeProxy && !s.Traffic.Local && asksKubeProxy`,
			New:   `false`,
			Tests: []string{"TestMonitors_TakeKeysOfCloudConfUnlessAnnotated"},
		},
		{
			Row: 65, What: "they are left out",
			File:  desire + "desire.go",
			Old:   `slices.Concat(ours, s.LoadBalancer.Tags)`,
			New:   `slices.Concat(ours)`,
			Tests: []string{"TestTags_OfUserAreSetAtCreationAndNeverRewritten"},
		},
		{
			Row: 40, What: "names are not looked for",
			File:  "pkg/loadbalancer/octavia/lookup/place.go",
			Old:   `at = slices.IndexFunc(all, func(f octavia.Flavor) bool { return f.Name == asked })`,
			New:   `at = -1`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 77, What: "everything is asked again",
			File: "pkg/loadbalancer/octavia/lookup/cache.go",
			Old: `	if value, ok := c.kept(key); ok {
		return value, nil`,
			New: `	if value, ok := c.kept(key); ok && false {
		return value, nil`,
			Tests: []string{"TestGather_KeepsFactsForAWhile"},
		},
		{
			Row: 92, What: "errors of annotations and fields are dropped",
			File:  settings + "parse.go",
			Old:   `return s, r.notices, r.errs`,
			New:   `return s, r.notices, nil`,
			Tests: []string{"TestEnsure_RefusesBadInputBeforeFirstWriteAndHeals"},
		},
		{
			Row: 92, What: "the default of a wrong value is acted on",
			File:  "pkg/loadbalancer/goal/asked.go",
			Old:   `return todo, a.unsettled(r, todo)`,
			New:   `return todo, nil`,
			Tests: []string{"TestRefusal_KeepsLastGoodStateWhenAnnotationIsMalformed"},
		},
		{
			Row: 92, What: "what has no effect is not told",
			File:  settings + "parse.go",
			Old:   `return s, r.notices, r.errs`,
			New:   `return s, nil, r.errs`,
			Tests: []string{"TestEnsure_ReportsSettingsWithoutEffect"},
		},
		{
			Row: 93, What: "nobody says what cannot change",
			File:  "pkg/loadbalancer/plan/notice.go",
			Old:   `range mismatches(desired, observed) {`,
			New:   `range mismatches(desired, observed)[:0] {`,
			Tests: []string{"TestReplacement_IsReportedAndDoneWhenPermitted"},
		},
		{
			Row: 91, What: "wrong values are taken for none",
			File: "pkg/config/load.go",
			Old: `	l.problem(err)
	refused`,
			New:   `	refused`,
			Tests: []string{"TestLoad_RefusesBadValues"},
		},
	}
}
