package features

// settingBreaks returns the breaks of settings in cloud.conf, classes and annotations: providers,
// flavors, monitors, tags.
func settingBreaks() []Break {
	const desire, settings = "pkg/loadbalancer/spec/desire/", "pkg/loadbalancer/spec/settings/"
	return []Break{
		{
			Row: 34, What: "settings of load balancer classes are ignored",
			File:  settings + "parse.go",
			Old:   `r.section.With(class)`,
			New:   `r.section.With(&config.LoadBalancerClass{})`,
			Tests: []string{"TestCloudConf_YieldsToClassWhichYieldsToAnnotation", "TestAlgorithm_OfProviderOverridesClass"},
		},
		{
			Row: 38, What: "the annotation for the provider is ignored",
			File:  settings + "parse.go",
			Old:   `cmp.Or(ptr.Deref(values.Provider, ""), r.conf.LBProvider)`,
			New:   `r.conf.LBProvider`,
			Tests: []string{"TestProvider_IsChosenPerServiceAndThenStays"},
		},
		{
			Row: 39, What: "the availability zone is ignored",
			File:  desire + "desire.go",
			Old:   `facts.AvailabilityZone,`,
			New:   `"",`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 39, What: "the flavor is ignored",
			File:  desire + "desire.go",
			Old:   `facts.FlavorID,`,
			New:   `"",`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 45, What: "UDP pools get TCP monitors",
			File:  settings + "monitor.go",
			Old:   `return model.MonitorUDPConnect`,
			New:   `return model.MonitorTCP`,
			Tests: []string{"TestMonitors_AreAcceptedForEveryProtocol"},
		},
		{
			Row: 46, What: "monitors connect to the NodePort instead of the healthCheckNodePort",
			File:  settings + "monitor.go",
			Old:   `case s.Traffic.Local && asksKubeProxy:`,
			New:   `case false:`,
			Tests: []string{"TestMonitors_AreAlwaysMadeForPolicyLocalAndSuitProvider"},
		},
		{
			Row: 47, What: "create-monitor=false disables the monitors of policy Local",
			File:  settings + "monitor.go",
			Old:   `s.Monitor.Enabled || s.MonitoredByPolicy() && !s.Monitor.Unmonitored`,
			New:   `s.Monitor.Enabled`,
			Tests: []string{"TestMonitors_AreAlwaysMadeForPolicyLocalAndSuitProvider"},
		},
		{
			Row: 48, What: "the annotation for the monitor's path is ignored",
			File:  settings + "monitor.go",
			Old:   `ptr.Deref(values.Path, "")`,
			New:   `""`,
			Tests: []string{"TestMonitors_ApplySettingsAtCreationAndLater"},
		},
		{
			Row: 49, What: "monitors do not use kube-proxy's health check",
			File:  settings + "monitor.go",
			Old:   `m.KubeProxy && !s.Traffic.Local && asksKubeProxy`,
			New:   `false`,
			Tests: []string{"TestMonitors_TakeKeysOfCloudConfUnlessAnnotated"},
		},
		{
			Row: 65, What: "custom tags are not set",
			File:  desire + "desire.go",
			Old:   `slices.Concat(ours, s.LoadBalancer.Tags)`,
			New:   `slices.Concat(ours)`,
			Tests: []string{"TestTags_OfUserAreSetAtCreationAndNeverRewritten"},
		},
		{
			Row: 40, What: "flavors are not found by name",
			File:  "pkg/loadbalancer/octavia/lookup/place.go",
			Old:   `at = slices.IndexFunc(all, func(f octavia.Flavor) bool { return f.Name == asked })`,
			New:   `at = -1`,
			Tests: []string{"TestEnsure_TakesFlavorByIDOrNameAndAvailabilityZone"},
		},
		{
			Row: 77, What: "data in the cache is read from OpenStack again",
			File: "pkg/loadbalancer/octavia/lookup/cache.go",
			Old: `	if value, ok := c.kept(key); ok {
		return value, nil`,
			New: `	if value, ok := c.kept(key); ok && false {
		return value, nil`,
			Tests: []string{"TestGather_KeepsFactsForAWhile"},
		},
		{
			Row: 92, What: "errors in annotations and fields of a Service are discarded",
			File:  settings + "parse.go",
			Old:   `return s, r.notices, r.errs`,
			New:   `return s, r.notices, nil`,
			Tests: []string{"TestEnsure_RefusesBadInputBeforeFirstWriteAndHeals"},
		},
		{
			Row: 92, What: "the default value replaces a malformed annotation",
			File:  "pkg/loadbalancer/goal/asked.go",
			Old:   `return todo, a.reporter.unsettled(a.in, r, todo)`,
			New:   `return todo, nil`,
			Tests: []string{"TestRefusal_KeepsLastGoodStateWhenAnnotationIsMalformed"},
		},
		{
			Row: 125, What: "the objects of a Service that is not managed are changed",
			File:  "pkg/loadbalancer/unmanaged.go",
			Old:   `if r.manages(req.Service) {`,
			New:   `if true {`,
			Tests: []string{"TestUnmanaged_WritesNothingUntilItIsManagedAgain", "TestUnmanaged_CreatesNothing"},
		},
		{
			Row: 125, What: "the deletion of a Service that is not managed deletes its objects",
			File:  "pkg/loadbalancer/reconciler.go",
			Old:   `if !r.manages(svc) {`,
			New:   `if false {`,
			Tests: []string{"TestUnmanaged_DeletionLeavesObjects"},
		},
		{
			Row: 126, What: "the ipMode of a Service is ignored",
			File:  settings + "status.go",
			Old:   `mode = s.Status.IPMode`,
			New:   `mode = v1.LoadBalancerIPModeVIP`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 126, What: "the ingress hostname of a Service is ignored",
			File:  settings + "status.go",
			Old:   `ptr.Deref(values.IngressHostname, r.conf.EnableIngressHostname)`,
			New:   `r.conf.EnableIngressHostname`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 127, What: "Services are external by default",
			File:  settings + "parse.go",
			Old:   `ptr.Deref(r.values.Internal, r.conf.InternalByDefault)`,
			New:   `ptr.Deref(r.values.Internal, false)`,
			Tests: []string{"TestInternal_IsDefaultThatAnnotationOverrides"},
		},
		{
			Row: 92, What: "keys of cloud.conf as annotations, and annotations of other clouds, get no suggestion",
			File:  "pkg/loadbalancer/spec/annotation/nearest.go",
			Old:   `if !similar {`,
			New:   `if !similar || !ours || name == Prefix+"lb-provider" {`,
			Tests: []string{"TestEnsure_ReportsSettingsWithoutEffect"},
		},
		{
			Row: 92, What: "settings without effect are not reported",
			File:  settings + "parse.go",
			Old:   `return s, r.notices, r.errs`,
			New:   `return s, nil, r.errs`,
			Tests: []string{"TestEnsure_ReportsSettingsWithoutEffect"},
		},
		{
			Row: 93, What: "no notice reports settings that cannot change on an existing load balancer",
			File:  "pkg/loadbalancer/plan/notice.go",
			Old:   `range mismatches(desired, observed) {`,
			New:   `range mismatches(desired, observed)[:0] {`,
			Tests: []string{"TestReplacement_IsReportedAndDoneWhenPermitted"},
		},
		{
			Row: 91, What: "invalid values in cloud.conf are ignored",
			File: "pkg/config/load.go",
			Old: `	l.problem(err)
	refused`,
			New:   `	refused`,
			Tests: []string{"TestLoad_RefusesBadValues"},
		},
	}
}
