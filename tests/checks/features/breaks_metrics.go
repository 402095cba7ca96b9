package features

// metricsBreaks returns the breaks of metrics, alerts, logs and tracing.
func metricsBreaks() []Break {
	const engine = "pkg/loadbalancer/"
	return []Break{
		{
			Row: 100, What: "the wait for Octavia counts as the controller's own time",
			File:  "pkg/telemetry/watch.go",
			Old:   `	w.active[part] += by`,
			New:   `	if part != Octavia { w.active[part] += by }`,
			Tests: []string{"TestWatch_CountsEachMomentOnceForWhatIsWaitedFor"},
		},
		{
			Row: 100, What: "the time in the queue of the service controller is not counted",
			File:  engine + "metrics.go",
			Old:   `times[telemetry.Queue] += queued`,
			New:   `_ = queued`,
			Tests: []string{"TestMetrics_SplitTimeFromServiceToAddress"},
		},
		{
			Row: 100, What: "no metric counts repaired drift",
			File:  engine + "serve.go",
			Old:   "			rd.store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })\n			rd.resolved()\n",
			New:   "			rd.store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })\n",
			Tests: []string{"TestMetrics_CountDriftThatIsFoundAndRepaired"},
		},
		{
			Row: 100, What: "no metric counts members",
			File:  engine + "state/census.go",
			Old:   `parts[Part{"member", model.Status{Provisioning: kind.Status.Provisioning}}] += members`,
			New:   `_, _ = kind, members`,
			Tests: []string{"TestMetrics_CountLoadBalancersAndPartsByStatus"},
		},
		{
			Row: 99, What: "a registered metric is missing from the table of metrics",
			File:  "tests/checks/monitoring/table.go",
			Old:   `			Metric: "openstack_api_limit",`,
			New:   `			Metric: "openstack_api_queue_depth",`,
			Tests: []string{"TestTable_HasEachMetricWithItsLabels"},
		},
		{
			Row: 100, What: "an alert queries a label that does not exist",
			File:  "manifests/monitoring/prometheusrule.yaml",
			Old:   `sum by (reason) (cloudprovider_openstack_refused_services`,
			New:   `sum by (cause) (cloudprovider_openstack_refused_services`,
			Tests: []string{"TestQueries_AskForMetricsAndLabelsThatExist"},
		},
		{
			Row: 102, What: "traces have no spans of steps",
			File:  "pkg/telemetry/change.go",
			Old:   `ctx, endSpan := Span(ctx, "step", attribute.String("step", text))`,
			New:   `_, endSpan := Span(ctx, "step", attribute.String("step", text))`,
			Tests: []string{"TestTracing_HasSpansOfRoundStagesStepsAndRequests"},
		},
		{
			Row: 102, What: "spans of calls have no link to their batch",
			File:  "pkg/telemetry/span.go",
			Old:   `Link(asker, Here(ctx))`,
			New:   `_ = asker`,
			Tests: []string{"TestTracing_LinksBatchWithItsCalls"},
		},
		{
			Row: 102, What: "a cached answer has no link to the span of its request",
			File:  "pkg/instances/cache.go",
			Old:   "ok := c.kept(key); ok {\n\t\t\ttelemetry.Link(ctx, found.span)",
			New:   "ok := c.kept(key); ok {",
			Tests: []string{"TestTracing_LinksThoseWhoShareAnAnswer", "TestTracing_LinksNodesToTheirSharedList"},
		},
		{
			Row: 102, What: "traces have no spans of calls about nodes and routes",
			File:  "pkg/cloudprovider/provider.go",
			Old:   `p.calls.tracer, p.calls.metrics = options.Tracer, options.Metrics`,
			New:   `p.calls.metrics = options.Metrics`,
			Tests: []string{"TestTracing_HasSpansOfCallsAboutNodesAndRoutes"},
		},
		{
			Row: 102, What: "each change is logged twice, at its start and its end",
			File:  "pkg/telemetry/change.go",
			Old:   `logger.V(4).Info("Changing the cloud", "step", text)`,
			New:   `logger.V(2).Info("Changing the cloud", "step", text)`,
			Tests: []string{"TestLog_HasOneLineForEachChange"},
		},
		{
			Row: 102, What: "log lines have no request IDs",
			File:  "pkg/openstack/transport/observe.go",
			Old:   `telemetry.Wrote(ctx, requestID)`,
			New:   `telemetry.Wrote(ctx, "")`,
			Tests: []string{"TestLog_HasOneLineForEachChange", "TestLog_HasOneLineForEachRoute"},
		},
		{
			Row: 102, What: "requests have no global request ID",
			File:  "pkg/openstack/transport/observe.go",
			Old:   `return rest.With(ctx, req, globalID, id)`,
			New:   `return req.WithContext(ctx)`,
			Tests: []string{"TestTracing_GlobalRequestIDIsOneForEachRound"},
		},
		{
			Row: 102, What: "tracing-config-file is ignored",
			File:  "cmd/openstack-cloud-controller-manager/tracing.go",
			Old:   `if p.tracing == "" {`,
			New:   `if p.tracing != "nothing" {`,
			Tests: []string{"TestTracing_IsOffWithoutFileAndRefusesBadOnes"},
		},
	}
}
